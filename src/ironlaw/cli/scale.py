"""`ironlaw scale`: what more workers bring, from a serial share or from measured points."""

from __future__ import annotations

import argparse
from typing import Any

from ironlaw.cli.options import Parser, add_json, checked, number, sizes
from ironlaw.cli.show import draw, scaling
from ironlaw.engine.scaling.amdahl import amdahl_ceiling, halvings, karp_flatt, scaled_share, workers_needed
from ironlaw.engine.scaling.usl import UslFit, best_workers, fit_usl, usl
from ironlaw.errors import BadValue
from ironlaw.systems.fields import read_numbered as numbered
from ironlaw.units import parse

EXAMPLE = """ironlaw scale --serial 15% --workers 8,64
ironlaw scale --speedups 2:1.8 --workers 64 --target 12
ironlaw scale --times "1:95 s,2:51 s,4:29 s,8:19 s,16:15 s" --workers 32,64"""
ONE = "--serial 15%, --speedups 2:1.8,4:2.9 or --times 1:95,2:51"
WORKERS = (2, 4, 8, 16, 32, 64)


@checked
def share(text: str) -> float:
    """`15%` or `0.15`."""
    try:
        value = float(text.strip().removesuffix("%")) / (100.0 if text.strip().endswith("%") else 1.0)
    except ValueError:
        raise BadValue(f"{text!r} is not a share; write 15% or 0.15") from None
    if not 0.0 <= value <= 1.0:
        raise BadValue(f"{text!r} is out of range; give a share from 0 to 1, or from 0% to 100%")
    return value


@checked
def crosstalk(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise BadValue(f"{text!r} is not a number; write one such as 0.001") from None
    if not 0.0 <= value <= 1.0:
        raise BadValue(f"{text!r} is out of range; crosstalk is from 0 (none) to 1, such as 0.001")
    return value


def _points(text: str, unit: str) -> tuple[tuple[float, float], ...]:
    pairs = []
    wanted = f"a point; write workers:{'time' if unit else 'speed-up'}, such as {'2:51' if unit else '2:1.8'}"
    for entry, workers, value in numbered(text, wanted):
        pairs.append((float(workers), parse(value, unit) if unit else float(number(value))))
        if pairs[-1][1] <= 0:
            raise BadValue(f"{entry!r} is out of range; give a time above 0")
    if not pairs:
        raise BadValue(f"no points in {text!r}; write {'1:95,2:51' if unit else '2:1.8,4:2.9'}")
    return tuple(pairs)


@checked
def speedups(text: str) -> tuple[tuple[float, float], ...]:
    """`2:1.8,4:2.9` -> workers and speed-ups."""
    pairs = _points(text, "")
    if any(workers == 1 and speedup != 1 for workers, speedup in pairs):
        raise BadValue(f"a speed-up of one worker over itself in {text!r} is 1; leave it out, or give times with --times")
    return pairs


@checked
def times(text: str) -> tuple[tuple[float, float], ...]:
    """`1:95 s,2:51 s` -> workers and speed-ups over one worker."""
    pairs = _points(text, "s")
    alone = [time for workers, time in pairs if workers == 1]
    if not alone:
        raise BadValue(f"no time on one worker in {text!r}; add one, 1:95, or give speed-ups with --speedups")
    return tuple((workers, alone[0] / time) for workers, time in pairs)


def add(parser: Parser) -> None:
    parser.usage = "ironlaw scale (--serial SHARE | --speedups POINTS | --times POINTS) [options]"
    parser.add_argument("--serial", metavar="SHARE", type=share, help="share of the run on one worker that only one can do: 15%% or 0.15")
    parser.add_argument("--crosstalk", metavar="K", type=crosstalk, default=0.0, help="with --serial: the price of each pair of workers, κ")
    parser.add_argument("--speedups", metavar="POINTS", type=speedups, help="measured, workers:speed-up: 2:1.8,4:2.9")
    parser.add_argument("--times", metavar="POINTS", type=times, help="measured, workers:time, with one worker among them: 1:95,2:51")
    parser.add_argument("--workers", metavar="N", type=sizes, default=WORKERS, help="how many to answer for: 64, or 8,64")
    parser.add_argument("--target", metavar="X", type=number, help="a speed-up to reach: how many workers, or how much less serial work")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    given = [name for name in ("serial", "speedups", "times") if getattr(args, name) is not None]
    if len(given) != 1:
        raise BadValue(f"`ironlaw scale` needs {'one' if not given else 'only one'} of {ONE}")
    if args.crosstalk and given != ["serial"]:
        raise BadValue("--crosstalk goes with --serial; from several points it is fitted, so leave it out")
    result = answer(args)
    draw.emit(result, "ironlaw-scale/1") if args.json else scaling.report(result)
    return 0


def answer(args: argparse.Namespace) -> dict[str, Any]:
    """The figures; null where there is none: no peak without crosstalk, no interval from too few points."""
    points = args.speedups or args.times or ()
    above_one = {workers for workers, _ in points if workers > 1}
    if points and not above_one:
        raise BadValue("one worker tells nothing about the serial share; add a point such as 2:1.8")
    fit = fit_usl(points) if len(above_one) > 1 else None
    sigma, kappa = (fit.sigma, fit.kappa) if fit else (_alone(args, points), args.crosstalk)
    best = best_workers(sigma, kappa)
    result: dict[str, Any] = {
        "basis": "fit" if fit else "one point" if points else "given",
        "sigma": sigma, "kappa": kappa,
        "sigma_interval": fit and fit.sigma_interval, "kappa_interval": fit and fit.kappa_interval, "worst_misfit": fit and fit.worst,
        "ceiling": _finite(amdahl_ceiling(1.0 - sigma)), "best_workers": _finite(best),
        "best_speedup": None if best == float("inf") else usl(best, sigma, kappa),
        "points": [_point(workers, speedup, sigma, kappa) for workers, speedup in points],
        "workers": [_at(float(n), sigma, kappa, fit) for n in args.workers],
    }  # fmt: skip
    if args.target is not None:
        result["target"] = _target(args.target, max(args.workers), sigma, kappa)
    return result


def _alone(args: argparse.Namespace, points: tuple[tuple[float, float], ...]) -> float:
    """The share as given, or what the mean of the points at one number of workers stands for."""
    if not points:
        return float(args.serial)
    measured = [(n, speedup) for n, speedup in points if n > 1]
    n = measured[0][0]
    return float(min(1.0, max(0.0, karp_flatt(sum(speedup for _, speedup in measured) / len(measured), n))))


def _point(workers: float, speedup: float, sigma: float, kappa: float) -> dict[str, Any]:
    return {
        "workers": int(workers), "speedup": speedup, "model": usl(workers, sigma, kappa),
        "karp_flatt": karp_flatt(speedup, workers) if workers > 1 else None,
    }  # fmt: skip


def _at(n: float, sigma: float, kappa: float, fit: UslFit | None) -> dict[str, Any]:
    speedup = usl(n, sigma, kappa)
    beyond = bool(fit and n > max(workers for workers, _ in fit.points))
    return {
        "workers": int(n), "speedup": speedup, "efficiency": speedup / n, "extrapolated": beyond,
        "serial_share_of_this_run": scaled_share(sigma, n) if not kappa else None,
    }  # fmt: skip


def _target(target: float, n: int, sigma: float, kappa: float) -> dict[str, Any]:
    """What it takes: workers where the law reaches it, else how often the serial share has to be halved for the most workers asked for."""
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
