"""Act I beside the learner's own machine: a real line, and both sides of Little's law on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ironlaw import kit
from ironlaw.engine.serving.queues import mg1_mean, mm1
from ironlaw.units import significant


def captions(lab: kit.Lab) -> dict[str, Callable[[kit.Measured], str]]:
    """Experiment -> what the lab says about a run of it."""
    return {"line": lambda run: kit.caption(lab, "act1.here_line", line_slots(run), shows(run))}


def shows(run: kit.Measured) -> bool:
    """Whether what was in flight is rate times time, within five percent."""
    cases = [row["params"] for row in run.all(kind="case", name="line")]
    return all(abs(about["in_flight"] / (about["rate"] * about["mean_s"]) - 1) <= 0.05 for about in cases)


def points(lab: kit.Lab) -> dict[str, list[tuple[float, float]]]:
    """Rate times time and what was in flight, at each load of the learner's own line."""
    run = lab.local_run("line")
    if run is None:
        return {}
    cases = (row["params"] for row in run.all(kind="case", name="line"))
    return {f"measured here, {run.source}": sorted((about["rate"] * about["mean_s"], about["in_flight"]) for about in cases)}


def line_slots(run: kit.Measured) -> dict[str, object]:
    slow, fast = sorted((row["params"] for row in run.all(kind="case", name="line")), key=lambda about: about["load"])
    expected = mg1_mean(min(fast["rate"], 0.99 / fast["service_s"]), fast["service_s"], max(0.0, float(fast.get("cv2") or 0.0)))
    spread = mm1(min(fast["rate"], 0.99 / fast["service_s"]), fast["service_s"]).mean
    return {
        **{f"{name}_{side}": value for name, about in (("slow", slow), ("fast", fast)) for side, value in sides(about).items()},
        "mean": kit.amount(fast["mean_s"], "s"), "expected": kit.amount(expected, "s"), "spread": kit.amount(spread, "s"),
        "busy": kit.amount(100 * fast["busy"], "%"),
    }  # fmt: skip


def sides(about: Any) -> dict[str, str]:
    """L as the clock saw it, and λ·W as the requests did."""
    return {"l": significant(about["in_flight"], 5), "lw": significant(about["rate"] * about["mean_s"], 5)}


def local_figures(lab: kit.Lab) -> dict[str, kit.LocalFigure]:
    """Further arguments are states: naming them is what runs the cell again."""
    run = lab.local_run("line")
    if run is None:
        return {}
    fast = max((row["params"] for row in run.all(kind="case", name="line")), key=lambda about: about["load"])
    return {"mm1_p99_23x": kit.LocalFigure(fast["p99_s"] / fast["service_s"], "×", f"a sleeping server; {run.source}")}
