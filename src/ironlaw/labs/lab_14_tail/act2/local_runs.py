"""Act II beside the learner's own machine: its calls, joined to pages."""

from __future__ import annotations

from collections.abc import Callable

from ironlaw import kit
from ironlaw.measure.experiments import fan_out

CLUMPS = 0.9  # pages of calls in a row that are this much faster than independent ones: slow calls come together


def captions(lab: kit.Lab) -> dict[str, Callable[[kit.Measured], str]]:
    """Experiment -> what the lab says about a run of it."""
    return {"fan_out": lambda run: lab.fill("act2.here", **slots(lab, run))}


def median(run: kit.Measured, name: str, k: int) -> float:
    row = run.row(name=name, k=k)
    assert row is not None  # a run without it is not shown
    return float(row["wall_s"])


def slots(lab: kit.Lab, run: kit.Measured) -> dict[str, object]:
    ratios = {k: median(run, fan_out.PAGE, k) / median(run, fan_out.INDEPENDENT, k) for k in fan_out.JOINED[1:]}
    k = min(ratios, key=lambda each: ratios[each])
    verdict = "act2.here_clumps" if ratios[k] < CLUMPS else "act2.here_independent"
    joined, independent = median(run, fan_out.PAGE, k), median(run, fan_out.INDEPENDENT, k)
    words = {"at": f"{k}", "joined": kit.amount(joined, "s"), "independent": kit.amount(independent, "s")}
    return {
        "one": kit.amount(median(run, fan_out.LEAF, 1), "s"), "most": f"{fan_out.JOINED[-1]}",
        "page": kit.amount(median(run, fan_out.PAGE, fan_out.JOINED[-1]), "s"), "verdict": kit.Markup(lab.fill(verdict, **words)),
    }  # fmt: skip


def local_figures(lab: kit.Lab) -> dict[str, kit.LocalFigure]:
    """No claim of this act is about one machine; the column stays open for the experiment under it."""
    return {}
