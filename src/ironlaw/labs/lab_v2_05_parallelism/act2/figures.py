"""Act II's pictures: the grid of devices, memory and step beside the best layout and the published one, and all layouts as dots."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ironlaw.engine.cluster.footprint import Parts
from ironlaw.engine.cluster.search import Candidate
from ironlaw.engine.cluster.steps import StepTime
from ironlaw.labs.lab_v2_05_parallelism.act2.spread import DEEP, MODELS, Case, premise
from ironlaw.pictures.devices import devices
from ironlaw.pictures.stack import stack
from ironlaw.pictures.waterfall import Part
from ironlaw.widget.figure import Figure, Mark, mark
from ironlaw.widget.quantities import exact, format_quantity

YOURS, BEST, META = "yours", "best of the search", "as published"
MOST_MEMORY, MOST_RATE = 160e9, 600e12
TIMES = {
    "compute": ("arithmetic", "compute", False), "recompute": ("recomputed", "compute", True),
    "tensor": ("tensor group", "overhead", False),
    "context": ("context group", "good", False), "pipeline": ("sends", "ridge", False), "bubble": ("bubble", "warn", True),
    "data": ("gradients, not hidden", "memory", False), "update": ("optimiser", "muted", True),
}  # fmt: skip


def grid(case: Case, rank: int) -> Figure:
    layout = case.layout
    return devices(layout, case.box.devices, min(rank, layout.devices - 1), note=f"{case.layout}, {case.box.name}")


def beside(case: Case) -> Iterator[tuple[str, Case]]:
    """The layouts that stand beside each other: the learner's, the best of the search, the published one."""
    yield YOURS, case
    if case.best:
        yield BEST, case.like(case.best.layout)
    if case.published:
        yield META, case.like(case.published.layout)


def memory(case: Case, said: float | None = None) -> Figure:
    """`said`: by what the learner thinks that the activations change with the question's deeper pipeline; drawn where that is the case."""
    rows = {name: _held(one.held(one.layout)) for name, one in beside(case) if name == BEST or not _broken(one)}
    first = premise()
    if said is not None and case.pipeline in (first.pipeline, DEEP) and replace(case, pipeline=first.pipeline) == first:
        held = replace(first, pipeline=DEEP).held(replace(first, pipeline=DEEP).layout)
        kept = said * float(first.held(first.layout).activations)
        rows |= {f"{DEEP} stages": _held(held), f"{DEEP} stages, as you said": _held(replace(held, activations=kept))}
    room = case.job.capacity
    limit = mark("rule", "fail", x=room, dash=True, label=f"holds {format_quantity(room, 'B')}", name="holds", id="limit",
                 hover=[("usable", exact(room, "B"))])  # fmt: skip
    shown = rows or {"weights alone": [_weights(case)]}
    return stack(shown, "B", "What the fullest device holds", chosen=YOURS, note=name_of(case), id="memory", extra=[limit])


def _broken(case: Case) -> bool:
    return case.step is None


def _weights(case: Case) -> Part:
    return Part("weights", 2.0 * case.job.shape.parameters / (case.tensor * case.pipeline), "compute")


def _held(parts: Parts) -> list[Part]:
    colours = {"weights": "compute", "gradients": "overhead", "optimiser": "ridge", "activations": "memory"}
    return [Part(name, float(getattr(parts, name)), colour) for name, colour in colours.items()]


def step(case: Case) -> Figure | None:
    """None where no layout runs."""
    rows = {name: _spent(one.step.time) for name, one in beside(case) if one.step is not None}
    return stack(rows, "s", "Where a step goes", chosen=YOURS, note=name_of(case), id="step") if rows else None


def _spent(time: StepTime) -> list[Part]:
    return [Part(TIMES[key][0], value, TIMES[key][1], pattern=TIMES[key][2]) for key, value in time.parts.items() if key in TIMES]


def name_of(case: Case) -> str:
    return f"{MODELS[case.model]}, {case.devices:,} devices, {case.seq:,} tokens"


def rate(case: Case, one: Candidate) -> float:
    """Model FLOPs a second of one device."""
    return one.speed.mfu * case.job.peak


def _dot(
    case: Case, one: Candidate, name: str, id: str, colour: str, size: int, *, hollow: bool = False, shape: str | None = None,
    label: str = "",
) -> Mark:  # fmt: skip
    layout = one.layout
    hover = [
        ("layout", str(layout)), ("pieces", str(layout.virtual)), ("recomputed", layout.recompute),
        ("memory", exact(float(one.memory.total), "B")), ("MFU", exact(100 * one.speed.mfu, "%")),
    ]  # fmt: skip
    return mark(
        "point", colour, x=min(float(one.memory.total), MOST_MEMORY), y=min(rate(case, one), MOST_RATE), id=id, name=name, label=label,
        size=size, hollow=hollow, shape=shape, hover=hover,
    )  # fmt: skip
