"""Rates of wires that a text shows, and whether it says how they are known: planned, fitted, timed, reported, estimated, or by a model."""

import re
from functools import cache

from ironlaw.registry.boxes import box, boxes
from ironlaw.registry.interconnects import interconnect, interconnects
from ironlaw.units import show

LABEL = re.compile(r"\b(?:plan|fit|timed\b|measured|report|estimate|model|predict|computed|built for)", re.IGNORECASE)
SENTENCE = 8  # words from which a text is prose, and not a label whose picture says it


@cache
def _rates() -> re.Pattern[str]:
    """Every rate of the registry that a message is taken to reach, as it is written; those that a wire is built for are not among them."""
    inside = [rate for each in map(box, boxes()) for rate in (each.bus, each.sums) if rate]
    texts = {show(rate, "B/s").replace("\u202f", " ") for rate in (*inside, *(interconnect(name).achieved for name in interconnects()))}
    return re.compile(rf"(?<![\d.,])(?:{'|'.join(map(re.escape, sorted(texts)))})")


def unlabelled(text: str) -> list[str]:
    """Rates of wires in a passage that does not say how they are known."""
    text = text.replace("\u202f", " ")
    if len(text.split()) < SENTENCE or LABEL.search(text):
        return []
    return [f"{rate!r} in {text!r}: say whether it is planned, fitted, timed or reported" for rate in _rates().findall(text)]
