"""One runner plays every lab: the steps of its acts in order, each a cell of the page.

What an act provides is in act.py; `design` provides truths, design and readouts. A lab of another form lists its cells itself: cells.py has
`open(folder)` and CELLS, check.py what `ironlaw lab check` says of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.kit import frame, journey
from ironlaw.kit import lab as labs
from ironlaw.kit import question_sheet as sheets
from ironlaw.kit.act import Act
from ironlaw.kit.cell import Cell, Show

OPENED = "opened"  # where a page says that its lab can't be opened
PACKAGE = (Path(__file__).parent.parent / "labs").resolve()


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
        own = module(folder, "cells")
        return Script(lambda: own.open(folder), tuple(own.CELLS))
    return Script(lambda: labs.open(folder), tuple(_cells(folder)))


def names(played: Script) -> list[str]:
    """The cells of a page, in order. The first two are empty: a page says in the one that its lab can't be opened."""
    return [OPENED, "states", *(cell.name for cell in played.cells)]


def module(folder: Path, name: str) -> Any:
    """A module of a lab. A lab that is not in the package is read from its files."""
    known = f"ironlaw.labs.{folder.name}.{name}"
    if folder.resolve().parent == PACKAGE:
        return import_module(known)
    path = next((each for each in (folder / f"{name}.py", folder / name / "__init__.py") if each.exists()), None)
    spec = spec_from_file_location(known, path) if path else None
    if spec is None or spec.loader is None:
        raise BadValue(f"{folder} has no {name}.py; write one, or copy it from labs/_template")
    loaded = module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def _cells(folder: Path) -> Iterator[Cell]:
    sheet = sheets.load(folder / "questions.toml")
    listed = journey.places(sheet)
    design = module(folder, "design")
    yield Cell("header", frame.header)
    yield Cell("rail", frame.rail, again=("progress",))
    yield Cell("context_toggle", frame.toggle)
    last = None
    for number, name in enumerate(dict.fromkeys(place.act for place in listed if place.name != journey.END)):
        named = [place.part for place in listed if place.act == name]
        act, _, own = name.partition("_")
        last = module(folder, act)
        steps = Act(name, getattr(last, f"{own}_panel") if own else last, named, sheet.questions, is_first=number == 0)
        yield from steps.cells()
    takeaways = getattr(last, "takeaways", None)
    yield Cell(
        "receipt",
        lambda lab: frame.end(lab, design.truths(lab), lambda: design.design(lab), takeaways(lab) if takeaways else None),
        opens=journey.END,
    )
    readouts: Show = getattr(design, "readouts", lambda lab: [])
    yield Cell("hud", lambda lab: frame.hud(lab, readouts(lab), design.design(lab)), again=("progress", "context", "readouts"))
