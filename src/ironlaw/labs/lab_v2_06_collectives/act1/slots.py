"""Act I's words: truth, distance and slots, for the prediction's own case."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.engine.cluster.collectives import BEST, bus_factor, crossover, time
from ironlaw.labs.lab_v2_06_collectives.act1.figures import NEVER
from ironlaw.labs.lab_v2_06_collectives.wires_of_context import question
from ironlaw.registry.publications import published
from ironlaw.units import significant

KIND, SMALL = "all_reduce", 1e6  # a message that is mostly steps
FEW, MANY = 8, 512  # ranks of the reflection


def _asked() -> dict[str, object]:
    wires = question()
    return {"ranks": wires.ranks, "alpha": kit.amount(wires.alpha, "s"), "beta": kit.amount(wires.beta, "B/s")}


def message() -> dict[str, object]:
    return {"ranks": question().ranks}


def lock() -> dict[str, object]:
    return _asked()


def truth(lab: kit.Lab) -> str:
    return kit.amount(float(lab.question("act1").answer), "B")


def distance(lab: kit.Lab) -> str:
    option = lab.choice("act1")
    if option is None:
        return ""
    if float(option.value) >= NEVER:
        return "there is such a size"
    return kit.off(kit.Distance(float(option.value), float(lab.question("act1").answer)))


def reveal(lab: kit.Lab) -> dict[str, object]:
    w = question()
    n, alpha, beta = w.ranks, w.alpha, w.beta
    levels = round(float(time(KIND, "binomial", n, 0.0, 1.0, 1.0).total))
    at = {name: time(KIND, name, n, SMALL, alpha, beta) for name in ("ring", "binomial", "rabenseifner")}
    return {
        "crossing": truth(lab), "ring_steps": 2 * (n - 1), "tree_steps": levels,
        "ring_bytes": significant(float(bus_factor(KIND, n))), "tree_bytes": levels, "link": kit.amount(alpha * beta, "B"),
        "all_steps": kit.amount(alpha * beta * n, "B"), "small": kit.amount(SMALL, "B"),
        **{f"{name}_s": kit.amount(float(terms.total), "s") for name, terms in at.items()},
        "best_pieces": kit.amount(crossover("ring", "double_tree", n, alpha, beta, chunk=BEST), "B"),
        "free_pieces": kit.amount(crossover("ring", "double_tree", n, alpha, beta), "B"),
    }  # fmt: skip


def reflection() -> dict[str, object]:
    return {
        "few": FEW, "many": MANY, "bytes_few": significant(float(bus_factor(KIND, FEW))),
        "bytes_many": significant(float(bus_factor(KIND, MANY)), 4),
        "steps_few": 2 * (FEW - 1), "steps_many": f"{2 * (MANY - 1):,}", "growth": kit.times((MANY - 1) / (FEW - 1), 2),
    }  # fmt: skip


def peek(lab: kit.Lab) -> dict[str, object]:
    w = question()
    n, alpha, beta = w.ranks, w.alpha, w.beta
    ring, tree = (time(KIND, name, n, SMALL, alpha, beta) for name in ("ring", "binomial"))
    sharp = published("nvlink_sharp").where(device="H100")[0]
    levels = round(float(time(KIND, "binomial", n, 0.0, 1.0, 1.0).total)) // 2
    size = 64e6
    count = ((2 * levels - 1) * 2 * size / (alpha * beta)) ** 0.5
    return {
        **_asked(), "small": kit.amount(SMALL, "B"), "ring_latency": kit.amount(float(ring.latency), "s"),
        "ring_bandwidth": kit.amount(float(ring.bandwidth), "s"), "tree_latency": kit.amount(float(tree.latency), "s"),
        "tree_bandwidth": kit.amount(float(tree.bandwidth), "s"), "crossing": truth(lab), "levels": levels, "others": n - 1,
        "alg": kit.amount(float(sharp["switch_alg"]), "B/s"), "bus": kit.amount(float(sharp["switch_bus"]), "B/s"),
        "plain": kit.amount(float(sharp["ring_bus"]), "B/s"), "long": kit.amount(size, "B"), "count": f"{count:,.0f}",
        "piece": kit.amount(size / 2 / count, "B"),
    }  # fmt: skip
