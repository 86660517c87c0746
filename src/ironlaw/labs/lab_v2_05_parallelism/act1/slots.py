"""Act I's words: truth, distance and slots, for the prediction's own case."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.engine.cluster.pipelines import bubble, bubble_overhead
from ironlaw.labs.lab_v2_05_parallelism.act1.pipeline import SEQ, premise
from ironlaw.registry.publications import published
from ironlaw.systems.training.layout_steps import layout_ranking
from ironlaw.units import percent, significant

FEW, MANY = 96, 4608  # GPUs at both ends of the published run
PIECES = 8


def message() -> dict[str, object]:
    first, last = premise(1), premise()
    return {
        "batch": f"{last.batch:,}", "few": first.devices, "many": f"{last.devices:,}", "tensor": last.tensor, "stages": last.pipeline,
        "replicas": last.data, "left": last.micro_batches,
    }  # fmt: skip


def lock() -> dict[str, object]:
    one = premise()
    return {"stages": one.pipeline, "left": one.micro_batches}


def truth(lab: kit.Lab) -> str:
    return f"{significant(float(lab.question('act1').answer))}%"


def distance(lab: kit.Lab) -> str:
    option = lab.choice("act1")
    return kit.points(float(option.value), float(lab.question("act1").answer)) if option else ""


def ends() -> tuple[float, float]:
    """The model's MFU at both ends of the published run, with the best layout at each."""
    few, many = (layout_ranking("gpt3_core", "dgx_h100", count, 1152, SEQ)[0].speed.mfu for count in (FEW, MANY))
    return few, many


def stated(count: int) -> float:
    return float(published("training_mfu").value("mfu", devices=count)) / 100


def reveal() -> dict[str, object]:
    one, few = premise(), premise(1)
    p, m = one.pipeline, one.micro_batches
    ours = ends()
    return {
        "stages": p, "left": m, "slots": p - 1, "all": m + p - 1, "share": percent(one.bubble),
        "first": percent(few.bubble), "before": f"{few.micro_batches:,}", "pieces": PIECES,
        "cut": percent(float(bubble(p, m, PIECES))),
        "one_slot": percent(1 / p), "our_few": percent(ours[0]), "our_many": percent(ours[1]),
        "their_few": percent(stated(FEW)), "their_many": percent(stated(MANY)), "few": FEW, "many": f"{MANY:,}",
    }  # fmt: skip


def reflection() -> dict[str, object]:
    half, full = premise(24), premise(48)
    a, b = half.step, full.step
    return {
        "half": f"{half.devices:,}", "full": f"{full.devices:,}", "compute_a": kit.amount(a.time.compute, "s"),
        "compute_b": kit.amount(b.time.compute, "s"), "left_a": half.micro_batches, "left_b": full.micro_batches,
        "sent_a": kit.amount(a.traffic["data"], "B"), "sent_b": kit.amount(b.traffic["data"], "B"),
        "kept": kit.amount(float(b.memory.activations), "B"), "tensor": kit.amount(a.traffic["tensor"] / a.micro_batches, "B"),
        "stages": full.pipeline,
    }  # fmt: skip


def peek() -> dict[str, object]:
    one = premise()
    p, m = one.pipeline, one.micro_batches
    return {
        "stages": p, "left": m, "share": percent(one.bubble), "over": percent(float(bubble_overhead(p, m))),
        "pieces": PIECES, "cut": percent(float(bubble(p, m, PIECES))),
        "cut_over": percent(float(bubble_overhead(p, m, PIECES))), "mfu": percent(one.step.speed.mfu),
    }  # fmt: skip
