"""Act I beside the learner's own machine: the same batch on one process and on two."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ironlaw import kit
from ironlaw.measure.experiments import scaling_trial
from ironlaw.measure.experiments.scaling_trial import Pair
from ironlaw.units import percent


def captions(lab: kit.Lab) -> dict[str, Callable[[kit.Measured], str]]:
    """Experiment -> what the lab says about a run of it."""
    return {"scaling": lambda run: kit.caption(lab, "act1.here_scaling", slots(run), shows(pairs(run)))}


def shows(by: Sequence[Pair]) -> bool:
    """Whether fewer examples left a smaller share of what two processes could do."""
    return by[0].efficiency < by[-1].efficiency


def pairs(run: kit.Measured) -> list[Pair]:
    """Every batch on one process and on two."""
    return scaling_trial.compare(run.rows)[1]


def efficiencies(lab: kit.Lab) -> dict[str, float]:
    """Row -> percent of what two processes could do, by the batch that they shared; empty until it was measured."""
    run = lab.local_run("scaling")
    return {f"here: {pair.batch:,} examples on two": 100 * pair.efficiency for pair in pairs(run)} if run else {}


def slots(run: kit.Measured) -> dict[str, object]:
    by = pairs(run)
    small, large = by[0], by[-1]
    return {
        "small": f"{small.batch:,}", "large": f"{large.batch:,}", "small_one": kit.amount(small.alone, "s"),
        "small_two": kit.amount(small.two, "s"), "large_one": kit.amount(large.alone, "s"), "large_two": kit.amount(large.two, "s"),
        "small_of": percent(small.efficiency, 2), "large_of": percent(large.efficiency, 2),
        "wire": kit.amount(large.wire, "s"), "foretold": kit.amount(large.foretold, "s"),
        "gradients": kit.amount(float(scaling_trial.SIZES[-1]), "B"),
    }  # fmt: skip


def local_figures(lab: kit.Lab) -> dict[str, kit.LocalFigure]:
    """Further arguments are states: naming them is what runs the cell again."""
    run = lab.local_run("scaling")
    if run is None:
        return {}
    large = pairs(run)[-1]
    return {"mfu_collapses": kit.LocalFigure(1 / large.efficiency, "×", f"one process to two, {large.batch:,} examples; {run.source}")}
