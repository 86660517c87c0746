"""`ironlaw queue`: how long requests wait, one by one or in batches, and how loaded the servers are."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any

from ironlaw.cli.options import Parser, add_json, checked, figure, machines, modes, number, numbered, size
from ironlaw.cli.show import draw, queueing
from ironlaw.engine.serving.batching import POLICIES, batch_server, full_times
from ironlaw.engine.serving.queues import md1, mg1_mean, mm1, mmc
from ironlaw.engine.serving.targets import highest_rate
from ironlaw.errors import BadValue
from ironlaw.units import parse

EXAMPLE = """ironlaw queue --rate 160 --service "5 ms"
ironlaw queue --rate 144 --service "50 ms" --spread exponential --servers 8 --target "300 ms"
ironlaw queue --rate 1000 --rate 10000 --workload resnet50 --on h200_sxm --mode compiled --batch 64
ironlaw queue --rate 500 --times "1:0.5 ms,32:3.6 ms" --batch 32 --policy fixed"""
SPREADS = {"fixed": 0.0, "exponential": 1.0}
ONE = '--service "5 ms", --times "1:3.5 ms,64:3.6 ms" or --workload resnet50 --on h200_sxm'
REQUESTS = 60_000  # simulated at each rate, where no formula gives the answer
Answer = dict[str, Any]


@checked
def spread(text: str) -> float:
    """`fixed`, `exponential`, or the variance over the mean squared."""
    if text in SPREADS:
        return SPREADS[text]
    try:
        value = float(text)
    except ValueError:
        raise BadValue(f"{text!r} is not a spread; write fixed, exponential, or variance over mean squared, such as 0.5") from None
    if not 0.0 <= value <= 1e6:
        raise BadValue(f"{text!r} is out of range; give variance over mean squared, at least 0")
    return value


@checked
def times(text: str) -> dict[int, float]:
    """`1:3.5 ms,64:3.6 ms` -> batch size to seconds."""
    sizes: dict[int, float] = {}
    for entry, batch, value in numbered(text, "a batch and its time; write them as 64:3.6 ms"):
        if batch in sizes:
            raise BadValue(f"two times of a batch of {batch} in {text!r}; leave one of them out")
        sizes[batch] = parse(value, "s")
        if not 0 < sizes[batch] < 1e9:
            raise BadValue(f"{entry!r} is out of range; give a time above 0")
    if 1 not in sizes:
        raise BadValue(f"no time of a batch of 1 in {text!r}; add it, such as '1:3.5 ms'")
    return sizes


def add(parser: Parser) -> None:
    parser.usage = "ironlaw queue --rate N (--service TIME | --times SIZES | --workload NAME --on HW) [options]"
    parser.add_argument("--rate", metavar="N", type=number, action="append", required=True, help="requests per second; may be given again")
    parser.add_argument("--service", metavar="TIME", type=figure("s"), help="what a request takes alone: '5 ms'")
    parser.add_argument(
        "--spread", metavar="S", type=spread, help="of the service: fixed (default), exponential, or variance over mean squared"
    )
    parser.add_argument("--servers", metavar="N", type=size, default=1, help="servers that share one line (default 1)")
    parser.add_argument(
        "--times", metavar="SIZES", type=times, help="what a batch takes, batch:time, straight between: '1:3.5 ms,64:3.6 ms'"
    )
    parser.add_argument("--workload", metavar="NAME", help="instead: a model of the registry, whose batches are predicted")
    parser.add_argument("--on", metavar="HW[,HW]", type=machines, help="with --workload: machines, side by side where there are several")
    parser.add_argument(
        "--mode", metavar="MODE[,MODE]", type=modes, default=("eager",), help="with --workload: how it runs (default eager)"
    )
    parser.add_argument("--batch", metavar="N", type=size, default=1, help="the most that a server takes at once (default 1)")
    parser.add_argument("--policy", choices=POLICIES[1:], default="waiting", help="what a free server takes (default: what is waiting)")
    parser.add_argument("--timeout", metavar="TIME", type=figure("s", zero=True), help="with --policy timeout: how long it holds back")
    parser.add_argument("--target", metavar="TIME", type=figure("s"), help="a limit on P99: the highest rate that meets it")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    several = [(machine, mode) for machine in args.on or (None,) for mode in args.mode]
    answers = [answer(argparse.Namespace(**vars(args) | {"on": machine, "mode": mode})) for machine, mode in several]
    both = list(zip(several, answers, strict=True))
    if args.json:
        named = [{"hardware": machine.slug, "mode": mode} | result for (machine, mode), result in both if machine is not None]
        draw.emit(answers[0] | {"variants": named if len(named) > 1 else []}, "ironlaw-queue/1")
        return 0
    for (machine, mode), result in both:
        if machine is not None:
            draw.heading(args.workload, f"{machine.slug}, {mode}")
        queueing.report(result)
    return 0


def answer(args: argparse.Namespace) -> Answer:
    """The figures at each rate; null where the line grows without end, or where no formula gives them."""
    given = [name for name in ("service", "times", "workload") if getattr(args, name) is not None]
    if len(given) != 1:
        raise BadValue(f"`ironlaw queue` needs {'only ' if given else ''}one of {ONE}")
    _check(args, given[0])
    at, capacity, method = _alone(args) if given == ["service"] else _batched(args)
    result: Answer = {
        "servers": args.servers, "batch": args.batch, "policy": None if args.batch == 1 else args.policy, "capacity": capacity,
        "method": method, "rates": [at(rate) for rate in args.rate],
    }  # fmt: skip
    if args.target is not None:
        result["target"] = {"p99_s": args.target, "rate": _highest(at, args.target, capacity, result["rates"])}
    return result


def _highest(at: Callable[[float], Answer], target: float, capacity: float, rates: list[Answer]) -> float:
    if any(row["p99_s"] is None and row["load"] < 1 for row in rates):
        raise BadValue("no formula gives the P99 for this spread; use --spread fixed or --spread exponential with --target")
    rate = highest_rate(lambda r: at(r)["p99_s"] or math.inf, target, capacity, 9)
    return float(f"{rate:.3g}") if rate else 0.0


def _check(args: argparse.Namespace, given: str) -> None:
    if given == "service" and args.batch > 1:
        raise BadValue("--service is the time of one request, and says nothing of a batch; give --times '1:5 ms,64:9 ms' instead")
    if given != "service" and args.spread is not None:
        raise BadValue("--spread goes with --service; a batch takes its time exactly, so leave it out")
    if (given == "workload") != (args.on is not None):
        raise BadValue("--workload and --on go together: write --workload resnet50 --on h200_sxm")
    if (args.policy == "timeout") != (args.timeout is not None):
        raise BadValue("--policy timeout and --timeout go together; write --policy timeout --timeout '5 ms'")


def _alone(args: argparse.Namespace) -> tuple[Callable[[float], Answer], float, str]:
    """One by one, by a formula where there is one."""
    service, servers, cv2 = args.service, args.servers, args.spread or 0.0
    capacity = servers / service
    if cv2 == 1.0:
        return (lambda rate: _row(rate, capacity, mmc(rate, service, servers) if servers > 1 else mm1(rate, service))), capacity, "exact"
    if servers > 1 and cv2:
        raise BadValue("no formula for several servers with this spread; use --spread fixed or --spread exponential")
    if servers > 1:
        return (lambda rate: _simulated(rate, {1: service}, args)), capacity, "simulated"
    if cv2:
        return (lambda rate: _figures(rate, capacity, mg1_mean(rate, service, cv2), None)), capacity, "exact mean"
    return (lambda rate: _row(rate, capacity, md1(rate, service))), capacity, "exact"


def _batched(args: argparse.Namespace) -> tuple[Callable[[float], Answer], float, str]:
    sizes = args.times or _predicted(args)
    if max(sizes) < args.batch:
        raise BadValue(f"no time of a batch of {args.batch}; add it to --times, such as '{args.batch}:9 ms'")
    if args.batch == 1:
        args.service, args.spread = sizes[1], 0.0
        return _alone(args)
    full = full_times(sizes, args.batch)[args.batch]
    return (lambda rate: _simulated(rate, sizes, args)), args.servers * args.batch / full, "simulated"


def _predicted(args: argparse.Namespace) -> dict[int, float]:
    """Batch sizes that double, each predicted."""
    from ironlaw import Plan, predict, workload

    sizes = sorted({1, args.batch, *(2**k for k in range(args.batch.bit_length()))})
    plan = Plan(mode=args.mode)
    return {b: float(predict(workload(args.workload, batch=b), args.on, plan).seconds) for b in sizes}


def _simulated(rate: float, sizes: dict[int, float], args: argparse.Namespace) -> Answer:
    served = batch_server(
        rate, sizes, args.batch, policy=args.policy if args.batch > 1 else "one", timeout=args.timeout or 0.0, replicas=args.servers,
        n=max(REQUESTS, 40 * args.batch),
    )  # fmt: skip
    row = _figures(rate, served.capacity, served.mean, served.quantile(0.99))
    return row | {"busy": served.busy, "batch": served.batch if served.stable else float(args.batch)}


def _row(rate: float, capacity: float, wait: Any) -> Answer:
    return _figures(rate, capacity, wait.mean, wait.quantile(0.99))


def _figures(rate: float, capacity: float, mean: float, p99: float | None) -> Answer:
    stable = math.isfinite(mean)
    return {
        "rate": rate, "load": rate / capacity, "busy": min(1.0, rate / capacity), "batch": 1.0,
        "mean_s": mean if stable else None, "p99_s": p99 if stable else None,
        "in_flight": rate * mean if stable else None, "growth_per_s": max(0.0, rate - capacity),
    }  # fmt: skip
