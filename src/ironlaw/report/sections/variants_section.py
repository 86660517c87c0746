"""Side by side: machines against modes, and the same model at several batches or with other storage of its weights."""

from __future__ import annotations

from ironlaw.engine.device.predict import Prediction
from ironlaw.engine.device.types import Graph
from ironlaw.report.accuracy import LIKE_WITH_LIKE
from ironlaw.report.markup import Cell, paragraph, table
from ironlaw.report.model_variants import Variant, comparable, lines, matrix


def machines_and_modes(predictions: tuple[Prediction, ...], graph: Graph) -> str:
    shown, mixed = comparable(predictions, graph)
    modes, rows = matrix(shown)
    names = {p.hardware.slug: p.hardware.name for p in shown}
    cells: list[list[Cell]] = [[names[row[0][0]], *(f"{time} ({times})" if times else time for time, times in row[1:])] for row in rows]
    first = shown[0]
    note = f"In brackets: how many times as fast as {first.hardware.name}, {first.plan.mode}."
    note += f" {LIKE_WITH_LIKE[mixed]}" if mixed else ""
    out = table(("machine", *modes), cells, "Machines and modes side by side", tuple(range(1, len(modes) + 1)))
    return out + paragraph(note, "il-quiet")


def batches_and_weights(variants: tuple[Variant, ...]) -> str:
    columns, rows = lines(variants)
    out = table(columns, rows, "Batches and weights side by side", tuple(range(1, len(columns))))
    kinds = {p.basis for variant in variants for p in variant.predictions}
    note = "The fastest mode of each machine: time per call, and samples per second."
    return out + paragraph(note + (" Times of different kinds are mixed: compare within a column." if len(kinds) > 1 else ""), "il-quiet")
