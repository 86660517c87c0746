"""How far more workers speed a job up, from its serial share or from measurements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ironlaw.engine.scaling.amdahl import amdahl_ceiling, halvings, karp_flatt, scaled_share, workers_needed
from ironlaw.engine.scaling.usl import UslFit, best_workers, fit_usl, usl
from ironlaw.errors import BadValue
from ironlaw.systems.fields import custom, figure, several, share
from ironlaw.systems.question import Question, Table
from ironlaw.systems.value_readers import LARGEST, read_figure, read_numbered, read_whole
from ironlaw.units import parse, significant

if TYPE_CHECKING:
    from ironlaw.outputs.law_output import ScaleJson, ScalePoint, ScaleRow, ScaleTarget

ONE = "`serial=15%`, `speedups=2:1.8,4:2.9` or `times=1:95,2:51`"
WORKERS = (2, 4, 8, 16, 32, 64)
Points = tuple[tuple[float, float], ...]
Given = str | Mapping[int, Any] | Points


def _points(given: str | Mapping[int, Any], unit: str) -> Points:
    pairs = []
    wanted = f"a point; write workers:{'time' if unit else 'speed-up'}, such as {'2:51' if unit else '2:1.8'}"
    for entry, workers, value in read_numbered(given, wanted):
        pairs.append((float(workers), parse(value, unit) if unit else read_figure(value, most=LARGEST)))
        if pairs[-1][1] <= 0:
            raise BadValue(f"{entry!r} is out of range; give a time above 0")
    if not pairs:
        raise BadValue(f"no points in {given!r}; write {'1:95,2:51' if unit else '2:1.8,4:2.9'}")
    return tuple(pairs)


def read_speedups(given: Given) -> Points:
    """`2:1.8,4:2.9` -> workers and speed-ups."""
    if isinstance(given, tuple):
        return given
    pairs = _points(given, "")
    if any(workers == 1 and speedup != 1 for workers, speedup in pairs):
        raise BadValue(f"the speed-up of one worker is always 1; leave it out of {given!r}, or give times with `times`")
    return pairs


def read_times(given: Given) -> Points:
    """`1:95 s,2:51 s` -> workers and speed-ups over one worker."""
    if isinstance(given, tuple):
        return given
    pairs = _points(given, "s")
    alone = [time for workers, time in pairs if workers == 1]
    if not alone:
        raise BadValue(f"no time on one worker in {given!r}; add one, 1:95, or give speed-ups with `speedups`")
    return tuple((workers, alone[0] / time) for workers, time in pairs)


@dataclass(frozen=True, repr=False)
class Scale(Question):
    """How a run speeds up with workers, where it peaks, and what reaching a target takes.

    >>> import ironlaw as il
    >>> s = il.scale(serial="15%", workers=[8, 64])
    >>> [round(s.speedup(n), 2) for n in (8, 64)]
    [3.9, 6.12]
    """

    schema = "ironlaw-scale/1"
    serial: float | None = share(None, metavar="SHARE", about="serial share: the part of the job that only one worker can do, 15% or 0.15")
    crosstalk: float = share(0.0, metavar="K", about="with `serial`: crosstalk κ, the cost of each pair of workers")
    speedups: tuple[tuple[float, float], ...] | None = custom(
        read_speedups, None, metavar="POINTS", about="measured speed-ups, workers:speed-up, such as 2:1.8,4:2.9"
    )
    times: tuple[tuple[float, float], ...] | None = custom(
        read_times, None, metavar="POINTS", about="measured times, workers:time, including one worker, such as 1:95,2:51"
    )
    workers: tuple[int, ...] = several(
        read_whole, WORKERS, what="number", metavar="N", about="numbers of workers to predict, such as 64 or 8,64"
    )
    target: float | None = figure(
        None, most=LARGEST, metavar="X", about="a speed-up to reach: says how many workers, or how much less serial work"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        given = [name for name in ("serial", "speedups", "times") if getattr(self, name) is not None]
        if len(given) != 1:
            raise BadValue(f"`ironlaw scale` needs {'one' if not given else 'only one'} of {ONE}")
        if self.crosstalk and given != ["serial"]:
            raise BadValue("`crosstalk` goes with `serial`; from several points it is fitted, so leave it out")

    @cached_property
    def answer(self) -> ScaleJson:
        """The figures; null where there is none: no peak without crosstalk, no interval from too few points."""
        points = self.speedups or self.times or ()
        above_one = {workers for workers, _ in points if workers > 1}
        if points and not above_one:
            raise BadValue("one worker says nothing about the serial share; add a point such as 2:1.8")
        fit = fit_usl(points) if len(above_one) > 1 else None
        sigma, kappa = (fit.sigma, fit.kappa) if fit else (_alone(self, points), self.crosstalk)
        best = best_workers(sigma, kappa)
        result: ScaleJson = {
            "basis": "fit" if fit else "one point" if points else "given",
            "sigma": sigma, "kappa": kappa,
            "sigma_interval": fit.sigma_interval if fit else None, "kappa_interval": fit.kappa_interval if fit else None,
            "worst_misfit": fit.worst if fit else None,
            "ceiling": _finite(amdahl_ceiling(1.0 - sigma)), "best_workers": _finite(best),
            "best_speedup": None if best == float("inf") else usl(best, sigma, kappa),
            "points": [_point(workers, speedup, sigma, kappa) for workers, speedup in points],
            "workers": [_at(float(n), sigma, kappa, fit) for n in self.workers],
        }  # fmt: skip
        if self.target is not None:
            result["target"] = _target(self.target, max(self.workers), sigma, kappa)
        return result

    @property
    def ceiling(self) -> float | None:
        """The speed-up that no number of workers exceeds; None if there is no ceiling."""
        most: float | None = self.answer["ceiling"]
        return most

    def speedup(self, workers: float) -> float:
        return float(usl(float(workers), self.answer["sigma"], self.answer["kappa"]))

    def table(self) -> Table:
        rows = [(f"{one['workers']:,}", significant(one["speedup"]), f"{one['efficiency']:.1%}") for one in self.answer["workers"]]
        return Table(f"serial share {self.answer['sigma']:.3g}, κ {self.answer['kappa']:.3g}", ("workers", "speed-up", "efficiency"), rows)


def _alone(asked: Scale, points: tuple[tuple[float, float], ...]) -> float:
    """The share as given, or what the mean of the points at one number of workers stands for."""
    if not points:
        return float(asked.serial or 0.0)
    measured = [(n, speedup) for n, speedup in points if n > 1]
    n = measured[0][0]
    return float(min(1.0, max(0.0, karp_flatt(sum(speedup for _, speedup in measured) / len(measured), n))))


def _point(workers: float, speedup: float, sigma: float, kappa: float) -> ScalePoint:
    return {
        "workers": int(workers), "speedup": speedup, "model": usl(workers, sigma, kappa),
        "karp_flatt": karp_flatt(speedup, workers) if workers > 1 else None,
    }  # fmt: skip


def _at(n: float, sigma: float, kappa: float, fit: UslFit | None) -> ScaleRow:
    speedup = usl(n, sigma, kappa)
    beyond = bool(fit and n > max(workers for workers, _ in fit.points))
    return {
        "workers": int(n), "speedup": speedup, "efficiency": speedup / n, "extrapolated": beyond,
        "serial_share_of_this_run": scaled_share(sigma, n) if not kappa else None,
    }  # fmt: skip


def _target(target: float, n: int, sigma: float, kappa: float) -> ScaleTarget:
    """What it takes: a number of workers, or, if none is enough, how often to halve the serial share for the most workers asked for."""
    enough = workers_needed(sigma, target) if not kappa else _fewest(target, sigma, kappa)
    weeks = halvings(sigma, target, float(n), kappa) if n > 1 else float("inf")
    return {"speedup": target, "workers": _finite(enough), "at": n, "halvings": _finite(weeks)}


def _fewest(target: float, sigma: float, kappa: float) -> float:
    """The fewest workers up to the peak that reach the target; inf where the peak does not."""
    best = int(best_workers(sigma, kappa))
    if usl(best, sigma, kappa) < target:
        return float("inf")
    low, high = 1, best
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if usl(middle, sigma, kappa) < target else (low, middle)
    return float(low)


def _finite(value: float) -> float | None:
    return None if value == float("inf") else value
