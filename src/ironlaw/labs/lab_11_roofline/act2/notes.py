"""What is said under the layer: the bottleneck, fusion, attention and the norm, each with its figures; and where the dials begin."""

from __future__ import annotations

from dataclasses import replace

from ironlaw import kit
from ironlaw.engine.device.types import bytes_per_element
from ironlaw.labs.lab_11_roofline.act2 import layer
from ironlaw.labs.lab_11_roofline.act2.layer import Case, parts
from ironlaw.labs.lab_11_roofline.act2.op_names import plain
from ironlaw.labs.lab_11_roofline.intensity import per_byte
from ironlaw.units import significant

LAB_07 = "lab_07_fusion"
KINDS = {
    "calibrated": "estimates from the machine's measured curves",
    "transferred": "estimates carried over from machines that we measured, good to a few tens of percent",
    "bound": "bounds from the datasheet",
}


def offers(lab: kit.Lab) -> list[kit.Offer]:
    """The fusion that Lab 07 decided on."""
    on = (lab.ledger.design(LAB_07) or {}).get("fusion_enabled")
    return [kit.Offer(LAB_07, "decision (fusion on)", {"fusion": "all"})] if on else []


def notes(lab: kit.Lab, case: Case) -> str:
    slots = {"kind": KINDS[case.basis], "weights": case.weights.upper(), "format": case.fmt.upper(), "cache": case.cache.upper()}
    paragraphs = [_bottleneck(lab, case), _fusion(lab, case), _attention(lab, case), _norm(lab, case), lab.fill("act2.counted", **slots)]
    if case.hardware.reserved:
        has = {name: kit.capacity(float(getattr(case.hardware, name))) for name in ("capacity", "reserved")}
        paragraphs.append(lab.fill("act2.kept", **has))
    return kit.html("\n\n".join(paragraphs))


def _bottleneck(lab: kit.Lab, case: Case) -> str:
    whole = case.layer_seconds
    longest = case.longest
    lowest = min((row for row in case.rows if row.work.flops > 0), key=lambda row: row.work.intensity)
    *some, last = (f"“{plain(row.name)}”" for row in longest)
    return lab.fill(
        "act2.bottlenecks" if some else "act2.bottleneck", longest=f"{', '.join(some)} and {last}" if some else last,
        longest_time=kit.amount(float(longest[0].seconds), "s"), layer_time=kit.amount(whole, "s"),
        longest_share=kit.share(sum(float(row.seconds) for row in longest), whole), lowest=plain(lowest.name),
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
    each, once = norm_in_one_kernel(case)
    now = per_byte(parts(case)["norm"].intensity, case.fmt)
    return lab.fill("act2.norm", each=significant(each), now=now, once=per_byte(once, case.fmt))


def norm_in_one_kernel(case: Case) -> tuple[float, float]:
    """Operations per element, and per byte where each element is read once and written once."""
    flops = float(parts(replace(case, fusion="separate"))["norm"].flops)
    elements = float(case.tokens * layer.settings_of(case.model)["hidden"] * 2)  # two norms a layer
    return flops / elements, flops / (2 * bytes_per_element(case.fmt) * elements)


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
