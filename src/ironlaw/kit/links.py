"""Sentences that set an instrument: [Double the GPU speed](set:act1?speed=2#gpu).

Such a link sets the whole state: the question's own case with the dials that it names, whatever was turned before. `#gpu` is the picture
that it brings; without it, the first that one of its dials belongs to (`shows`). `set:act1@compas?…` goes to another context than the
question's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from ironlaw.widget.dials import Dial

LINK = re.compile(r"\[([^\]]*)\]\(set:([\w.]+)(?:@(\w+))?\?([^)#]*)(?:#([\w-]+))?\)")


@dataclass(frozen=True)
class Link:
    words: str
    instrument: str
    context: str
    dials: Mapping[str, str]  # as written
    picture: str

    def standing(self, cases: Mapping[str, Any], dials: Sequence[Dial]) -> dict[str, Any]:
        """Where it puts all dials, as the page does; `cases` and `dials` are its instrument's."""
        by_name = {dial["id"]: dial for dial in dials}
        named = {name: value_of(by_name[name], text) for name, text in self.dials.items()}
        return {**cases["dials"][self.context or cases["asked"]], **named}


def find(text: str) -> Iterator[Link]:
    for match in LINK.finditer(text):
        words, instrument, context, dials, picture = match.groups(default="")
        yield Link(words, instrument, context, dict(parse_qsl(dials, keep_blank_values=True)), picture)


def contexts(texts: Iterable[str], instrument: str) -> set[str]:
    """The contexts that links to an instrument name."""
    return {link.context for text in texts for link in find(text) if link.instrument == instrument and link.context}


def value_of(dial: Dial, text: str) -> Any:
    """What the dial holds, from its text: an option as JavaScript writes it, a switch by its name, else a number."""
    if "options" in dial:
        return next((option["value"] for option in dial["options"] if _written(option["value"]) == text), text)
    return text == "true" if dial["type"] == "switch" else float(text)


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)
