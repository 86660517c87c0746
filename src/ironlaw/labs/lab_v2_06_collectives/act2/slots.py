"""Act II's words: truth, distance and slots, for the prediction's own case."""

from __future__ import annotations

from dataclasses import replace

from ironlaw import kit
from ironlaw.engine.cluster.collectives import time
from ironlaw.labs.lab_v2_06_collectives.act2.buckets import BUCKET, Case, best_bucket, premise
from ironlaw.labs.lab_v2_06_collectives.act2.instrument import shares
from ironlaw.registry.workloads import about


def _about(case: Case) -> dict[str, object]:
    return {
        "model": about(case.model)["name"], "devices": case.devices, "bucket": kit.amount(BUCKET, "B"),
        "alpha": kit.amount(case.alpha, "s"),
        "beta": kit.amount(case.beta, "B/s"),
    }  # fmt: skip


def message() -> dict[str, object]:
    about_it = _about(premise())
    return {name: about_it[name] for name in ("model", "devices", "bucket")}


def lock() -> dict[str, object]:
    return _about(premise())


def sealed(lab: kit.Lab) -> kit.Estimate:
    return kit.Estimate(lab.fill("act2.estimate"), "%", 0, 100, 1)


def truth(lab: kit.Lab) -> str:
    return kit.amount(float(lab.question("act2").answer), "%")


def distance(lab: kit.Lab) -> str:
    option = lab.choice("act2")
    return kit.points(float(option.value), float(lab.question("act2").answer)) if option else ""


def reveal(lab: kit.Lab) -> dict[str, object]:
    case = premise()
    step, estimate = case.step, lab.sealed("act2", "estimate")
    terms = step.wires.terms("ring", case.data, BUCKET)
    free = time("all_reduce", "double_tree", case.data, BUCKET, case.alpha, case.beta)
    return {
        "share": truth(lab), "steps": f"{2 * (case.data - 1):,}", "alpha": kit.amount(case.alpha, "s"),
        "latency": kit.amount(float(terms.latency), "s"),
        "bytes": kit.amount(float(terms.bandwidth), "s"), "bucket": kit.amount(BUCKET, "B"), "count": step.queue.count,
        "sum": kit.amount(step.queue.seconds, "s"), "backward": kit.amount(step.queue.backward, "s"),
        "tree": kit.amount(shares()["double tree"], "%"), "estimate": f" (you said {estimate:g}%)" if estimate is not None else "",
        "free": kit.amount(100 * float(free.latency / free.total), "%", 2),
    }  # fmt: skip


def reflection() -> dict[str, object]:
    case = premise(algorithm="two_level")
    small, best, large = (replace(case, bucket=size).step.queue.exposed for size in (1e6, best_bucket(case), 1e9))
    return {
        "small": kit.amount(1e6, "B"), "large": kit.amount(1e9, "B"), "best": kit.amount(best_bucket(case), "B", 2),
        "small_s": kit.amount(small, "s"),
        "best_s": kit.amount(best, "s"), "large_s": kit.amount(large, "s"),
    }  # fmt: skip


def peek() -> dict[str, object]:
    case = premise(algorithm="two_level")
    queue = case.step.queue
    return {
        "gradients": kit.amount(queue.gradients, "B"), "bucket": kit.amount(queue.full, "B"), "count": queue.count,
        "each": kit.amount(queue.each, "s"),
        "backward": kit.amount(queue.backward, "s"), "apart": kit.amount(queue.backward / (queue.gradients / queue.full), "s"),
        "exposed": kit.amount(queue.exposed, "s"),
    }  # fmt: skip


def takeaways() -> dict[str, object]:
    return {"share": kit.amount(shares()["ring"], "%", 2), "tree": kit.amount(shares()["double tree"], "%", 2)}
