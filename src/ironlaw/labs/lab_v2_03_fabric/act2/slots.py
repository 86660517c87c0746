"""Act II's words: truth, distance and slots, for the prediction's own case."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.labs.lab_v2_03_fabric.act2.cluster import NAMES, Case
from ironlaw.labs.lab_v2_03_fabric.act2.verdict import BUDGET, STEP_MOST
from ironlaw.registry.runs import about as run_file
from ironlaw.registry.workloads import about
from ironlaw.systems.training.fabric_jobs import DENSE, EXPERTS, HOSTS, NODES, PIPELINE, RUN, SEQ, SEQUENCES, STAGES
from ironlaw.systems.training.fabric_jobs import MODELS as SLUGS
from ironlaw.units import significant

THIN, FULL = Case(), Case(leaf_thin=1.0)


def _devices(name: str) -> str:
    return f"{8 * NODES[name]:,}"


def deep() -> str:
    """The pipeline's model, whose run also gives the devices' FLOP/s."""
    return str(run_file(RUN)["model"][SLUGS[PIPELINE]]["name"])


def message() -> dict[str, object]:
    return {
        "hosts": f"{HOSTS:,}", "dense": about(SLUGS[DENSE])["name"], "dense_devices": _devices(DENSE), "experts": THIN.experts,
        "experts_devices": _devices(EXPERTS), "pipeline_devices": _devices(PIPELINE), "stages": STAGES, "full": f"{FULL.tree.ports:,}",
        "budget": f"{BUDGET:,}",
    }  # fmt: skip


def lock() -> dict[str, object]:
    return {
        "thin": f"{THIN.leaf_thin:g}:1", "radix": THIN.radix, "top_k": THIN.top_k, "most": kit.amount(100 * (STEP_MOST - 1), "%"),
        "dense": about(SLUGS[DENSE])["name"], "experts": THIN.experts, "layers": about(SLUGS[EXPERTS])["name"], "stages": STAGES,
        "sequences": SEQUENCES, "seq": f"{SEQ:,}", "rate": THIN.gbits, "deep": deep(),
    }  # fmt: skip


def truth(lab: kit.Lab) -> str:
    answer = str(lab.question("act2").answer)
    return f"the {NAMES[answer]}" if answer in NAMES else "all three"


def distance(lab: kit.Lab) -> str:
    option, factors = lab.choice("act2"), THIN.factors
    if option is None:
        return ""
    named = str(option.value)
    least = factors[named] if named in factors else min(factors.values())
    job = f"the {NAMES[named]}" if named in factors else "the least affected job"
    words = f"a step of {job} takes {significant(least)}× as long as on a full spine"
    return f"right, because {words}" if lab.holds("act2") else f"off, because {words}"


def reveal(lab: kit.Lab) -> dict[str, object]:
    thin, full = THIN.waiting, FULL.waiting
    return {
        "truth": truth(lab),
        **{name: kit.times(factor) for name, factor in THIN.factors.items()},
        "exchange": kit.amount(thin[EXPERTS].communication, "s"), "port": kit.amount(full[EXPERTS].port, "s"),
        "step": kit.amount(full[EXPERTS].step, "s"), "slow": kit.amount(thin[EXPERTS].step, "s"),
        "sum": kit.amount(full[DENSE].port, "s"), "passed": kit.amount(full[PIPELINE].port, "s"),
        "sum_bytes": kit.amount(thin[DENSE].job.port_bytes, "B"), "exchange_bytes": kit.amount(thin[EXPERTS].job.port_bytes, "B"),
        "thin": f"{THIN.leaf_thin:g}:1", "load": kit.amount(100 * max(each.load for each in THIN.uplinks["leaf"]), "%"),
        "pass_bytes": kit.amount(thin[PIPELINE].job.port_bytes, "B"),
        "scattered": kit.times(THIN.at(scattered=1.0).factors[DENSE]),
    }  # fmt: skip


def reflection() -> dict[str, object]:
    def step(**changes: object) -> str:
        return kit.amount(THIN.at(**changes).waiting[EXPERTS].step, "s")

    return {
        "thin": f"{THIN.leaf_thin:g}:1", "now": step(), "faster": step(gbits=2 * THIN.gbits), "rails": step(rails=True),
        "tier": step(tiers=3),
        "radix": step(radix=128), "full": kit.amount(FULL.waiting[EXPERTS].step, "s"), "scattered": step(rails=True, scattered=1.0),
        "leaf": THIN.at(rails=True).tree.leaf, "nodes": THIN.tree.leaf // 8, "ports": f"{THIN.tree.ports:,}",
        "rail_ports": f"{THIN.at(rails=True).tree.ports:,}", "group": THIN.experts // 8,
    }  # fmt: skip


def peek() -> dict[str, object]:
    job = THIN.waiting[EXPERTS].job
    return {
        "radix": THIN.radix, "two": f"{FULL.tree.holds:,}", "three": f"{FULL.at(tiers=3).tree.holds:,}", "hosts": f"{HOSTS:,}",
        "two_ports": f"{FULL.tree.ports:,}", "three_ports": f"{FULL.at(tiers=3).tree.ports:,}", "thin_ports": f"{THIN.tree.ports:,}",
        "thin": f"{THIN.leaf_thin:g}:1", "down": THIN.tree.leaf, "up": THIN.tree.leaf_links, "leaves": THIN.tree.leaves,
        "bytes": kit.amount(job.size, "B"), "tokens": f"{SEQ:,}", "top_k": THIN.top_k,
    }  # fmt: skip


def takeaways() -> dict[str, object]:
    return {
        "experts": kit.times(THIN.factors[EXPERTS]), "rails": kit.times(THIN.at(rails=True).factors[EXPERTS], 3),
        "ports": f"{THIN.at(rails=True).tree.ports:,}", "full": f"{FULL.tree.ports:,}",
    }  # fmt: skip
