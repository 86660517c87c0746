"""What is said under the layer: the bottleneck, fusion, attention and the norm, each with its figures; and where the dials begin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ironlaw import kit
from ironlaw.engine.device.types import bytes_per_element
from ironlaw.labs.lab_11_roofline.act2 import layer
from ironlaw.labs.lab_11_roofline.act2.layer import FUSION, Case, parts
from ironlaw.labs.lab_11_roofline.act2.op_names import plain
from ironlaw.labs.lab_11_roofline.intensity import per_byte
from ironlaw.registry.machines import hardware, machines
from ironlaw.units import significant

LAB_07 = "lab_07_fusion"
KINDS = {
    "calibrated": "estimates from the machine's measured curves",
    "transferred": "estimates from machines that were measured, as the laws of kernels carry them over, good to some tens of percent",
    "bound": "bounds at the datasheet's figures",
}


def lab_07_design(lab: kit.Lab) -> dict[str, Any] | None:
    """The design of Lab 07, if the learner has one."""
    design = lab.ledger.design(LAB_07)
    return dict(design) if design else None


def first_fusion(lab: kit.Lab) -> str:
    return "all" if (lab_07_design(lab) or {}).get("fusion_enabled") else "separate"


def notes(lab: kit.Lab, case: Case) -> str:
    slots = {"kind": KINDS[case.basis], "weights": case.weights.upper(), "format": case.fmt.upper(), "cache": case.cache.upper()}
    paragraphs = [_bottleneck(lab, case), _fusion(lab, case), _attention(lab, case), _norm(lab, case), lab.fill("act2.counted", **slots)]
    if case.hardware.reserved:
        has = {name: kit.capacity(float(getattr(case.hardware, name))) for name in ("capacity", "reserved")}
        paragraphs.append(lab.fill("act2.kept", **has))
    return kit.html("\n\n".join(paragraphs))


def start(lab: kit.Lab) -> str:
    design, level = lab_07_design(lab), FUSION[first_fusion(lab)]
    if design is None:
        return lab.fill("act2.no_lab_07", level=level)
    state = "fusion on" if design.get("fusion_enabled") else "fusion off"
    before, after = design.get("arithmetic_intensity_unfused"), design.get("arithmetic_intensity_fused")
    if not isinstance(before, (int, float)) or not isinstance(after, (int, float)):
        return lab.fill("act2.from_lab_07_plain", fusion=state, level=level)
    fmt = _lab_07_format(design)
    return lab.fill("act2.from_lab_07", fusion=state, level=level, before=per_byte(before, fmt), after=per_byte(after, fmt))


def _lab_07_format(design: Mapping[str, Any]) -> str:
    """Lab 07 counts in FP16 where its machine has it, and on a machine for integers alone in INT8."""
    slug = design.get("context")
    return "fp16" if slug not in machines() or "fp16" in hardware(str(slug)).peaks else "int8"


def _bottleneck(lab: kit.Lab, case: Case) -> str:
    whole = case.layer_seconds
    longest = max(case.rows, key=lambda row: row.seconds)
    lowest = min((row for row in case.rows if row.work.flops > 0), key=lambda row: row.work.intensity)
    return lab.fill(
        "act2.bottleneck", longest=plain(longest.name), longest_time=kit.amount(float(longest.seconds), "s"),
        layer_time=kit.amount(whole, "s"), longest_share=kit.share(longest.seconds, whole), lowest=plain(lowest.name),
        lowest_intensity=per_byte(lowest.work.intensity, case.fmt), lowest_share=kit.share(lowest.seconds, whole),
    )  # fmt: skip


def _fusion(lab: kit.Lab, case: Case) -> str:
    before, after = replace(case, fusion="separate"), replace(case, fusion="all" if case.fusion == "separate" else case.fusion)
    gain = kit.dress(significant(before.seconds / after.seconds))
    bytes_before, bytes_after = kit.amount(float(before.work.bytes), "B"), kit.amount(float(after.work.bytes), "B")
    if case.fusion == "separate":
        kernels = significant(float(before.work.launches), 4)
        return lab.fill("act2.unfused", kernels=kernels, bytes=bytes_before, fused_bytes=bytes_after, gain=gain)
    return lab.fill(
        "act2.fused", kernels=significant(float(after.work.launches), 4), before=significant(float(before.work.launches), 4),
        bytes=bytes_after, bytes_before=bytes_before, seconds=kit.amount(after.seconds, "s"),
        seconds_before=kit.amount(before.seconds, "s"), gain=gain,
    )  # fmt: skip


def _norm(lab: kit.Lab, case: Case) -> str:
    """What the norm's card counts, and what the same ops would be in one kernel, as the reveal has it."""
    flops = float(parts(replace(case, fusion="separate"))["norm"].flops)
    elements = float(case.tokens * layer.settings_of(case.model)["hidden"] * 2)  # two norms a layer
    moved = 2 * bytes_per_element(case.fmt) * elements  # read once, written once
    now = per_byte(parts(case)["norm"].intensity, case.fmt)
    return lab.fill("act2.norm", each=significant(flops / elements), now=now, once=per_byte(flops / moved, case.fmt))


def _attention(lab: kit.Lab, case: Case) -> str:
    if case.tiled:
        return lab.fill("act2.tiled")
    other = replace(case, tiled=True)
    saved = float(case.work.bytes - other.work.bytes)
    scores = next(row for row in case.rows if row.kind == "softmax" or "sdpa.softmax" in row.name)
    return lab.fill(
        "act2.through_memory", scores=kit.amount(float(scores.op.outputs[0].bytes), "B"), traffic=kit.amount(saved, "B"),
        saved=kit.share(saved, float(case.work.bytes)),
    )  # fmt: skip
