"""Act II: every size of a layout to its memory, its step, its traffic and its share of the peak."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.kit import settings
from ironlaw.kit.context import LOCAL
from ironlaw.kit.formula import line
from ironlaw.labs.lab_v2_05_parallelism.act2 import figures, verdict
from ironlaw.labs.lab_v2_05_parallelism.act2.spread import FUSED, Case, case_of
from ironlaw.labs.lab_v2_05_parallelism.box_of_context import box_of
from ironlaw.labs.tables import scrolling_table
from ironlaw.units import show
from ironlaw.widget.figure import tabbed

CLAIMS = ("zero3_keeps_the_weights", "pipeline_divides_activations", "llama3_as_predicted")
FOLLOWS = ("nics",)
STATE_BYTES = 14  # of a parameter in a checkpoint: BF16 weight, FP32 master copy, two moments
MORE = (
    "model",
    "devices",
    "seq",
    "micro",
    "attention",
    "sequence_parallel",
    "gradient_bytes",
    "overlap",
    "nics",
    "rank",
)  # dials in the fold


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        at = box_of(lab)
        gated = (values.get("model") or Case.model) != "gpt3_175b"
        fused = gated or (values.get("attention") or FUSED) == FUSED
        return [
            *settings.dials(
                Case, recompute={"disabled": {"selective": "a fused kernel keeps no scores"} if fused else {}}, attention={"hidden": gated},
                nics={"high": max(2, at.nics), "value": max(1, at.nics)},
            ),
            kit.span("rank", "Highlight GPU number", 0, 127, 0, whole=True, shows="devices", more=True),
        ]  # fmt: skip

    return dials_at


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    case = case_of(box_of(lab), values)
    step, option = figures.step(case), lab.choice("act2")
    return kit.View(
        figures=[
            tabbed(figures.memory(case, float(option.value) if option else None), "Memory"),
            *([tabbed(step, "The step")] if step else []),
            tabbed(figures.grid(case, round(values["rank"])), "Devices"),
        ],
        cards=cards(case),
        formula=formula(case),
        banner=settings.verdict(lab, "act2", verdict.LIMITS, case),
        note=kit.html(notes(lab, case)),
        readouts=readouts(case),
        after=traffic(case),
    )


def cards(case: Case) -> list[dict[str, Any]]:
    step, none = case.step, "–"
    replicas = kit.text_card("Replicas", f"{case.layout.data:,}", note=f"of {case.group:,} devices each")
    if step is None:
        return [replicas, *(kit.text_card(label, none) for label in ("MFU", "Step", "Memory", "Bubble"))]
    fits = float(step.memory.total) <= case.job.capacity
    return [
        replicas,
        kit.card("MFU", 100 * step.speed.mfu, "%", note="counting all scores"),
        kit.card("Step", step.time.total, "s"),
        kit.card("Memory", float(step.memory.total), "B", tone="good" if fits else "bad", note=f"of {show(case.job.capacity, 'B')}"),
        kit.card("Bubble", 100 * step.time.bubble / step.time.total, "%", note="of the step"),
    ]


def formula(case: Case) -> str:
    layout = case.layout
    sizes = f"{layout.tensor} × {layout.pipeline} × {layout.context} × {layout.data:,}"
    return line("TP × PP × CP × DP =", sizes, "=", f"{layout.devices:,} devices") + line(
        "microbatches per pipeline =", f"{case.batch:,} / ({layout.data:,} × {layout.micro})", "=",
        f"{case.batch / (layout.data * layout.micro):,.3g}",
    )  # fmt: skip


def notes(lab: kit.Lab, case: Case) -> str:
    texts = [lab.fill("act2.own_machine")] if lab.current_context.slug == LOCAL else []
    if case.published and settings.broken(verdict.LIMITS, case) is None:  # it names the layout that the task asks for
        texts.append(lab.fill("act2.published", layout=str(case.published.layout), seconds=kit.amount(case.published.seconds, "s")))
    return "\n\n".join([*texts, lab.fill("act2.arithmetic", machine=case.box.name)])


def traffic(case: Case) -> str:
    """What a device sends in a step, by parallelism, and over which wires."""
    step = case.step
    if step is None or not step.traffic:
        return ""
    layout, near = case.layout, case.box.devices
    strides = {"tensor": layout.tensor, "context": layout.tensor * layout.context, "data": layout.devices, "pipeline": layout.devices}
    rows = [
        (kind, kit.amount(sent, "B"), "links inside a box" if strides.get(kind, layout.devices) <= near else "NICs")
        for kind, sent in step.traffic.items()
        if sent
    ]
    return scrolling_table("What a device sends in a step", ("group", "bytes", "over"), rows)


def readouts(case: Case) -> dict[str, Any]:
    step, layout = case.step, case.layout
    count = case.job.shape.parameters
    measured = {
        "step_s": step.time.total, "tokens_per_s": step.speed.tokens_per_s, "mfu": round(step.speed.mfu, 6),
        "bubble_share": round(step.time.bubble / step.time.total, 6), "memory_bytes": round(float(step.memory.total)),
    } if step else {}  # fmt: skip
    return {
        **settings.values(case, "model", "devices", "tensor", "pipeline", "virtual", "micro", "zero", "recompute", "batch", "seq"),
        "parameters": count, "box": case.box.slug, "boxes": -(-case.devices // case.box.devices), "nics": case.nics if case.box.nic else 0,
        "context_parallel": layout.context, "data": layout.data, "state_bytes": STATE_BYTES * count,
        "state_bytes_per_device": STATE_BYTES * count / case.devices, "constraint_hit": settings.broken(verdict.LIMITS, case), **measured,
    }  # fmt: skip
