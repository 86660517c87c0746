"""Act I beside the learner's own machine: the reader attacked there, and what a step of attack took."""

from __future__ import annotations

from collections.abc import Callable

from ironlaw import kit

NAME = "pgd"
SHOWN = {"FGSM": "one step", "PGD-20": "20 steps along the loss"}
WEAK, STRONG = "FGSM", "PGD-20"
AT = 0.1  # ε that the words speak of


def points(run: kit.Measured, attack: str) -> list[tuple[float, float]]:
    """(ε, percent) of an attack."""
    rows = run.all(kind="figure", name="attacked", attack=attack)
    return sorted((float(row["params"]["epsilon"]), float(row["value"])) for row in rows)


def left(run: kit.Measured, attack: str, epsilon: float = AT) -> float:
    return dict(points(run, attack))[epsilon]


def cost(run: kit.Measured) -> float:
    """A step of attack over a pass forward."""
    step, forward = run.row(kind="case", name="step"), run.row(kind="case", name="forward")
    assert step is not None and forward is not None
    return float(step["wall_s"]) / float(forward["wall_s"])


def captions(lab: kit.Lab) -> dict[str, Callable[[kit.Measured], str]]:
    """Experiment -> what the lab says about a run of it."""
    return {NAME: lambda run: lab.fill("act1.here_pgd", **slots(run))}


def slots(run: kit.Measured) -> dict[str, object]:
    return {
        "epsilon": f"{AT:g}", "weak": kit.amount(left(run, WEAK), "%"), "strong": kit.amount(left(run, STRONG), "%"),
        "cost": kit.times(cost(run)),
    }  # fmt: skip


def local_figures(lab: kit.Lab) -> dict[str, kit.LocalFigure]:
    """Further arguments are states: naming them is what runs the cell again."""
    run = lab.local_run(NAME)
    if run is None:
        return {}
    worst = dict(points(run, STRONG))
    return {"chance_is_the_floor": kit.LocalFigure(min(worst.values()), "%", f"the digit classifier at its largest ε, {run.source}")}
