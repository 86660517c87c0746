"""Act I beside the learner's own machine: the reader squeezed there."""

from __future__ import annotations

from collections.abc import Callable

from ironlaw import kit
from ironlaw.engine.numerics.decay import decay
from ironlaw.labs.lab_10_frontier.act1.setting import FIRST, LAST, Setting
from ironlaw.units import significant


def captions(lab: kit.Lab) -> dict[str, Callable[[kit.Measured], str]]:
    return {"bits": lambda run: lab.fill("act1.here", **slots(run))}


def factor(run: kit.Measured, scale: str = "channel") -> float:
    """What a bit less multiplied the divergence by, over 8 to 4 bits."""
    points = [(row["params"]["bits"], float(row["params"]["kl"])) for row in run.all(scale=scale) if LAST <= row["params"]["bits"] <= FIRST]
    return decay([bits for bits, _ in points], [kl for _, kl in points]).factor


def dots(lab: kit.Lab, setting: Setting) -> dict[str, list[tuple[float, float]]]:
    """(bits, divergence) of the learner's own run, which is of the reader as it was trained."""
    run = lab.local_run("bits")
    if setting.net != Setting().net:
        return {}
    points = [(float(row["params"]["bits"]), float(row["params"]["kl"])) for row in run.all(scale=setting.scale)] if run else []
    return {f"the reader as trained, {run.source}": [point for point in sorted(points) if point[1] > 0]} if run and points else {}


def slots(run: kit.Measured) -> dict[str, object]:
    worst = run.row(bits=2, scale="tensor")
    best = run.row(bits=2, scale="32")
    assert worst is not None and best is not None
    return {
        "factor": f"×{significant(factor(run))}", "stored": f"×{significant(Setting().factor)}", "first": FIRST, "last": LAST,
        "tensor": kit.amount(float(worst["value"]), "%"), "group": kit.amount(float(best["value"]), "%"),
    }  # fmt: skip


def local_figures(lab: kit.Lab) -> dict[str, kit.LocalFigure]:
    """Further arguments are states: naming them is what runs the cell again."""
    run = lab.local_run("bits")
    return {"four_times_a_bit": kit.LocalFigure(factor(run), "×", run.source)} if run else {}
