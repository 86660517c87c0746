"""Act II's pictures: memory and step beside the best layout and the published one, and the grid of devices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ironlaw.engine.cluster.footprint import Parts
from ironlaw.engine.cluster.steps import StepTime
from ironlaw.labs.lab_v2_05_parallelism.act2.spread import DEEP, MODELS, Case, premise
from ironlaw.pictures.devices import devices
from ironlaw.pictures.stack import stack
from ironlaw.pictures.theme import HELD
from ironlaw.pictures.waterfall import Part
from ironlaw.units import percent
from ironlaw.widget.figure import Figure, Mark, mark
from ironlaw.widget.hold import hold
from ironlaw.widget.quantities import exact, format_quantity

YOURS, BEST, META, BOTH = "yours", "best of the search", "as published", "best, as published"
TRIED, SAID = f"colleague's {DEEP} stages", f"{DEEP} stages, as you said"
TIMES = {
    "compute": ("arithmetic", "compute", False), "recompute": ("recomputed", "compute", True),
    "tensor": ("tensor group", "overhead", False),
    "context": ("context group", "good", False), "pipeline": ("sends", "ridge", False), "bubble": ("bubble", "warn", True),
    "data": ("exposed gradients", "memory", False), "update": ("optimiser", "muted", True),
}  # fmt: skip


def grid(case: Case, rank: int) -> Figure:
    layout = case.layout
    return devices(
        layout, case.box.devices, min(rank, layout.devices - 1), note=f"{case.layout}, {case.box.name}", tensor_drag=hold("tensor")
    )


def beside(case: Case) -> Iterator[tuple[str, Case]]:
    """The layouts that stand beside each other: the learner's, the best of the search, the published one; the last two may be the same."""
    yield YOURS, case
    best, published = case.best, case.published
    same = best is not None and published is not None and case.like(best.layout) == case.like(published.layout)
    if best:
        yield BOTH if same else BEST, case.like(best.layout)
    if published and not same:
        yield META, case.like(published.layout)


def memory(case: Case, said: float | None = None) -> Figure:
    """`said`: by what the learner thinks that the activations change with the question's deeper pipeline; drawn for the question's run."""
    rows = {name: _held(one.held(one.layout)) for name, one in beside(case) if name in (BEST, BOTH) or not _broken(one)}
    if said is not None and all(getattr(case, name) == getattr(premise(), name) for name in ("box", "model", "devices", "seq")):
        rows = {name: rows[name] for name in rows if name == YOURS} | _asked(said) | rows
    room = case.job.capacity
    limit = mark("rule", "fail", x=room, dash=True, label=f"holds {format_quantity(room, 'B')}", name="holds", id="limit",
                 hover=[("usable", exact(room, "B"))])  # fmt: skip
    shown = rows or {"weights alone": [_weights(case)]}
    step = case.step
    title = f"Your fullest device needs {format_quantity(float(step.memory.total), 'B')}" if step else "What the fullest device holds"
    drawn = stack(
        shown, "B", title, chosen=YOURS, label="memory of one device", note=name_of(case), id="memory", extra=[limit]
    )  # fmt: skip
    return drawn if said is None or TRIED not in rows else replace(drawn, marks=tuple(_worded(each, said) for each in drawn.marks))


def grown() -> float:
    """The activations of the colleague's deeper pipeline over those of his first one."""
    first, deep = premise(), replace(premise(), pipeline=DEEP)
    return float(deep.held(deep.layout).activations / first.held(first.layout).activations)


def _asked(said: float) -> dict[str, list[Part]]:
    """The question's deeper pipeline, and what it would hold by the learner's prediction."""
    first, deep = premise(), replace(premise(), pipeline=DEEP)
    held = deep.held(deep.layout)
    return {TRIED: _held(held), SAID: _held(replace(held, activations=said * float(first.held(first.layout).activations)))}


def _worded(one: Mark, said: float) -> Mark:
    """The totals of the two rows of the question say what became of the activations."""
    for row, role, colour, words in (
        (TRIED, "truth", "ink", f"activations {format_quantity(grown(), '×')}"),
        (SAID, "prediction", "accent", f"◆ you said {format_quantity(said, '×')}"),
    ):
        if dict(one.more).get("id") == f"{row}-total":
            return replace(one, colour=colour, label=f"{one.label}, {words}", more=(*one.more, ("role", role)))
    return one


def _broken(case: Case) -> bool:
    return case.step is None


def _weights(case: Case) -> Part:
    return Part("weights", 2.0 * case.job.shape.parameters / (case.tensor * case.pipeline), HELD["weights"])


def _held(parts: Parts) -> list[Part]:
    return [Part(name, float(getattr(parts, name)), HELD[name]) for name in ("weights", "gradients", "optimiser", "activations")]


def step(case: Case) -> Figure | None:
    """None where no layout runs."""
    rows = {name: _spent(one.step.time) for name, one in beside(case) if one.step is not None}
    if not rows:
        return None
    own = case.step
    title = f"Your step is {percent(own.time.bubble / own.time.total)} bubble" if own else "Where a step goes"
    return stack(rows, "s", title, chosen=YOURS, label="time of a step", note=name_of(case), id="step")


def _spent(time: StepTime) -> list[Part]:
    return [Part(TIMES[key][0], value, TIMES[key][1], pattern=TIMES[key][2]) for key, value in time.parts.items() if key in TIMES]


def name_of(case: Case) -> str:
    return f"{MODELS[case.model]}, {case.devices:,} devices, {case.seq:,} tokens"
