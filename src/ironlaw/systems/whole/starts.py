"""Where a system starts: at what saved designs decided of it, and at the house's where none did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ironlaw.systems.whole.design import Design
from ironlaw.systems.whole.whole_search import snapped
from ironlaw.systems.whole.whole_training import refusal

Designs = Mapping[str, Mapping[str, Any]]  # whose -> what it saved
Sources = Mapping[str, tuple[str, str]]  # dial -> (whose design, its field)
FORMATS = {"weights": "bf16", "cache": "bf16"}
LAYOUT = ("gpus", "tensor", "pipeline", "context", "virtual", "recompute", "zero")


@dataclass(frozen=True)
class Start:
    """A design, and whose gave which of its dials."""

    design: Design
    given: Mapping[str, str]


def start(designs: Designs, sources: Sources) -> Start:
    """Values that no dial here has are left to the house; so is a layout that does not divide."""
    values = {dial: _value(dial, designs.get(whose, {}).get(name)) for dial, (whose, name) in sources.items()}
    chosen = {dial: value for dial, value in values.items() if value is not None}
    if refusal(Design(**{dial: value for dial, value in chosen.items() if dial in LAYOUT})):
        chosen = {dial: value for dial, value in chosen.items() if dial not in LAYOUT}
    return Start(Design(**chosen), {dial: sources[dial][0] for dial in chosen})


def _value(dial: str, value: Any) -> Any:
    if dial in FORMATS and value == "":
        return FORMATS[dial]  # as the machine multiplies
    return None if value is None else snapped(dial, value)
