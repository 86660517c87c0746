"""Act I's pictures: the pipeline over time, what pieces of a stage do, where the GPUs' time goes as they become more, and the grid."""

from __future__ import annotations

from collections.abc import Mapping

from ironlaw import kit
from ironlaw.engine.cluster.pipelines import bubble
from ironlaw.labs.lab_v2_05_parallelism.act1.pipeline import MODELS, PIECES, REPLICAS, Setting, why_not_pieces
from ironlaw.pictures import reveal_picture
from ironlaw.pictures.ends import up_to
from ironlaw.pictures.gantt import gantt
from ironlaw.registry.publications import published
from ironlaw.units import percent, significant
from ironlaw.widget.figure import Axis, Figure, Mark, Table, mark
from ironlaw.widget.hold import hold
from ironlaw.widget.quantities import exact

PARTS = {
    "at peak": ("compute", False), "slower than peak": ("compute", True), "tensor group": ("overhead", False), "sends": ("ridge", False),
    "bubble": ("warn", True), "gradients": ("memory", False), "optimiser": ("muted", True),
}  # fmt: skip
SHOWN = (1, 2, 6, 12, 24, 48, 144)  # replicas with a row of their own


def pipeline(setting: Setting, into: float) -> Figure:
    words = f"{MODELS[setting.model]}, {setting.micro_batches:,} microbatches per pipeline"
    return gantt(
        setting.rows,
        f"Filling and draining take {percent(setting.bubble)} of the time",
        now=into,
        note=words,
        unit="%",
        label="of the pipeline's time",
        drag=hold("into"),
        stages_drag=hold("pipeline", "y"),
    )


def pieces(lab: kit.Lab, setting: Setting) -> Figure:
    """The bubble for every number of pieces, and the learner's prediction."""
    rows = {}
    for count in PIECES:
        refusal = why_not_pieces(setting, count)
        if not refusal:
            name = "whole stages" if count == 1 else f"{count} chunks each"
            rows[name] = (100 * float(bubble(setting.pipeline, setting.micro_batches, count)), count == setting.virtual)
    marks: list[Mark] = [
        mark("bar", "warn", x=value, y=name, id=name, name=name, label=f"{significant(value)}%", emphasis=chosen,
             hover=[("bubble", exact(value, "%"))])
        for name, (value, chosen) in rows.items()
    ]  # fmt: skip
    option = lab.choice("act1")
    far = max([value for value, _ in rows.values()] + ([float(option.value), float(lab.question("act1").answer)] if option else []))
    if option is not None:
        marks += reveal_picture.rules(float(option.value), float(lab.question("act1").answer), "%")
    words = "; ".join(f"{name} {significant(value)}%" for name, (value, _) in rows.items())
    return Figure(
        "pieces", f"Each stage waits {percent(setting.bubble)} of the time",
        Axis("linear", "share of the pipeline's time", "%", (0.0, up_to(1.2 * far))),
        Axis("band", names=tuple(rows)), tuple(marks), f"{words}.",
        table=Table(("stages", "bubble", "exactly"), tuple((name, f"{significant(v)}%", exact(v, "%")) for name, (v, _) in rows.items())),
        note=f"{setting.pipeline} stages, {setting.micro_batches:,} microbatches",
    )  # fmt: skip


def shares(setting: Setting) -> dict[str, float]:
    """Percent of a step, by what the GPUs do; they add up to 100."""
    step = setting.step
    time, total = step.time, step.time.total
    peak = 100 * step.speed.mfu
    return {
        "at peak": peak, "slower than peak": 100 * (time.compute + time.recompute) / total - peak,
        "tensor group": 100 * time.tensor / total,
        "sends": 100 * time.pipeline / total, "bubble": 100 * time.bubble / total, "gradients": 100 * time.data / total,
        "optimiser": 100 * time.update / total,
    }  # fmt: skip


def more_gpus(setting: Setting, here: Mapping[str, float]) -> Figure:
    """Where the GPUs' time goes, for more and more replicas of the same pipeline and one batch. `here`: the same of the learner's own two
    processes, in percent of what they could do."""
    counts = sorted({*SHOWN, setting.data} & {*REPLICAS})
    marks, table, words, names = [], [], [], []
    for count in counts:
        one = setting.with_data(count)
        name = f"{one.devices:,} GPUs"
        names.append(name)
        at, mine = 0.0, shares(one)
        for part, value in mine.items():
            if value > 0:
                colour, pattern = PARTS[part]
                marks.append(
                    mark("bar", colour, x0=at, x1=at + value, y=name, id=f"{name}-{part}", name=part, pattern=pattern,
                         emphasis=count == setting.data, hover=[("GPUs", f"{one.devices:,}"), (part, exact(value, "%"))])
                )  # fmt: skip
                table.append((name, part, f"{significant(value)}%"))
                at += value
        marks.append(mark("label", "ink", x=100.0, y=name, id=f"{name}-mfu", label=f"MFU {significant(mine['at peak'])}%"))
        words.append(f"{name}: MFU {significant(mine['at peak'])}%, bubble {significant(mine['bubble'])}%")
        for stated in stated_mfu(setting, one.devices):
            marks.append(mark("point", "accent", x=stated, y=name, shape="diamond", size=6, id=f"{name}-published", name="published MFU",
                              hover=[("published MFU", exact(stated, "%")), published("training_mfu").citation]))  # fmt: skip
            words.append(f"published at {one.devices:,}: {significant(stated)}%")
    for name, value in here.items():
        names.append(name)
        marks.append(mark("bar", "here", x0=0.0, x1=value, y=name, id=name, name=name, hover=[("of the ideal for two", exact(value, "%"))]))
        marks.append(mark("label", "here", x=100.0, y=name, id=f"{name}-share", label=f"{significant(value)}%"))
        table.append((name, "of the ideal for two", f"{significant(value)}%"))
        words.append(f"{name}: {significant(value)}% of their ideal")
    legend = [{"colour": colour, "pattern": pattern, "label": part} for part, (colour, pattern) in PARTS.items()]
    if here:
        legend.append({"colour": "here", "label": "your two processes, as a share of the ideal"})
    if any(m.name == "published MFU" for m in marks):
        legend.append({"colour": "accent", "shape": "diamond", "label": "published MFU, Megatron-Core"})
    return Figure(
        "more-gpus", f"{setting.devices:,} GPUs reach {percent(setting.step.speed.mfu)} of their peak",
        Axis("linear", "of the step", "%", (0.0, 124.0), ticks=(0, 25, 50, 75, 100)),
        Axis("band", names=tuple(names)), tuple(marks), "; ".join(words) + ".", table=Table(("GPUs", "part", "of the step"), tuple(table)),
        note=f"{setting.batch:,} sequences per step, TP {setting.tensor} · PP {setting.pipeline}", legend=tuple(legend),
        more={"stacked": True, "row": 40},
    )  # fmt: skip


def stated_mfu(setting: Setting, count: int) -> list[float]:
    """What others published of such a run; empty for any other model or batch."""
    if setting.model != "gpt3_core" or setting.batch != 1152 or setting.box.device != "h100_sxm":
        return []
    return [float(row["mfu"]) for row in published("training_mfu").where(devices=count) if str(row["case"]).startswith("strong")]
