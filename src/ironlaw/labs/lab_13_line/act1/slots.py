"""Act I's words: truth, distance and slots, for the prediction's own case."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.engine.serving.queues import little, md1
from ironlaw.labs.lab_13_line.act1.system import IN_FLIGHT, RATE
from ironlaw.units import significant

LOAD = 0.8  # of the reflection
EXAMPLES = {"tokens": (900.0, 0.04), "loader": (12.0, 0.5), "memory": (3.35e12, 600e-9)}  # rate, seconds


def message() -> dict[str, object]:
    return {"rate": f"{RATE:g} per second", "in_flight": IN_FLIGHT}


def lock() -> dict[str, object]:
    return {**message(), "rate": significant(RATE)}


def truth(lab: kit.Lab) -> str:
    return kit.amount(float(lab.question("act1").answer), "s")


def distance(lab: kit.Lab) -> str:
    option, answer = lab.choice("act1"), float(lab.question("act1").answer)
    if option is None:
        return ""
    if option.value == answer:
        return "right"
    if isinstance(option.value, str):
        return f"off, because the two counters give {kit.amount(answer, 's')}"
    return kit.off(kit.Distance(float(option.value), answer))


def reveal(lab: kit.Lab) -> dict[str, object]:
    minute = 60.0
    return {
        "in_flight": IN_FLIGHT, "rate": f"{RATE:g} per second", "area": kit.amount(IN_FLIGHT * minute, "s"),
        "finished": significant(RATE * minute), "each": truth(lab), "gap": kit.amount(1 / RATE, "s"),
    }  # fmt: skip


def reflection() -> dict[str, object]:
    """The slots in units of service times, by the exact laws of both orders."""
    mean, first, last = md1(LOAD, 1.0).mean, md1(LOAD, 1.0).quantile(0.99), md1(LOAD, 1.0, "lifo").quantile(0.99)
    return {
        "load": kit.amount(100 * LOAD, "%"), "mean": significant(mean), "first": significant(first), "last": significant(last),
        "apart": significant(last / first, 2),
    }  # fmt: skip


def peek(lab: kit.Lab) -> dict[str, object]:
    tokens, loader, memory = (little(rate=rate, seconds=seconds) for rate, seconds in EXAMPLES.values())
    return {
        "in_flight": IN_FLIGHT, "rate": f"{RATE:g} per second", "each": truth(lab),
        "token_rate": significant(EXAMPLES["tokens"][0]), "token_s": kit.amount(EXAMPLES["tokens"][1], "s"), "tokens": significant(tokens),
        "batches": significant(EXAMPLES["loader"][0]), "batch_s": kit.amount(EXAMPLES["loader"][1], "s"), "workers": significant(loader),
        "bandwidth": kit.amount(EXAMPLES["memory"][0], "B/s"), "latency": kit.amount(EXAMPLES["memory"][1], "s"),
        "bytes": kit.amount(memory, "B"),
    }  # fmt: skip
