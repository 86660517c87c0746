"""Act I beside the learner's own machine: calls in a row there, alone and beside neighbours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ironlaw import kit
from ironlaw.measure.experiments import tails_trial

NAME = "tails"
APART = 1.1  # a row whose P99 is this much above that of independent draws: slow calls come together


@dataclass(frozen=True)
class Chains:
    """P99s in seconds: of one call, of five in a row, of five drawn independently; and five times the first."""

    neighbours: int
    one: float
    chain: float
    independent: float

    @property
    def added(self) -> float:
        return tails_trial.CHAIN * self.one


def chains(run: kit.Measured) -> list[Chains]:
    """Alone, and beside neighbours."""

    def p99(name: str, neighbours: int) -> float:
        row = run.row(kind="case", name=name, neighbours=neighbours)
        assert row is not None  # a run without it is not shown
        return float(row["params"]["p99_s"])

    return [Chains(count, *(p99(name, count) for name in ("one", "chain", "independent"))) for count in (0, tails_trial.NEIGHBOURS)]


def quantiles(run: kit.Measured) -> tuple[float, ...]:
    """The quantiles of one call alone; none if the run was made before they were kept."""
    row = run.row(kind="case", name="one", neighbours=0) or {}
    return tuple(float(value) for value in row.get("params", {}).get("quantiles", ()))


def captions(lab: kit.Lab) -> dict[str, Callable[[kit.Measured], str]]:
    """Experiment -> what the lab says about a run of it."""
    return {NAME: lambda run: lab.fill("act1.here_tails", **slots(lab, run))}


def slots(lab: kit.Lab, run: kit.Measured) -> dict[str, object]:
    alone, beside = chains(run)
    ratio = beside.chain / beside.independent
    giants = " " + lab.fill("act1.here_giants", times=kit.times(alone.chain / alone.added)) if alone.chain > alone.added else ""
    verdict = "act1.here_together" if ratio >= APART else "act1.here_apart"
    return {
        "one": kit.amount(alone.one, "s"), "chain": kit.amount(alone.chain, "s"), "independent": kit.amount(alone.independent, "s"),
        "added": kit.amount(alone.added, "s"), "neighbours": beside.neighbours, "beside_chain": kit.amount(beside.chain, "s"),
        "beside_independent": kit.amount(beside.independent, "s"), "beside_added": kit.amount(beside.added, "s"),
        "verdict": kit.Markup(lab.fill(verdict, ratio=kit.times(ratio)) + giants),
    }  # fmt: skip


def local_figures(lab: kit.Lab) -> dict[str, kit.LocalFigure]:
    """Further arguments are states: naming them is what runs the cell again."""
    run = lab.local_run(NAME)
    if run is None:
        return {}
    alone = chains(run)[0]
    return {"percentiles_add_up": kit.LocalFigure(100 * alone.chain / alone.added, "%", run.source)}
