"""Act I's words: truth, distance and slots, for the prediction's own case."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.engine.cluster.loads import flow
from ironlaw.engine.cluster.topology import bisection, fat_tree, torus
from ironlaw.labs.lab_v2_03_fabric.act1.setting import Setting
from ironlaw.registry.interconnects import interconnect
from ironlaw.registry.publications import published
from ironlaw.units import show

THIN, FULL = Setting(), Setting(thin=1.0)
RADIX = 64
POD, CLUSTER = "TPU v4 pod", "Llama 3's cluster"


def _about() -> dict[str, object]:
    return {
        "hosts": f"{THIN.hosts:,}", "per_leaf": THIN.per_leaf, "thin": f"{THIN.thin:g}:1", "size": kit.amount(THIN.size, "B"),
        "port": kit.amount(THIN.fabric.rate, "B/s"),
    }  # fmt: skip


def message() -> dict[str, object]:
    return {"thin": f"{THIN.thin:g}:1", "hosts": f"{THIN.hosts:,}"}


def lock() -> dict[str, object]:
    return _about()


def truth(lab: kit.Lab) -> str:
    return kit.times(float(lab.question("act1").answer))


def distance(lab: kit.Lab) -> str:
    option = lab.choice("act1")
    return kit.off(kit.Distance(float(option.value), float(lab.question("act1").answer))) if option else ""


def published_pod() -> str:
    """What a torus sums up, beside what crosses its middle, as its owner prints it."""
    row = published("fabrics").row(fabric=POD)
    return f"{show(float(row['all_reduce']), 'B/s')} of all-reduce, {show(float(row['across']), 'B/s')} across the middle: TPU v4"


def reveal(lab: kit.Lab) -> dict[str, object]:
    leaf = THIN.fabric.tiers[0]
    seconds = {name: kit.amount(each.seconds, "s") for name, each in (("thin_s", THIN), ("full_s", FULL))}
    return {
        **seconds, "thin": f"{THIN.thin:g}:1", "per_leaf": THIN.per_leaf, "port": kit.amount(THIN.fabric.rate, "B/s"),
        "factor": truth(lab), "bytes": kit.amount(float(THIN.loads.host), "B"),
        "uplink": kit.amount(leaf.uplink, "B/s"),
        "on_uplink": kit.amount(THIN.tier_seconds["leaf"][0], "s"), "share": kit.amount(100 * THIN.uplink_loads()[0][0], "%"),
        "exchange": kit.times(THIN.at(kind="all_to_all").factor), "scattered": kit.times(THIN.at(scattered=1.0).factor),
        "two_level": kit.times(THIN.at(kind="two_level").factor), "thinner": kit.times(THIN.at(kind="two_level", thin=32.0).factor),
    }  # fmt: skip


def reflection() -> dict[str, object]:
    lost = THIN.at(thin=THIN.thin / (1 - 0.3 / 2))
    return {
        "long": kit.amount(100 * THIN.size, "B"), "long_factor": kit.times(THIN.at(size=100 * THIN.size).factor),
        "scattered": kit.times(THIN.at(scattered=1.0).factor), "many": f"{16 * THIN.hosts:,}",
        "many_factor": kit.times(THIN.at(hosts=16 * THIN.hosts).factor), "lost_factor": kit.times(lost.factor),
        "lost_scattered": kit.times(lost.at(scattered=1.0).factor), "thin": f"{THIN.thin:g}:1",
    }  # fmt: skip


def peek() -> dict[str, object]:
    pod, cluster = published("fabrics").row(fabric=POD), published("fabrics").row(fabric=CLUSTER)
    wire = interconnect("ici_v4")
    middle, tree = bisection(torus(wire.per_direction, 16, 16, 16)), fat_tree(RADIX, 1.0)
    exchange = THIN.at(kind="all_to_all")
    return {
        "size": kit.amount(THIN.size, "B"), "full_cut": kit.amount(FULL.fabric.across, "B/s"),
        "least": kit.amount(THIN.size / FULL.fabric.across, "s"), "ring": kit.amount(FULL.seconds, "s"),
        "radix": RADIX, "tree_hosts": f"{tree.hosts:,}", "tree_switches": f"{tree.switches:,}", "tree_links": f"{round(tree.across):,}",
        "chips": f"{round(float(pod['hosts'])):,}", "link": kit.amount(wire.per_direction, "B/s"), "middle": kit.amount(middle, "B/s"),
        "printed": kit.amount(float(pod["across"]), "B/s"), "summed": kit.amount(float(pod["all_reduce"]), "B/s"),
        "times": kit.times(float(pod["all_reduce"]) / float(pod["across"])), "exchange": kit.times(exchange.factor),
        "whose": CLUSTER, "cluster": f"{round(float(cluster['hosts'])):,}", "per_pod": f"{round(float(cluster['per_pod'])):,}",
        "cluster_thin": f"{float(cluster['thin']):g}:1", "hosts": f"{THIN.hosts:,}", "per_leaf": THIN.per_leaf, "thin": f"{THIN.thin:g}",
        "torus_ring": kit.amount(float(flow("ring", torus(wire.per_direction, 16, 16, 16), THIN.size)), "s"),
    }  # fmt: skip
