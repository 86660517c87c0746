"""One runner plays every lab: the steps of its acts in order, each a cell of the page.

What an act provides is in act.py; `design` provides `design`, `readouts` and, for the receipt, `measured`. A lab of another form lists its
cells itself: cells.py has `open(folder)` and CELLS, check.py what `ironlaw lab check` says of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ironlaw.kit import frame, journey
from ironlaw.kit import lab as labs
from ironlaw.kit import question_sheet as sheets
from ironlaw.kit.act import Act, slots
from ironlaw.kit.cell import Cell
from ironlaw.kit.lab_module import LabModule
from ironlaw.kit.question_sheet import Question

OPENED = "opened"  # where a page says that its lab can't be opened


@dataclass(frozen=True)
class Script:
    """How a lab is opened, and the cells of its page."""

    open: Callable[[], Any]
    cells: tuple[Cell, ...]

    @property
    def states(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(state for cell in self.cells for state in cell.states))


def script(folder: Path) -> Script:
    if (folder / "cells.py").exists():
        own = LabModule(folder, "cells")
        return Script(lambda: own.open(folder), tuple(own.CELLS))
    return Script(lambda: labs.open(folder), tuple(_cells(folder)))


def names(played: Script) -> list[str]:
    """The cells of a page, in order. The first two are empty: a page says in the one that its lab can't be opened."""
    return [OPENED, "states", *(cell.name for cell in played.cells)]


def _cells(folder: Path) -> Iterator[Cell]:
    sheet = sheets.load(folder / "questions.toml")
    listed = journey.places(sheet)
    design = LabModule(folder, "design")
    yield Cell("header", frame.header)
    yield Cell("rail", frame.rail, again=("progress",))
    provided: dict[str, LabModule] = {}
    last = design  # where a lab has no act
    for number, name in enumerate(dict.fromkeys(place.act for place in listed if place.name != journey.END)):
        named = [place.part for place in listed if place.act == name]
        last = LabModule(folder, name.partition("_")[0])
        provided[name] = _module(folder, name)
        yield from Act(name, provided[name], named, sheet.questions, is_first=number == 0).cells()

    def receipt(lab: Any) -> Any:
        measured = design.measured(lab) if "measured" in design.names else {}
        answered = {name: act for name, act in provided.items() if lab.first_choice(name) is not None}
        truths = {name: (act.truth(lab), measured.get(name, "")) for name, act in answered.items()}
        return frame.end(lab, truths, lambda: design.design(lab), slots(last, "takeaways", lab))

    beyond = journey.further(sheet)
    later = dict.fromkeys(place.act for place in beyond)
    yield Cell("receipt", receipt, opens=journey.END, again=tuple(name for name in later if name not in provided))
    if beyond:
        yield Cell("further", frame.further, opens=journey.END)
        for name in later:
            named = [place.part for place in beyond if place.act == name]
            yield from _beyond(folder, name, named, sheet.questions, provided)
        yield Cell("lessons", lambda lab: frame.lessons(lab, slots(last, "takeaways", lab)), opens=journey.END)

    def hud(lab: Any) -> Any:
        return frame.hud(lab, design.readouts(lab) if "readouts" in design.names else [], design.design(lab))

    yield Cell("hud", hud, again=("progress", "context", "readouts"))


def _module(folder: Path, act: str) -> LabModule:
    """What provides the parts of an act, or of a decision after it."""
    name, _, own = act.partition("_")
    return LabModule(folder, f"{name}.{own}_panel" if own else name)


def _beyond(folder: Path, name: str, parts: list[str], questions: Mapping[str, Question], provided: dict[str, LabModule]) -> Iterator[Cell]:
    """What is beyond the core: more parts of an act, or one that is not of the core at all. The receipt has its answer too."""
    is_whole = name not in provided
    act = Act(name, provided.setdefault(name, _module(folder, name)), parts, questions, is_first=False)
    if is_whole:
        yield from act.cells()
        return
    for part in parts:
        yield from act.after(part)
