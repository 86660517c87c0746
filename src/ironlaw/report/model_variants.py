"""The same model at several batches or with its weights stored in fewer bits, and predictions that may be compared with each other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ironlaw.engine.device.machine import BASES
from ironlaw.engine.device.predict import Prediction, predict
from ironlaw.engine.device.stored_weights import OWN
from ironlaw.engine.device.types import Graph
from ironlaw.report.accuracy import time
from ironlaw.report.markup import Cell
from ironlaw.units import significant
from ironlaw.widget.quantities import format_quantity

DOES_NOT_FIT = "does not fit"


@dataclass(frozen=True)
class Variant:
    """One graph of the same model, with its predictions on each machine."""

    batch: int | None
    weights: str
    graph: Graph
    predictions: tuple[Prediction, ...]

    def fastest(self) -> list[Prediction]:
        """The fastest mode of each machine."""
        fastest: dict[str, Prediction] = {}
        for p in self.predictions:
            best = fastest.get(p.hardware.slug)
            if best is None or p.seconds < best.seconds:
                fastest[p.hardware.slug] = p
        return list(fastest.values())


def comparable(predictions: tuple[Prediction, ...], graph: Graph) -> tuple[tuple[Prediction, ...], str]:
    """The predictions and nothing; or, where they rest on different grounds, all of them transferred, or by their datasheets where one
    machine's figures are too few for that, and which of the two."""
    if len({p.basis for p in predictions}) < 2:
        return predictions, ""
    if any(p.hardware.taught is None or not p.plan.calibrated for p in predictions):
        return tuple(predict(graph, p.hardware, replace(p.plan, calibrated=False)) for p in predictions), "bound"
    return tuple(predict(graph, p.hardware, replace(p.plan, transferred=True)) for p in predictions), "transferred"


def ordered(predictions: Iterable[Prediction]) -> list[Prediction]:
    """Calibrated times first, then transferred ones, then bounds; within a kind as they come."""
    return sorted(predictions, key=lambda p: -BASES.index(p.basis))


def matrix(predictions: tuple[Prediction, ...]) -> tuple[list[str], list[list[tuple[str, str]]]]:
    """Modes, and for each machine its name and, mode by mode, the time and how many times as fast as the first of all."""
    modes = list(dict.fromkeys(p.plan.mode for p in predictions))
    first, rows = predictions[0], []
    for slug in dict.fromkeys(p.hardware.slug for p in predictions):
        cells = [(slug, "")]
        for mode in modes:
            p = next((p for p in predictions if p.hardware.slug == slug and p.plan.mode == mode), None)
            cells.append((time(p, format_quantity), f"{significant(float(first.seconds) / float(p.seconds))}×") if p else ("–", ""))
        rows.append(cells)
    return modes, rows


def names(variants: tuple[Variant, ...]) -> list[str]:
    """`batch 8, weights in int4`; what all have in common is left out."""
    stored = len({variant.weights for variant in variants}) > 1
    labels = []
    for variant in variants:
        kind = ("weights as they are" if variant.weights == OWN else f"weights in {variant.weights}") if stored else ""
        labels.append(", ".join(filter(None, (f"batch {variant.batch:,}" if variant.batch else "", kind))) or "this call")
    return labels


def cell(variant: Variant, p: Prediction) -> str:
    """The time of a call in its fastest mode, and samples per second."""
    if not p.fits:
        return DOES_NOT_FIT
    rate = significant((variant.batch or 1) / float(p.seconds))
    return f"{time(p, format_quantity)} {p.plan.mode}, {rate}/s"


def lines(variants: tuple[Variant, ...]) -> tuple[list[str], list[list[Cell]]]:
    """Columns, and a row for each variant: memory, then every machine."""
    machines = {p.hardware.slug: p.hardware for p in variants[0].predictions}
    rows: list[list[Cell]] = []
    for name, variant in zip(names(variants), variants, strict=True):
        best = {p.hardware.slug: p for p in variant.fastest()}
        memory = format_quantity(float(max(p.memory.total for p in best.values())), "B")
        row: list[Cell] = [name, memory]
        for slug in machines:
            text = cell(variant, best[slug])
            row.append((text, "c-fail") if text == DOES_NOT_FIT else text)
        rows.append(row)
    return ["variant", "memory", *machines], rows
