"""Where four measurements in five should fall: of the device's time, of the host's, and of both as launches meet kernels.

Device and host err apart. Each is moved alone to its ends, the run is simulated again (`dispatch.simulate`), and the two changes of the
wall time add up as independent errors do: a host that is far off changes nothing where the device is never idle.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from ironlaw.engine.arrays import Number, largest, ratio, total
from ironlaw.engine.device.cost import Cost
from ironlaw.engine.device.dispatch import Run, simulate
from ironlaw.engine.device.sweep import points
from ironlaw.engine.device.uncertainty import SURE, Doubt, Interval, Scatter, around, blend, combined_sds

SAME_KERNELS = {"graphs": "compiled", "eager_graphs": "eager"}  # replayed, but the same ones
# sd of the scale of a host that nobody measured. Two virtual machines of the same kind, on which the same 44 launches were timed
# (registry/evidence/h200_sxm/micro.json and machine.json), differ by a factor of e^0.59 in the median: 0.59 / √2 for one of them.
BETWEEN_HOSTS = 0.42
WIDE = "fp32"  # models in it lean on other curves than those in narrow formats, and came out otherwise
HOST = "host"  # the key under which a machine keeps how its launches scatter


class Row(Protocol):
    """An op of a prediction."""

    @property
    def cost(self) -> Cost: ...

    @property
    def interval(self) -> Interval | None: ...


class Judged(Protocol):
    """What measured models taught."""

    @property
    def common(self) -> float: ...

    @property
    def scatter(self) -> Mapping[str, Scatter]: ...


@dataclass(frozen=True, slots=True)
class Intervals:
    """Seconds from … to. An end of inf: an op of unknown time is among them."""

    device: Interval
    host: Interval
    wall: Interval
    sds: tuple[Number, Number]  # of the logarithm of the device time from its operators: if families share nothing, and if they share all


def intervals(
    rows: Sequence[Row], run: Run, model: Judged, kind: str, given: bool, other_host: bool = False, estimated: bool = False
) -> Intervals:
    """`given`: the user gave the launch time, so it is taken as exact. `other_host`: not the one that the models were run on,
    so that its launches scatter as theirs did, but to neither side. `estimated`: nobody measured it, or nobody said that it is theirs."""
    parts, unknown = parts_of(rows)
    sds = combined_sds(parts)
    sd = blend(*sds, model.common)
    off = judged(model.scatter, kind)
    known = total(seconds for seconds, doubt in parts if doubt.known)
    spread = around(points(known), off.widen(sd), off.bias)
    device = (spread[0] + total(low for low, _ in unknown), spread[1] + total(high for _, high in unknown))
    launching = host_s(run)
    launched = SURE if given else model.scatter.get(HOST, SURE)
    if other_host:
        launched = Scatter(0.0, launched.sd)
    if estimated and not given:
        launched = Scatter(launched.bias, math.hypot(launched.sd, BETWEEN_HOSTS))
    host = around(points(launching), launched.sd, launched.bias)
    walls = []
    for end in (0, 1):
        by_device = scaled(run, ratio(device[end], run.busy), 1.0)
        by_host = scaled(run, 1.0, ratio(host[end], launching)) if largest(launching) > 0 else run.wall
        walls.append(((by_device - run.wall) ** 2 + (by_host - run.wall) ** 2) ** 0.5)
    return Intervals(device, host, (run.wall - walls[0], run.wall + walls[1]), sds)


def judged(scatter: Mapping[str, Scatter], kind: str) -> Scatter:
    """How models of this kind came out; where none was measured, those that came out worst. Kinds end in the format where it matters."""
    mode, _, fmt = kind.partition(" ")
    same = SAME_KERNELS.get(mode, mode)
    own = next((scatter[key] for key in (kind, f"{same} {fmt}", mode, same) if key in scatter), None)
    return own or max((value for key, value in scatter.items() if key != HOST), key=lambda s: (s.scale, s.sd), default=SURE)


def parts_of(rows: Sequence[Row]) -> tuple[list[tuple[Number, Doubt]], list[Interval]]:
    """The seconds of each distinct op with its doubt, repeats added; and the intervals of those of unknown time."""
    counts: dict[int, tuple[Cost, int]] = {}
    unknown: list[Interval] = []
    for row in rows:
        cost = row.cost
        counts[id(cost)] = (cost, counts.get(id(cost), (cost, 0))[1] + 1)
        if cost.doubt is not None and not cost.doubt.known and row.interval is not None and largest(points(cost.device)) > 0:
            unknown.append(row.interval)
    return [(count * points(cost.device), cost.doubt) for cost, count in counts.values() if cost.doubt is not None], unknown


def host_s(run: Run) -> Number:
    """What the host spends on launches."""
    schedule = run.schedule
    return schedule.start if schedule.dispatch == "replayed" else total(schedule.launches)


def scaled(run: Run, device: Number, host: Number) -> Number:
    """The wall time with every kernel and every launch longer by a factor."""
    if isinstance(device, float) and math.isinf(device):
        return math.inf
    schedule = run.schedule
    if not isinstance(host, float) or host != 1.0:
        schedule = replace(schedule, launches=[host * launch for launch in schedule.launches], start=host * schedule.start)
    return simulate(schedule, [device * kernel for kernel in run.kernels]).wall
