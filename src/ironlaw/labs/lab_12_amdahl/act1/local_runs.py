"""Act I on the learner's own machine: the law drawn from its stages, and how fast the whole really got."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ironlaw import kit
from ironlaw.labs.lab_12_amdahl import passes
from ironlaw.measure.experiments.stages_trial import VARIANTS

FASTER = tuple(name for name in VARIANTS if name != "fp64")


def captions(lab: kit.Lab) -> dict[str, Callable[[kit.Measured], str]]:
    return {"stages": lambda run: lab.fill("act1.here_stages", **slots(lab, run))}


def points(lab: kit.Lab) -> dict[str, list[tuple[float, float]]]:
    """(how much faster the model stage was, how much faster the whole was), as measured here."""
    run = lab.local_run("stages")
    return {f"the whole, {run.source}": measured(run)} if run else {}


def measured(run: kit.Measured) -> list[tuple[float, float]]:
    return [(_ratio(run, "model", variant), _ratio(run, "whole", variant)) for variant in FASTER]


def _ratio(run: kit.Measured, name: str, variant: str) -> float:
    slow, fast = (run.row(name=name, variant=each) for each in ("fp64", variant))
    assert slow is not None and fast is not None  # a run that lacks them is passed over
    return float(slow["wall_s"]) / float(fast["wall_s"])


def slots(lab: kit.Lab, run: kit.Measured) -> dict[str, object]:
    own = passes.pipeline(lab)
    assert own is not None
    pairs = measured(run)
    said = [own.speedup("model", factor) for factor, _ in pairs]
    worst = max(abs(whole / law - 1) for law, (_, whole) in zip(said, pairs, strict=True))
    return {
        "share": kit.amount(100 * own.share("model"), "%"), "ceiling": kit.times(own.speedup("model", float("inf"))),
        "factors": _row(factor for factor, _ in pairs), "law": _row(said), "whole": _row(whole for _, whole in pairs),
        "worst": kit.amount(100 * worst, "%", 2),
    }  # fmt: skip


def _row(values: Any) -> kit.Markup:
    texts = [str(kit.times(value)) for value in values]
    return kit.Markup(f"{', '.join(texts[:-1])} and {texts[-1]}")


def local_figures(lab: kit.Lab) -> dict[str, kit.LocalFigure]:
    """Further arguments are states: naming them is what runs the cell again."""
    run = lab.local_run("stages")
    if run is None:
        return {}
    factor, whole = min(measured(run), key=lambda pair: abs(pair[0] - 10))
    return {"component_ten_times": kit.LocalFigure(whole, "×", f"a model stage {factor:.3g} times as fast; {run.source}")}
