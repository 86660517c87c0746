"""Which limit a server hits, and by how much."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.engine.serving.llm.promise import THRASHING
from ironlaw.engine.serving.llm.run_spread import share_between
from ironlaw.labs.lab_v2_10_kv_serving.act2.said import p99
from ironlaw.labs.lab_v2_10_kv_serving.act2.server import PROMISE
from ironlaw.systems.limits import fail, good, hit
from ironlaw.systems.serving.served_cases import ServedCase

OOM, THRASH, TTFT, TBT = "oom", "thrash", "ttft", "tbt"


def keeps(case: ServedCase) -> bool:
    return hit(LIMITS, case).tone == "good"


def _oom(case: ServedCase) -> dict[str, object]:
    stored, alive, room = case.weighed
    return {
        "weights": kit.amount(stored, "B"), "activations": kit.amount(alive, "B"),
        "devices": "1 device" if case.devices == 1 else f"{case.devices} devices", "usable": kit.amount(stored + alive + room, "B"),
        "longest": f"{max(r.prompt + r.output for r in case.requests):,}",
    }  # fmt: skip


def _thrash(case: ServedCase) -> dict[str, object]:
    out = case.outcome
    return {
        "preempted": f"{out.preempted:,}", "requests": f"{len(out.requests):,}",
        "share": kit.amount(100 * out.preempted / len(out.requests), "%"),
        "most": kit.amount(100 * THRASHING, "%"), "room": kit.amount(case.rig.cache_bytes * case.devices if case.rig else 0.0, "B"),
    }  # fmt: skip


def _unstable(case: ServedCase) -> dict[str, object]:
    end = case.requests[-1].arrive
    return {
        "half": case.backlog(end / 2), "end": case.backlog(end), "rate": kit.amount(case.per_second, "requests per second"),
        "after": kit.amount(max(case.outcome.first) - end, "s"),
    }  # fmt: skip


def _late(case: ServedCase) -> dict[str, object]:
    waits = case.outcome.waits
    late = sum(wait > PROMISE.ttft for wait in waits)
    return {
        "p99": p99(case.outcome, "first token"), "limit": kit.amount(PROMISE.ttft, "s"), "late": f"{late:,}",
        "requests": f"{len(waits):,}",
    }  # fmt: skip


def _stutter(case: ServedCase) -> dict[str, object]:
    gaps = case.outcome.gaps
    share = sum(n for seconds, n in gaps if seconds > PROMISE.tbt) / sum(n for _, n in gaps)
    low, high = share_between(gaps, PROMISE.tbt)
    return {
        "p99": p99(case.outcome, "between tokens"), "limit": kit.amount(PROMISE.tbt, "s"),
        "share": kit.simulated(100 * share, (100 * low, 100 * high), "%"),
        "median": kit.amount(case.outcome.tbt(0.5), "s", 2),
    }  # fmt: skip


def _kept(case: ServedCase) -> dict[str, object]:
    out = case.outcome
    used = {"the first token": out.ttft(PROMISE.share) / PROMISE.ttft, "the time between tokens": out.tbt(PROMISE.share) / PROMISE.tbt}
    nearest = max(used, key=lambda name: used[name])
    return {
        "ttft": p99(out, "first token"), "tbt": p99(out, "between tokens"),
        "cost": kit.amount(case.device_seconds, "s"), "binds": nearest, "near": kit.amount(100 * used[nearest], "%", 2),
    }  # fmt: skip


LIMITS = (
    fail(OOM, "The model doesn't fit", lambda case: case.rig is None, _oom),
    fail(THRASH, "The cache thrashes", lambda case: case.outcome.preempted > THRASHING * len(case.outcome.requests), _thrash),
    fail("unstable", "The queue keeps growing", lambda case: case.falls_behind, _unstable),
    fail(TTFT, "First tokens come too late", lambda case: case.outcome.ttft(PROMISE.share) > PROMISE.ttft, _late),
    fail(TBT, "Answers stutter", lambda case: case.outcome.tbt(PROMISE.share) > PROMISE.tbt, _stutter),
    good("kept", "The SLO is met", _kept),
)
