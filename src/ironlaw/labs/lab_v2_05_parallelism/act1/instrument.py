"""Act I: model, stages, replicas and pieces to the bubble of a pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.engine.cluster.links import Box
from ironlaw.kit import settings
from ironlaw.kit.context import LOCAL
from ironlaw.kit.formula import fraction, line
from ironlaw.labs.lab_v2_05_parallelism.act1 import figures, local_runs
from ironlaw.labs.lab_v2_05_parallelism.act1.pipeline import (
    PIECES,
    SEQ,
    STAGES,
    STORY,
    Setting,
    setting_of,
    why_not_pieces,
    why_not_stages,
)  # fmt: skip
from ironlaw.labs.lab_v2_05_parallelism.box_of_context import BOXES
from ironlaw.registry.boxes import box
from ironlaw.systems.training.layout_steps import training_job
from ironlaw.units import percent, show
from ironlaw.widget.figure import tabbed

CLAIMS = ("mfu_collapses", "bubble_over_stages_and_batches", "model_follows_strong_scaling")
MORE = ("model", "tensor")  # dials in the fold


def boxes(lab: kit.Lab) -> Box:
    """The context's boxes; with H100 and without an accelerator, the question's own."""
    slug = lab.current_context.slug
    return box(BOXES[slug] if slug in BOXES and slug != "h100_sxm" else STORY)


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        now = setting_of(boxes(lab), {"data": Setting.data, **{key: value for key, value in values.items() if value is not None}})
        no_stages = {count: why for count in STAGES if (why := why_not_stages(now.model, count))}
        no_pieces = {count: why for count in PIECES if (why := why_not_pieces(now, count))}
        return [
            *settings.dials(Setting, pipeline={"disabled": no_stages}, virtual={"disabled": no_pieces}),
            kit.span("into", "Progress of the step", 0, 100, 100, step=2, unit="%", play=6, shows="gantt"),
        ]

    return dials_at


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    setting = setting_of(boxes(lab), values)
    return kit.View(
        figures=[
            tabbed(figures.pieces(lab, setting), "The bubble"),
            tabbed(figures.pipeline(setting, values["into"] / 100), "The pipeline"),
            tabbed(figures.more_gpus(setting, local_runs.efficiencies(lab)), "More GPUs"),
        ],
        cards=cards(setting),
        formula=formula(setting),
        note=kit.html(notes(lab, setting)),
        readouts={
            "gpus": setting.devices, "bubble_share": round(setting.bubble, 6), "micro_batches": setting.micro_batches,
            "mfu_first": round(setting.step.speed.mfu, 6),
        },
    )  # fmt: skip


def cards(setting: Setting) -> list[dict[str, Any]]:
    step = setting.step
    usable = training_job(setting.model, setting.box, setting.batch, SEQ).capacity
    fits = float(step.memory.total) <= usable
    return [
        kit.text_card("GPUs", f"{setting.devices:,}", note=f"{setting.box.name}"),
        kit.text_card("Microbatches", f"{setting.micro_batches:,}", note="through each pipeline"),
        kit.card("MFU", 100 * step.speed.mfu, "%", note="of the whole step"),
        kit.card("Step", step.time.total, "s"),
        kit.card("Memory", float(step.memory.total), "B", tone="" if fits else "bad", note="" if fits else f"of {show(usable, 'B')}"),
    ]


def formula(setting: Setting) -> str:
    p, v, m = setting.pipeline, setting.virtual, setting.micro_batches
    symbols = fraction("<i>p</i> − 1", "<i>v</i><i>m</i> + <i>p</i> − 1")
    figures_in = fraction(f"{p} − 1", f"{v} × {m:,} + {p} − 1")
    return line("bubble =", symbols, "=", figures_in, "=", percent(setting.bubble))


def notes(lab: kit.Lab, setting: Setting) -> str:
    texts = [lab.fill("act1.own_machine")] if lab.current_context.slug == LOCAL else []
    texts.append(lab.fill("act1.arithmetic", seq=f"{SEQ:,}", machine=setting.box.name))
    if figures.stated_mfu(setting, setting.devices):
        texts.append(lab.fill("act1.published"))
    return "\n\n".join(texts)
