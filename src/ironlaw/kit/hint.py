"""A hint that is asked for: a way on from where the dials stand. That it was asked for, and what it said, goes into the ledger."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.kit.prose import html
from ironlaw.ledger import Event, Ledger
from ironlaw.widget.acts import ActCounter
from ironlaw.widget.piece import Piece

Dials = Mapping[str, Any]


@dataclass(frozen=True)
class Advice:
    """`dials`: those to turn, and to what; `text` is Markdown."""

    text: str
    dials: Mapping[str, Any] = field(default_factory=dict)


def hint(
    name: str, label: str, ledger: Ledger, lab: str, dials: Callable[[], Dials], advise: Callable[[Dials], Advice],
    on_asked: Callable[[], None],
) -> Piece:  # fmt: skip
    """`dials()`: where they stand now. `advise` is asked when the button is pressed, and again on a reload for the dials of then."""
    acts = ActCounter()

    def compute(state: Mapping[str, Any]) -> dict[str, Any]:
        if acts.advanced(state):
            values = dict(dials())
            if not values:
                raise BadValue("The instrument above is not open yet; commit your choice first.")
            ledger.append(lab, "hint", {"question": name, "dials": values, "turns": dict(advise(values).dials)})
            on_asked()
        asked = hints(ledger, lab, name)
        if not asked:
            return {"asked": 0}
        return {"asked": len(asked), "time": asked[-1].time, "feedback": html(advise(asked[-1].payload["dials"]).text)}

    return Piece("hint", {"id": f"{name}.hint", "label": label}, compute)


def hints(ledger: Any, lab: str, name: str) -> list[Event]:
    return [event for event in ledger.events(lab, "hint") if event.question == name]
