"""Side by side: machines against modes, and the same model at several batches or with its weights stored in fewer bits."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ironlaw.engine.predict import Prediction, predict
from ironlaw.engine.types import Graph
from ironlaw.report.markup import Cell, paragraph, table
from ironlaw.units import significant
from ironlaw.widget.quantities import format_quantity

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
            cells.append(
                (format_quantity(float(p.seconds), "s"), f"{significant(float(first.seconds) / float(p.seconds))}×") if p else ("–", "")
            )
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


def names(variants: tuple[Variant, ...]) -> list[str]:
    """`batch 8, weights in int4`; what all have in common is left out."""
    stored = len({variant.weights for variant in variants}) > 1
    found = []
    for variant in variants:
        kind = ("weights as they are" if variant.weights == OWN else f"weights in {variant.weights}") if stored else ""
        found.append(", ".join(filter(None, (f"batch {variant.batch:,}" if variant.batch else "", kind))) or "this call")
    return found


def cell(variant: Variant, p: Prediction) -> str:
    """The time of a call in its fastest mode, and samples a second."""
    if not p.fits:
        return "does not fit"
    rate = significant((variant.batch or 1) / float(p.seconds))
    return f"{format_quantity(float(p.seconds), 's')} {p.plan.mode}, {rate}/s"


def lines(variants: tuple[Variant, ...]) -> tuple[list[str], list[list[Cell]]]:
    """Columns, and a row for each variant: memory, then every machine."""
    machines = {p.hardware.slug: p.hardware for p in variants[0].made}
    rows: list[list[Cell]] = []
    for name, variant in zip(names(variants), variants, strict=True):
        best = {p.hardware.slug: p for p in variant.fastest()}
        memory = format_quantity(float(max(p.memory.total for p in best.values())), "B")
        row: list[Cell] = [name, memory]
        for slug in machines:
            said = cell(variant, best[slug])
            row.append((said, "c-fail") if said == "does not fit" else said)
        rows.append(row)
    return ["variant", "memory", *machines], rows


def varied(variants: tuple[Variant, ...]) -> str:
    columns, rows = lines(variants)
    out = table(columns, rows, "Batches and weights side by side", tuple(range(1, len(columns))))
    kinds = {p.label for variant in variants for p in variant.made}
    note = "The fastest mode of each machine: time of a call, and samples a second."
    return out + paragraph(note + (" Measured machines beside bounds: compare within a column." if len(kinds) > 1 else ""), "il-quiet")
