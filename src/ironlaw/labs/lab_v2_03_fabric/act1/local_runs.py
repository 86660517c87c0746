"""Act I beside the learner's own machine: ranks that share one wire, and ranks that have one each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ironlaw import kit
from ironlaw.measure.experiments.collectives_trial import FREE, PACED, RATE, SIZES

RANKS = 8
NOISE = 1.3  # times that equal work may differ by on a busy machine


class Wire(NamedTuple):
    """The loopback as ranks share it: bytes per second of all of them together."""

    ranks: int
    rate: float


def seconds(run: kit.Measured, way: str, algorithm: str) -> float:
    """The time of the longest message over all ranks."""
    row = run.row(kind="case", name=way, algorithm=algorithm, ranks=RANKS, bytes=SIZES[way][RANKS][-1])
    return float(row["wall_s"]) if row else float("nan")


def ratio(run: kit.Measured, way: str) -> float:
    """What the star takes over the ring: as much on one wire that all share, as many times as there are ranks where each has its own."""
    return seconds(run, way, "star") / seconds(run, way, "ring")


def wire(lab: kit.Lab) -> Wire | None:
    """2(p − 1) messages go over it in a ring's all-reduce."""
    run = lab.local_run("collectives")
    taken = seconds(run, FREE, "ring") if run else float("nan")
    return Wire(RANKS, 2 * (RANKS - 1) * SIZES[FREE][RANKS][-1] / taken) if taken > 0 else None


def captions(lab: kit.Lab) -> dict[str, Callable[[kit.Measured], str]]:
    """Experiment -> what the lab says about a run of it."""
    return {"collectives": lambda run: kit.caption(lab, "act1.here_collectives", slots(run), ratio(run, PACED) > 2)}


def verdict(seconds: Sequence[float]) -> str:
    """Whether three ways over one wire took about as long, as they should."""
    if max(seconds) <= NOISE * min(seconds):
        return "All three put the same bytes on that wire, so none of them wins."
    return "All three put the same bytes on that wire and should take about as long, so this run is too noisy to tell."


def slots(run: kit.Measured) -> dict[str, object]:
    times = {f"{way}_{name}": seconds(run, way, name) for way in (FREE, PACED) for name in ("ring", "star", "binomial")}
    return {
        **{name: kit.amount(value, "s") for name, value in times.items()},
        "ranks": RANKS, "size": kit.amount(float(SIZES[FREE][RANKS][-1]), "B"),
        "paced_size": kit.amount(float(SIZES[PACED][RANKS][-1]), "B"),
        "verdict": verdict([times[f"{FREE}_{name}"] for name in ("ring", "star", "binomial")]),
        "pace": kit.amount(RATE, "B/s"), "shared": kit.times(ratio(run, FREE), 2), "own": kit.times(ratio(run, PACED), 2),
        "rate": kit.amount(2 * (RANKS - 1) * SIZES[FREE][RANKS][-1] / times["free_ring"], "B/s"),
    }  # fmt: skip


def local_figures(lab: kit.Lab) -> dict[str, kit.LocalFigure]:
    """Further arguments are states: naming them is what runs the cell again."""
    run = lab.local_run("collectives")
    if run is None:
        return {}
    return {"a_star_takes_as_many_times": kit.LocalFigure(ratio(run, FREE), "×", f"on one wire that all share; {run.source}")}
