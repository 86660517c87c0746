"""The written reflection: five prompts, kept in the ledger as they are written; every version stays in the export."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ironlaw.ledger import Ledger
from ironlaw.recall import focus, record
from ironlaw.recall.checklist import sheet
from ironlaw.recall.review_session import State
from ironlaw.widget.acts import ActCounter
from ironlaw.widget.piece import Piece

LONGEST = 20_000  # characters of one text


def writing(ledger: Ledger, state: Callable[[], State], changed: Callable[[], None]) -> Piece:
    """The browser sends a text when its field is left or its button pressed; the same text twice is kept once."""
    acts = ActCounter()

    def compute(values: Mapping[str, Any]) -> dict[str, Any]:
        if acts.advanced(values):
            prompt, text = sheet().prompt(str(values.get("prompt"))), str(values.get("text") or "")[:LONGEST]
            if text != record.texts(state().events).get(prompt.id, ""):
                record.save_text(ledger, prompt.id, text)
                changed()
        return view(state())

    prompts = [{"id": prompt.id, "says": prompt.says} for prompt in sheet().prompts.values()]
    return Piece("writing", {"id": "writing", "prompts": prompts, "most": LONGEST}, compute, {"act": 0})


def view(state: State) -> dict[str, Any]:
    times = {str(event.payload["prompt"]): event.time for event in state.events if event.kind == "written"}
    texts = record.texts(state.events)
    words = {name: len(text.split()) for name, text in texts.items()}
    return {"texts": texts, "times": times, "words": words, "after": {focus.PROMPT: focus.says(texts)}}
