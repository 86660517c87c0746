"""How long requests wait and how busy the servers are, one request at a time or in batches."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ironlaw.engine.device.machine import Hardware, Plan
from ironlaw.engine.serving.batching import POLICIES, batch_server, full_times
from ironlaw.engine.serving.queues import md1, mg1_mean, mm1, mmc
from ironlaw.engine.serving.targets import highest_rate
from ironlaw.errors import BadValue
from ironlaw.systems.fields import among, custom, figure, several, whole
from ironlaw.systems.question import Question, Table
from ironlaw.systems.registry_names import machines, read_mode
from ironlaw.systems.value_readers import LARGEST, read_figure, read_numbered
from ironlaw.units import parse, show, significant

if TYPE_CHECKING:
    from ironlaw.outputs.serving_output import QueueRate

SPREADS = {"fixed": 0.0, "exponential": 1.0}
ONE = '`service="5 ms"`, `times="1:3.5 ms,64:3.6 ms"` or `workload=resnet50` `on=h200_sxm`'
REQUESTS = 60_000  # simulated at each rate, where no formula gives the answer
Answer = dict[str, Any]


def read_rate(value: Any) -> float:
    return read_figure(value, most=LARGEST)


def read_spread(value: Any) -> float:
    """`fixed`, `exponential`, or the variance over the mean squared."""
    if value in SPREADS:
        return SPREADS[value]
    try:
        number = float(value)
    except ValueError:
        raise BadValue(f"{value!r} is not a spread; write fixed, exponential, or variance over mean squared, such as 0.5") from None
    if not 0.0 <= number <= 1e6:
        raise BadValue(f"{value!r} is out of range; give variance over mean squared, at least 0")
    return number


def read_times(value: str | Mapping[int, Any]) -> dict[int, float]:
    """`1:3.5 ms,64:3.6 ms`, or a mapping -> batch size to seconds."""
    sizes: dict[int, float] = {}
    for entry, batch, time in read_numbered(value, "a batch and its time; write them as 64:3.6 ms"):
        if batch in sizes:
            raise BadValue(f"two times for a batch of {batch} in {value!r}; leave one of them out")
        sizes[batch] = parse(time, "s")
        if not 0 < sizes[batch] < 1e9:
            raise BadValue(f"{entry!r} is out of range; give a time above 0")
    if 1 not in sizes:
        raise BadValue(f"no time for a batch of 1 in {value!r}; add it, such as '1:3.5 ms'")
    return sizes


@dataclass(frozen=True, repr=False)
class Queue(Question):
    """Requests that wait for servers.

    >>> import ironlaw as il
    >>> q = il.queue(rate=160, service="5 ms")
    >>> round(q.p99_s, 4), q.capacity
    (0.0568, 200.0)
    """

    schema = "ironlaw-queue/1"
    rate: tuple[float, ...] = several(read_rate, again=True, metavar="N", about="requests per second; repeat it for several rates")
    service: float | None = figure(None, unit="s", metavar="TIME", about="time to serve one request alone, such as '5 ms'")
    spread: float | None = custom(
        read_spread, None, metavar="S", about="spread of the service time: fixed (default), exponential, or variance over mean squared"
    )
    servers: int = whole(1, metavar="N", about="servers that share one queue (default 1)")
    times: Mapping[int, float] | None = custom(
        read_times, None, metavar="SIZES", about="time per batch size, such as '1:3.5 ms,64:3.6 ms'; straight lines between"
    )
    workload: str | None = custom(
        str, None, metavar="NAME", about="instead of times: a model of the registry, whose batch times are predicted"
    )
    on: tuple[Hardware, ...] | None = machines(None, "with `workload`: machines, side by side where there are several")
    mode: tuple[str, ...] = several(read_mode, ("eager",), metavar="MODE[,MODE]", about="with `workload`: how it runs (default eager)")
    batch: int = whole(1, metavar="N", about="most requests that a server takes at once (default 1)")
    policy: str = among(
        POLICIES[1:],
        "waiting",
        about="what a free server picks up: a full batch, everyone waiting (default), or a full batch until a timeout",
    )
    timeout: float | None = figure(
        None, unit="s", zero=True, metavar="TIME", about="with `policy=timeout`: how long it waits for a full batch"
    )
    target: float | None = figure(None, unit="s", metavar="TIME", about="limit on P99, to find the highest rate that meets it")

    @cached_property
    def answer(self) -> Answer:
        """The figures at each rate; null if the queue grows without end, or if no formula gives them."""
        named = [{"hardware": machine.slug, "mode": mode} | one for machine, mode, one in self.variants if machine]
        return self.variants[0][-1] | {"variants": named if len(named) > 1 else []}

    @cached_property
    def variants(self) -> list[tuple[Hardware | None, str, Answer]]:
        """The answer on each machine in each mode."""
        return [(machine, mode, _answer(self, machine, mode)) for machine in self.on or (None,) for mode in self.mode]

    @property
    def capacity(self) -> float:
        """Requests per second that the servers can handle."""
        return float(self.answer["capacity"])

    @property
    def mean_s(self) -> float | None:
        """Time of a request at the first rate, waiting included; None if the queue grows without end."""
        mean: float | None = self.answer["rates"][0]["mean_s"]
        return mean

    @property
    def p99_s(self) -> float | None:
        p99: float | None = self.answer["rates"][0]["p99_s"]
        return p99

    def table(self) -> Table:
        def time(value: float | None) -> str:
            return "–" if value is None else show(value, "s")

        rows = [(significant(r["rate"]), f"{r['load']:.0%}", time(r["mean_s"]), time(r["p99_s"])) for r in self.answer["rates"]]
        return Table(f"capacity {significant(self.capacity)} requests/s", ("requests/s", "load", "mean", "P99"), rows)


def _answer(asked: Queue, machine: Hardware | None, mode: str) -> Answer:
    given = [name for name in ("service", "times", "workload") if getattr(asked, name) is not None]
    if len(given) != 1:
        raise BadValue(f"`ironlaw queue` needs {'only ' if given else ''}one of {ONE}")
    _check(asked, given[0])
    at, capacity, method = _alone(asked) if given == ["service"] else _batched(asked, machine, mode)
    result: Answer = {
        "servers": asked.servers, "batch": asked.batch, "policy": None if asked.batch == 1 else asked.policy, "capacity": capacity,
        "method": method, "rates": [at(rate) for rate in asked.rate],
    }  # fmt: skip
    if asked.target is not None:
        result["target"] = {"p99_s": asked.target, "rate": _highest(at, asked.target, capacity, result["rates"])}
    return result


def _highest(at: Callable[[float], QueueRate], target: float, capacity: float, rates: list[QueueRate]) -> float:
    if any(row["p99_s"] is None and row["load"] < 1 for row in rates):
        raise BadValue("P99 can't be computed for this spread; use `spread=fixed` or `spread=exponential` with `target`")
    rate = highest_rate(lambda r: at(r)["p99_s"] or math.inf, target, capacity, 9)
    return float(f"{rate:.3g}") if rate else 0.0


def _check(asked: Queue, given: str) -> None:
    if given == "service" and asked.batch > 1:
        raise BadValue("`service` is the time of one request and doesn't say how long a batch takes; give `times='1:5 ms,64:9 ms'` instead")
    if given != "service" and asked.spread is not None:
        raise BadValue("`spread` goes with `service`; a batch takes its time exactly, so leave it out")
    if (given == "workload") != (asked.on is not None):
        raise BadValue("`workload` and `on` go together: write `workload=resnet50` `on=h200_sxm`")
    if (asked.policy == "timeout") != (asked.timeout is not None):
        raise BadValue("`policy=timeout` and `timeout` go together; write `policy=timeout` `timeout='5 ms'`")


def _alone(asked: Queue) -> tuple[Callable[[float], QueueRate], float, str]:
    """One by one, by a formula where there is one."""
    service, servers, cv2 = asked.service or 0.0, asked.servers, asked.spread or 0.0
    capacity = servers / service
    if cv2 == 1.0:
        return (lambda rate: _row(rate, capacity, mmc(rate, service, servers) if servers > 1 else mm1(rate, service))), capacity, "exact"
    if servers > 1 and cv2:
        raise BadValue("several servers can't be computed with this spread; use `spread=fixed` or `spread=exponential`")
    if servers > 1:
        return (lambda rate: _simulated(rate, {1: service}, asked)), capacity, "simulated"
    if cv2:
        return (lambda rate: _figures(rate, capacity, mg1_mean(rate, service, cv2), None)), capacity, "exact mean"
    return (lambda rate: _row(rate, capacity, md1(rate, service))), capacity, "exact"


def _batched(asked: Queue, machine: Hardware | None, mode: str) -> tuple[Callable[[float], QueueRate], float, str]:
    sizes: Mapping[int, float] = asked.times or _predicted(asked, machine, mode)
    if max(sizes) < asked.batch:
        raise BadValue(f"no time for a batch of {asked.batch}; add it to `times`, such as '{asked.batch}:9 ms'")
    if asked.batch == 1:
        return _alone(replace(asked, service=sizes[1], spread=0.0))
    full = full_times(sizes, asked.batch)[asked.batch]
    return (lambda rate: _simulated(rate, sizes, asked)), asked.servers * asked.batch / full, "simulated"


def _predicted(asked: Queue, machine: Any, mode: str) -> dict[int, float]:
    """Batch sizes that double, each predicted."""
    from ironlaw.engine.device.predict import predict
    from ironlaw.systems.launched_workloads import workload

    sizes = sorted({1, asked.batch, *(2**k for k in range(asked.batch.bit_length()))})
    return {b: float(predict(workload(asked.workload or "", batch=b), machine, Plan(mode)).seconds) for b in sizes}


def _simulated(rate: float, sizes: Mapping[int, float], asked: Queue) -> QueueRate:
    served = batch_server(
        rate, sizes, asked.batch, policy=asked.policy if asked.batch > 1 else "one", timeout=asked.timeout or 0.0, replicas=asked.servers,
        n=max(REQUESTS, 40 * asked.batch),
    )  # fmt: skip
    row = _figures(rate, served.capacity, served.mean, served.quantile(0.99))
    return {**row, "busy": served.busy, "batch": served.batch if served.stable else float(asked.batch)}


def _row(rate: float, capacity: float, wait: Any) -> QueueRate:
    return _figures(rate, capacity, wait.mean, wait.quantile(0.99))


def _figures(rate: float, capacity: float, mean: float, p99: float | None) -> QueueRate:
    stable = math.isfinite(mean)
    return {
        "rate": rate, "load": rate / capacity, "busy": min(1.0, rate / capacity), "batch": 1.0,
        "mean_s": mean if stable else None, "p99_s": p99 if stable else None,
        "in_flight": rate * mean if stable else None, "growth_per_s": max(0.0, rate - capacity),
    }  # fmt: skip
