"""Act II's words: truth, distance and slots, for the prediction's own case."""

from __future__ import annotations

from dataclasses import replace

from ironlaw import kit
from ironlaw.engine.cluster.layouts import Layout
from ironlaw.engine.cluster.pipelines import bubble
from ironlaw.engine.cluster.shapes import token_flops
from ironlaw.labs.lab_v2_05_parallelism.act2.spread import DEEP, MODELS, TOKENS, Case, premise
from ironlaw.registry.runs import runs
from ironlaw.systems.training.layout_steps import mfu_as_counted
from ironlaw.units import percent, significant

LONG = 131072


def _sizes(case: Case) -> dict[str, object]:
    layout = case.layout
    return {
        "model": MODELS[case.model], "devices": f"{case.devices:,}", "tensor": layout.tensor, "stages": layout.pipeline,
        "replicas": layout.data, "seq": f"{case.seq:,}",
    }  # fmt: skip


def message() -> dict[str, object]:
    one, sizes = premise(), _sizes(premise())
    return {name: sizes[name] for name in ("model", "devices", "stages")} | {
        "tokens": TOKENS >> 20, "short": sizes["seq"], "long": f"{LONG:,}", "deep": DEEP,
        "needed": kit.amount(float(one.held(one.layout).total), "B"), "usable": kit.amount(one.job.capacity, "B"),
    }  # fmt: skip


def lock() -> dict[str, object]:
    one = premise()
    return _sizes(one) | {"batch": f"{one.batch:,}", "deep": DEEP, "fewer": deeper().layout.data}


def deeper() -> Case:
    """The premise in more stages."""
    return replace(premise(), pipeline=DEEP)


def truth(lab: kit.Lab) -> str:
    return str(kit.times(float(lab.question("act2").answer)))


def distance(lab: kit.Lab) -> str:
    option = lab.choice("act2")
    return kit.off(kit.Distance(float(option.value), float(lab.question("act2").answer))) if option else ""


def reveal() -> dict[str, object]:
    one = premise()
    step, best = one.step, one.best
    assert step is not None and best is not None
    parts, again, deep = step.memory, replace(one, recompute="full"), deeper()
    cut = replace(deep, virtual=best.layout.virtual)
    row = runs("llama3_2024")[1]
    return {
        "needed": kit.amount(float(parts.total), "B"), "usable": kit.amount(one.job.capacity, "B"),
        "activations": kit.amount(float(parts.activations), "B"), "stages": one.pipeline, "deep": DEEP,
        "deeper": kit.amount(float(deep.held(deep.layout).activations), "B"),
        "cut_needed": kit.amount(float(cut.held(cut.layout).total), "B"),
        "deep_needed": kit.amount(float(deep.held(deep.layout).total), "B"),
        "times": kit.times(float(deep.held(deep.layout).activations / parts.activations)),
        "again": kit.amount(float(again.held(again.layout).total), "B"),
        "ours": percent(mfu_as_counted(row, best.time.total)), "theirs": percent(mfu_as_counted(row, row.seconds)),
    }  # fmt: skip


def alone() -> Case:
    """The long context without context parallelism, in the published layout's stages: a sequence for each replica."""
    return replace(premise(), seq=LONG, pipeline=16, zero=2)


def reflection() -> dict[str, object]:
    one = alone()
    step = one.step
    assert step is not None
    held, long = one.held(one.layout), runs("llama3_2024")[2].layout
    return {
        "batch": one.batch, "replicas": one.layout.data, "left": step.micro_batches, "stages": one.pipeline, "long": f"{LONG:,}",
        "bubble": percent(float(bubble(one.pipeline, step.micro_batches))), "held": kit.amount(float(held.total), "B"),
        "usable": kit.amount(one.job.capacity, "B"), "cp": long.context, "dp": long.data, "then": one.batch // long.data,
        "data": percent(step.time.data / step.time.total), "tokens": TOKENS >> 20,
    }  # fmt: skip


def peek() -> dict[str, object]:
    one = premise()
    shape = one.job.shape
    best = one.best
    assert best is not None
    zero3 = one.held(Layout(data=one.devices, zero=3))
    return {
        "model": MODELS[one.model], "parameters": f"{significant(shape.parameters / 1e9)} billion", "devices": f"{one.devices:,}",
        "share": kit.amount(float(zero3.static), "B"), "seq": f"{one.seq:,}",
        "dense": kit.amount(float(token_flops(shape, 0)), "FLOP"), "token": kit.amount(float(token_flops(shape, one.seq)), "FLOP"),
        "mfu": percent(best.speed.mfu), "hidden": f"{shape.hidden:,}", "layers": shape.layers,
    }  # fmt: skip


def takeaways() -> dict[str, object]:
    from ironlaw.labs.lab_v2_05_parallelism.act1.pipeline import premise as first

    one = first()
    return {
        "share": percent(one.bubble), "stages": one.pipeline, "left": one.micro_batches,
        "needed": kit.amount(float(premise().held(premise().layout).total), "B"),
    }  # fmt: skip
