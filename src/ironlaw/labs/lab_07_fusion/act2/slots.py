"""Act II's words: truth, distance and slots, for the prediction's own case and for the challenge."""

from __future__ import annotations

import math

from ironlaw import kit
from ironlaw.formats import intensity_unit
from ironlaw.kit.context import Context
from ironlaw.labs.lab_07_fusion import jobs
from ironlaw.labs.lab_07_fusion.act2 import counters, fusion, payback
from ironlaw.labs.lab_07_fusion.jobs import CLOUD
from ironlaw.registry.machines import hardware
from ironlaw.registry.textbooks import textbook
from ironlaw.units import significant

CLAIMS = ("three_op_fusion_5x", "resnet_compile_48_percent", "flash_wall_2_to_4x")


def premise_case(per_day: float = 1.0) -> payback.Case:
    """ResNet-50 with the course's own rates."""
    model = textbook("resnet50")
    assert model.compile_s and model.gain and model.eager_rate
    return payback.Case("resnet50", model.compile_s, model.gain, per_day, 1.0, model.eager_rate)


def lock() -> dict[str, object]:
    return rates()


def rates() -> dict[str, object]:
    model = textbook("resnet50")
    assert model.compile_s and model.eager_rate and model.compiled_rate
    return {"compile": kit.amount(model.compile_s, "s"), "eager": f"{model.eager_rate:,.0f}", "compiled": f"{model.compiled_rate:,.0f}"}


def truth(lab: kit.Lab) -> str:
    calls = float(lab.question("act2").answer)
    return kit.dress(f"{math.ceil(calls):,} images", f"{calls:,.2f}")


def distance(lab: kit.Lab) -> str:
    option = lab.choice("act2")
    return kit.off(kit.Distance(float(option.value), float(lab.question("act2").answer))) if option else ""


def reveal(lab: kit.Lab) -> dict[str, object]:
    case, web = premise_case(), premise_case(float(lab.sheet.premises["web_volume"].replace(",", "")))
    busy = max(int(entry["per_day"]) for entry in lab.sheet.contexts)
    return {
        **{name: rate for name, rate in rates().items() if name != "compiled"}, "each": kit.amount(1 / case.eager_rate, "s"),
        "saved": kit.amount(case.saved_s, "s", 4),
        "web_days": significant(web.breakeven_days), "web_seconds": kit.amount(web.per_day / web.eager_rate, "s", 2),
        "calls": f"{case.breakeven_calls:,}",
        "busy": f"{busy:,}", "first": kit.amount(premise_case(busy).breakeven_days * payback.DAY, "s"),
    }  # fmt: skip


def three_ops() -> fusion.Case:
    context = Context(CLOUD, CLOUD, "cloud", hardware(CLOUD), "fp16")
    return fusion.case(context, fusion.THREE, (1024, 768), fusion.COURSE_BANDWIDTH, False)


def blanks() -> dict[str, object]:
    case = three_ops()
    return {
        "before": kit.amount(float(case.graph.bytes), "B"), "after": kit.amount(float(case.plan.graph.bytes), "B"),
        "cut": kit.dress(significant(case.traffic_cut)), "bound": kit.times(case.speedup), "own": counters.slots()["own_gain"],
        "intensity": kit.amount(float(case.plan.graph.work.intensity), intensity_unit(case.graph.dtype)),
        "ridge": kit.amount(case.ridge, intensity_unit(case.graph.dtype)), "measured": counters.slots()["measured_gain"],
    }  # fmt: skip


def reflection() -> dict[str, object]:
    kernel, launch = textbook("large_kernel").kernel_s, hardware(CLOUD).launch
    return {
        "kernel": kit.amount(kernel, "s"), "launch": kit.amount(launch, "s"), "share": kit.amount(100 * launch / (kernel + launch), "%", 1),
        "resnet_kernels": str(textbook("resnet50").kernels), "resnet_gain": kit.amount(100 * (textbook("resnet50").gain or 0), "%", 2),
    }  # fmt: skip


def peek() -> dict[str, object]:
    case, calculator = three_ops(), premise_case()
    return {
        **rates(), "calls": f"{calculator.breakeven_calls:,}", "saved": kit.amount(calculator.saved_s, "s", 4),
        "launches": str(len(case.graph.ops)),
        "launch": kit.amount(hardware(CLOUD).launch, "s"), "unfused": kit.amount(float(case.unfused.seconds), "s"),
        "fused": kit.amount(float(case.fused.seconds), "s"), "before": kit.amount(float(case.graph.bytes), "B"),
        "after": kit.amount(float(case.plan.graph.bytes), "B"), "cut": kit.times(case.traffic_cut),
        "low": kit.amount(float(case.graph.work.intensity), intensity_unit(case.graph.dtype)),
        "high": kit.amount(float(case.plan.graph.work.intensity), intensity_unit(case.graph.dtype)),
        "ridge": kit.amount(case.ridge, intensity_unit(case.graph.dtype)),
    }  # fmt: skip


def challenge() -> dict[str, object]:
    model = textbook("kws")
    assert model.compile_s and model.gain
    return {
        "per_hour": f"{model.per_hour:,}", "compile": kit.amount(model.compile_s, "s"), "gain": kit.amount(100 * model.gain, "%"),
        "each": kit.amount(jobs.pass_s(model, hardware(CLOUD).launch), "s"), "launch": kit.amount(hardware(CLOUD).launch, "s"),
    }  # fmt: skip


def challenge_feedback(lab: kit.Lab, value: float, right: bool) -> str:
    edge = hardware("orin_nx_16gb").launch
    premises = {"": (hardware(CLOUD).launch, jobs.SYNC), "edge_": (edge, jobs.SYNC), "queued_": (hardware(CLOUD).launch, jobs.QUEUED)}
    slots: dict[str, object] = {"edge_launch": kit.amount(edge, "s"), "value": significant(value, 4)}
    for name, premise in premises.items():
        calls, hours = payback.challenge(*premise)
        slots |= {f"{name}calls": f"{calls:,}", f"{name}hours": f"{hours:.1f}"}
    verdict = lab.fill(
        "act2_challenge.right" if right else "act2_challenge.wrong", tolerance=kit.share(lab.question("act2_challenge").tolerance, 1)
    )
    return verdict + "\n\n" + lab.fill("act2_challenge.feedback", **slots)


def fusing_challenge() -> dict[str, object]:
    seen = counters.slots()
    return {name: seen[name] for name in ("tensor", "promised")}


def fusing_challenge_feedback(lab: kit.Lab, value: float, right: bool) -> str:
    seen = counters.slots()
    names = (
        "measured_gain", "eager_busy", "compiled_busy", "fused_writes", "counted_cut", "eager_bytes", "compiled_bytes", "own_bytes",
        "own_gain",
    )  # fmt: skip
    return lab.fill("act2_fusing_challenge.feedback", value=significant(value, 3), **{name: seen[name] for name in names})


def takeaways() -> dict[str, object]:
    spotter, layer = textbook("kws"), textbook("gpt2_layer")
    machine = hardware(CLOUD)
    return {
        "spotter": kit.amount(jobs.premise(machine, spotter), "%"), "layer": kit.amount(jobs.premise(machine, layer), "%"),
        "cut": kit.dress(significant(three_ops().traffic_cut)), "measured": counters.slots()["measured_gain"],
        "own": counters.slots()["own_gain"], "calls": f"{premise_case().breakeven_calls:,}",
    }  # fmt: skip
