"""Which limit a design hits, and by how much."""

from __future__ import annotations

import math
from typing import Any

from ironlaw import kit
from ironlaw.kit import settings
from ironlaw.labs.lab_12_amdahl.act2.job import EFFICIENT, Job
from ironlaw.systems.limits import fail, good, warn
from ironlaw.units import counted


def money(value: float) -> kit.Markup:
    return kit.dress(f"{value:,.0f} USD")


def _reached(job: Job) -> dict[str, object]:
    return {"speedup": kit.times(job.speedup), "target": kit.times(job.target)}


def _out_of_reach(job: Job) -> dict[str, object]:
    most = kit.times(job.ceiling) if math.isfinite(job.ceiling) else "what the job allows"
    return {"most": most, "target": kit.times(job.target)}


def _backwards(job: Job) -> dict[str, object]:
    lost = 100 * (1 - job.speedup_on(job.workers + 1) / job.speedup)
    best = {"best": f"{job.best:,.0f}", "peak": kit.times(job.speedup_on(job.best))}
    return {"speedup": kit.times(job.speedup), "workers": counted(job.workers, "worker"), "lost": kit.amount(lost, "%", 2), **best}


def _too_few(job: Job) -> dict[str, object]:
    return _reached(job) | {"workers": counted(job.workers, "worker")}


def _not_worth(job: Job) -> dict[str, object]:
    worth = {"alone": money(job.alone), "worth": money(job.story.worth), "over": money(job.too_dear)}
    return _reached(job) | {"cost": money(job.cost), **worth}


def _paid(job: Job) -> dict[str, object]:
    return _reached(job) | {"cost": money(job.cost), "room": money(-job.too_dear)}


def _waiting(job: Job) -> dict[str, object]:
    return _paid(job) | {"waits": kit.amount(100 * (1 - job.efficiency), "%", 2)}


def _good(job: Job) -> dict[str, object]:
    return _paid(job) | {"efficiency": kit.amount(100 * job.efficiency, "%")}


LIMITS = (
    fail("out_of_reach", "Out of reach", lambda job: math.isinf(job.needed), _out_of_reach),
    fail("backwards", "Past the peak", lambda job: job.workers > job.best, _backwards),
    fail("too_few", "Too few workers", lambda job: job.workers < job.needed, _too_few),
    fail("not_worth", "Not worth it", lambda job: job.too_dear > 0, _not_worth),
    warn("waiting", "Paying for waiting", lambda job: job.efficiency < EFFICIENT, _waiting),
    good("good", "The promise is kept", _good),
)


def banner(lab: kit.Lab, job: Job) -> dict[str, Any]:
    return settings.verdict(lab, "act2", LIMITS, job)
