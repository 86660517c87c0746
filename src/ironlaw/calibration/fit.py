"""Samples -> curves, with the standard library: Nelder–Mead over the logarithms of the constants.

The loss is a softened mean of |log(predicted / measured)|, so that a launch of 3 µs and a kernel of 3 ms weigh the same
and an odd kernel choice of the library does not bend the curve.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from statistics import median
from typing import Any

from ironlaw.backends import Backend, require
from ironlaw.backends.kernel import Kernel, Sample
from ironlaw.backends.rows import Row
from ironlaw.backends.signatures import STREAMS
from ironlaw.calibration.curve import Curve
from ironlaw.calibration.curve_prior import SCATTER, Prior, away, prior, tail
from ironlaw.calibration.learn import Residual, families
from ironlaw.calibration.machine_calibration import Calibration
from ironlaw.calibration.scatter import four_in_five, stand_in_sd
from ironlaw.engine.device.machine import LASTING, Hardware, Plan

EAGER = Plan()
SOFT = 0.1  # relative error at which a sample stops pulling harder
ENOUGH, PAIR = 3, 2  # samples for a curve of its own; and where rows are few
SPARSE = 12  # samples up to which a curve is drawn to what is known of its constants beforehand (`calibration.curve_prior`)
SEEN = 1.25  # times the best rate that was seen: where a fitted one ends


@dataclass(frozen=True, slots=True)
class Ceiling:
    """Bytes/s that no kernel exceeds: from main memory, and from the cache before it."""

    main: float
    cache: float


UNBOUNDED = Ceiling(math.inf, math.inf)


def calibrate(
    rows: Sequence[Row], described: Mapping[str, Any], hardware: Hardware, sources: tuple[str, ...], few: bool = False
) -> Calibration:
    """All that op and launch rows say about a machine. `described`: as evidence describes it; `hardware`: its figures. `few`: curves of
    few samples are drawn to those of kernels that work alike."""
    backend = require(hardware.backend)
    cache_bytes = backend.cache_bytes(described)
    launch_rows = [row for row in rows if row.kind == "launch"]
    gaps = [row.graph_s - row.busy_s for row in launch_rows if row.graph_s and row.busy_s]
    measured = list(backend.samples(rows, hardware))
    if few:
        measured += list(plainly(rows, backend, hardware, {sample.kernel.curve for sample in measured}))
    alone = [row for row in rows if row.op != "captured"]  # within a model the clock is another
    curves = fit(measured, cache_bytes, ceiling(hardware), backend.fallback if few else None)
    gap = max(median(gaps), 0.0) if gaps else 0.0
    fitted = Calibration(
        curves=curves, host=backend.host(launch_rows, str(described.get("host", ""))), cache_bytes=cache_bytes, graph_gap=gap,
        slower=slowdown(list(backend.samples(alone, hardware)), curves, cache_bytes), sources=sources, backend=backend.name,
        stand_in=round(stand_in_sd(measured, curves, backend.fallback, cache_bytes), 4),
    )  # fmt: skip
    return replace(fitted, families=families(residuals(rows, fitted, hardware)))


def plainly(rows: Iterable[Row], backend: Backend, hardware: Hardware, known: Collection[str]) -> Iterator[Sample]:
    """What rows of one kernel say of a kind that has no other sample."""
    for row in rows:
        op = backend.measured(row) if row.kind == "op" and row.busy_s and not row.error else None
        kernels = backend.lower(op, hardware, "eager") if op else ()
        if len(kernels) == 1 and kernels[0].curve not in known and row.busy_s:
            yield Sample(replace(kernels[0], count=1.0), row.busy_s / float(kernels[0].count))


def residuals(rows: Iterable[Row], fitted: Calibration, hardware: Hardware) -> Iterator[Residual]:
    """What curves and rules leave unexplained, row by row."""
    for row in rows:
        op = fitted.library.measured(row)
        signature = fitted.library.signature(op, "eager") if op else None
        if op and signature and row.busy_s:
            cost = fitted.fitted_cost(op, hardware, EAGER)
            yield Residual(signature, math.log(row.busy_s / cost.device), row.kernels - cost.kernels if row.kernels else 0.0)


def slowdown(measured: Sequence[Sample], curves: Mapping[str, Curve], cache_bytes: float) -> float:
    """How far matrix products of over two milliseconds, run back to back, fall behind their curve: the power limit."""
    late = [
        s.seconds / curves[s.kernel.curve].terms(s.kernel, cache_bytes)[2]
        for s in measured
        if s.kernel.curve == "gemm" and s.seconds > 2e-3 and "gemm" in curves
    ]
    return round(max(1.0, median(late)), 4) if late else 1.0


def ceiling(hardware: Hardware) -> Ceiling:
    """What the machine's memories can do."""
    caches = [float(level.bandwidth) for level in hardware.levels if level.name in LASTING]
    return Ceiling(float(hardware.bandwidth), caches[-1] if caches else float("inf"))


def fit(
    samples: Iterable[Sample], cache_bytes: float, most: Ceiling = UNBOUNDED, like: Mapping[str, str] | None = None
) -> dict[str, Curve]:
    """One curve for each kind of kernel that was measured, and "elementwise" over the plain streams together. `like`: whose work is most
    alike, where curves of few samples are drawn to others."""
    groups: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        if sample.seconds > 0:
            groups[sample.kernel.curve].append(sample)
    groups["elementwise"] = [s for name in STREAMS for s in groups.get(name, ())]
    if like is None:
        return {name: fit_curve(group, cache_bytes, most) for name, group in sorted(groups.items()) if len(group) >= ENOUGH}
    curves: dict[str, Curve] = {}
    for name, group in sorted(groups.items(), key=lambda one: (-len(one[1]), one[0])):  # those of many samples first
        known = prior(name, most.main, like, curves) if len(group) < SPARSE else None
        if len(group) >= (1 if known and known.alike else PAIR):
            curves[name] = fit_curve(group, cache_bytes, most, known)
    return curves


def fit_curve(group: Sequence[Sample], cache_bytes: float, most: Ceiling = UNBOUNDED, known: Prior | None = None) -> Curve:
    """The best of the three ways in which terms may overlap."""
    ways = (known.alike.p,) if known and known.alike else (1, 2, 4)
    return min((_fit_one(group, cache_bytes, p, most, known) for p in ways), key=lambda pair: pair[0])[1]


def _fit_one(group: Sequence[Sample], cache_bytes: float, p: int, most: Ceiling, known: Prior | None) -> tuple[float, Curve]:
    shortest = min(s.seconds for s in group)
    kernels = [s.kernel for s in group]
    deep = any(k.depth > 0 for k in kernels)
    names = ["floor"]
    start = [0.8 * shortest]
    # a term that is never the bottleneck must not run off: no rate far beyond the best that was seen, no memory beyond its own
    tops = {"gain": 3.0}
    if any(k.data > 0 for k in kernels):
        best = max(s.kernel.data / s.seconds for s in group)
        # a product's inner loop hides where its data lie; a block that walks a row of many does not
        spread = max(k.data for k in kernels) > cache_bytes and (not deep or any(k.rows > 0 for k in kernels))
        names += ["main", "gain"] if spread else ["main"]
        top = max(most.main if spread else most.cache, SEEN * best)  # kernels that read a byte twice count it twice
        start += [min(best, 0.9 * top), 0.1] if spread else [min(2 * best, 0.9 * top)]
        tops["main"] = min(3.0 * start[1], top)
    if any(k.flops > 0 for k in kernels) and (deep or group[0].kernel.curve.startswith("attention") or group[0].kernel.curve == "fused"):
        names += ["rate"]
        best = max(s.kernel.flops / s.seconds for s in group)
        start += [1.2 * best]
        tops["rate"] = SEEN * best
        if deep:
            names += ["knee"]
            start += [50.0]
    if deep:
        names += ["step"]
        start += [0.3 * min(s.seconds / s.kernel.depth for s in group)]
    if any(k.rows > 0 for k in kernels):
        names += ["row"]
        start += [0.3 * min(s.seconds / s.kernel.rows for s in group if s.kernel.rows > 0)]

    def curve(logs: Sequence[float]) -> Curve:
        values: dict[str, Any] = dict(zip(names, (math.exp(v) for v in logs), strict=True))
        if "main" in values:
            values["cache"] = values["main"] * (1.0 + values.pop("gain", 0.0))  # a cache is no slower than what it caches
        return Curve(**values, p=p)

    limits = [math.log(tops[name]) if name in tops else 60.0 for name in names]

    misfit = _unlikely(group, cache_bytes) if known else _misfit(group, cache_bytes)
    drawn = known.constants(names, start) if known else []
    limits = [max(limit, to + math.log(SEEN)) for limit, (to, _) in zip(limits, drawn, strict=True)] if drawn else limits

    def loss(logs: Sequence[float]) -> float:
        if min(logs) < -60 or any(v > limit for v, limit in zip(logs, limits, strict=True)):
            return 1e9
        return misfit(curve(logs)) + (away(logs, drawn, known.near) if known else 0.0)

    best, value = nelder_mead(loss, [to for to, _ in drawn] or [math.log(v) for v in start])
    c = curve(best)
    error = sum(abs(c.terms(s.kernel, cache_bytes)[2] / s.seconds - 1) for s in group) / len(group)
    values: dict[str, Any] = {
        name: float(f"{getattr(c, name):.4g}") for name in ({*names, "cache"} - {"gain"}) if math.isfinite(getattr(c, name))
    }
    moved = [float(k.data) for k in kernels]
    off = [math.log(c.terms(s.kernel, cache_bytes)[2] / s.seconds) for s in group]
    free = math.sqrt(len(group) / max(len(group) - len(names), 1))  # constants that follow few samples leave little of their scatter
    reach = {
        "smallest": min(moved),
        "largest": max(moved),
        "sd": round(math.hypot(four_in_five(off), known.unsure(len(group))) if known else free * four_in_five(off), 4),
        "deepest": max(float(k.depth) for k in kernels),
    }
    return value, Curve(**values, p=p, error=round(error, 4), samples=len(group), **reach)


def _unlikely(group: Sequence[Sample], cache_bytes: float) -> Callable[[Curve], float]:
    """Minus the log-likelihood of a few samples."""

    def loss(c: Curve) -> float:
        return sum(tail((math.log(c.terms(s.kernel, cache_bytes)[2] / s.seconds) / SCATTER) ** 2) for s in group)

    return loss


def _misfit(group: Sequence[Sample], cache_bytes: float) -> Callable[[Curve], float]:
    """The softened mean of |log(predicted / measured)|: over all samples at once where NumPy is installed."""
    if find_spec("numpy") is None:

        def one_by_one(c: Curve) -> float:
            logs = (math.log(c.terms(s.kernel, cache_bytes)[2] / s.seconds) / SOFT for s in group)
            return float(sum((1 + e * e) ** 0.5 - 1 for e in logs)) / len(group)

        return one_by_one
    import numpy as np

    terms = {name: np.array([float(getattr(s.kernel, name)) for s in group]) for name in ("data", "flops", "rows", "depth")}
    together = Kernel(group[0].kernel.curve, **{name: values if values.any() else 0.0 for name, values in terms.items()})
    measured = np.array([s.seconds for s in group])

    def at_once(c: Curve) -> float:
        e = np.log(c.terms(together, cache_bytes)[2] / measured) / SOFT
        return float((np.sqrt(1.0 + e * e) - 1.0).mean())

    return at_once


def nelder_mead(
    loss: Callable[[Sequence[float]], float], start: list[float], size: float = 0.4, steps: int = 400
) -> tuple[list[float], float]:
    """The downhill simplex of Nelder and Mead (1965), restarted once from where it ended."""
    best = start
    for scale in (size, size / 4):
        simplex = [best] + [[v + (scale if i == j else 0.0) for j, v in enumerate(best)] for i in range(len(best))]
        scored = sorted((loss(point), point) for point in simplex)
        for _ in range(steps):
            if scored[-1][0] - scored[0][0] < 1e-7:
                break
            worst = scored[-1][1]
            centre = [sum(point[j] for _, point in scored[:-1]) / (len(scored) - 1) for j in range(len(best))]

            def along(t: float, centre: list[float] = centre, worst: list[float] = worst) -> tuple[float, list[float]]:
                point = [c + t * (c - w) for c, w in zip(centre, worst, strict=True)]
                return loss(point), point

            reflected = along(1.0)
            if reflected[0] < scored[0][0]:
                scored[-1] = min(reflected, along(2.0))
            elif reflected[0] < scored[-2][0]:
                scored[-1] = reflected
            else:
                contracted = along(0.5 if reflected[0] < scored[-1][0] else -0.5)
                if contracted[0] < min(reflected[0], scored[-1][0]):
                    scored[-1] = contracted
                else:
                    low = scored[0][1]
                    nearer = [[(a + b) / 2 for a, b in zip(point, low, strict=True)] for _, point in scored[1:]]
                    scored = [scored[0], *((loss(point), point) for point in nearer)]
            scored.sort()
        best = scored[0][1]
    return best, scored[0][0]
