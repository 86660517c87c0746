"""Side by side: machines against modes, and the same model at several batches or with its weights stored in fewer bits."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ironlaw.engine.predict import Prediction, predict
from ironlaw.engine.types import Graph
from ironlaw.pictures.figure import read
from ironlaw.pictures.theme import TERM_NAMES
from ironlaw.report.markup import Cell, paragraph, table
from ironlaw.units import significant

OWN = "own"  # weights as the model has them


@dataclass(frozen=True)
class Variant:
    """One graph of the same model, and what the machines make of it."""

    batch: int | None
    weights: str
    graph: Graph
    made: tuple[Prediction, ...]

    def fastest(self) -> list[Prediction]:
        """The fastest mode of each machine."""
        found: dict[str, Prediction] = {}
        for p in self.made:
            best = found.get(p.hardware.slug)
            if best is None or p.seconds < best.seconds:
                found[p.hardware.slug] = p
        return list(found.values())


def alike(made: tuple[Prediction, ...], graph: Graph) -> tuple[tuple[Prediction, ...], bool]:
    """Predictions that may be compared: where only some machines were measured, all by their datasheets. And whether it was so."""
    mixed = len({p.calibrated for p in made}) > 1
    return tuple(predict(graph, p.hardware, replace(p.plan, calibrated=False)) for p in made) if mixed else made, mixed


def matrix(made: tuple[Prediction, ...]) -> tuple[list[str], list[list[tuple[str, str]]]]:
    """Modes, and for each machine its name and, mode by mode, the time and how many times as fast as the first of all."""
    modes = list(dict.fromkeys(p.plan.mode for p in made))
    first, rows = made[0], []
    for slug in dict.fromkeys(p.hardware.slug for p in made):
        cells = [(slug, "")]
        for mode in modes:
            p = next((p for p in made if p.hardware.slug == slug and p.plan.mode == mode), None)
            cells.append((read(float(p.seconds), "s"), f"{significant(float(first.seconds) / float(p.seconds))}×") if p else ("–", ""))
        rows.append(cells)
    return modes, rows


def side_by_side(made: tuple[Prediction, ...], graph: Graph) -> str:
    shown, mixed = alike(made, graph)
    modes, rows = matrix(shown)
    names = {p.hardware.slug: p.hardware.name for p in shown}
    cells: list[list[Cell]] = [[names[row[0][0]], *(f"{time} ({times})" if times else time for time, times in row[1:])] for row in rows]
    first = shown[0]
    note = f"In brackets: how many times as fast as {first.hardware.name}, {first.plan.mode}."
    note += " Only some of these machines were measured, so all stand here by their datasheets." if mixed else ""
    out = table(("machine", *modes), cells, "Machines and modes side by side", tuple(range(1, len(modes) + 1)))
    return out + paragraph(note, "il-quiet")


COLUMNS = ("batch", "weights", "machine", "fastest mode", "time", "a sample", "samples a second", "bound by", "memory")


def lines(variants: tuple[Variant, ...]) -> list[list[Cell]]:
    """A row for each variant and machine, as COLUMNS has it."""
    found: list[list[Cell]] = []
    for variant in variants:
        batch = variant.batch or 1
        for p in variant.fastest():
            held = f"{read(float(p.memory.total), 'B')} of {read(float(p.memory.capacity), 'B')}"
            each = float(p.seconds) / batch
            found.append(
                [f"{variant.batch:,}" if variant.batch else "–", variant.weights, p.hardware.slug, p.plan.mode, read(float(p.seconds), "s"),
                 read(each, "s"), significant(1.0 / each), TERM_NAMES[str(p.bound)],
                 held if p.fits else (f"{held}: does not fit", "c-fail")]
            )  # fmt: skip
    return found


def varied(variants: tuple[Variant, ...]) -> str:
    return table(COLUMNS, lines(variants), "Batches and weights side by side", (0, 4, 5, 6))
