"""Act II, panel A: the fusion explorer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ironlaw import kit
from ironlaw.engine.device.chains import PALETTE
from ironlaw.formats import intensity_unit
from ironlaw.kit import settings
from ironlaw.kit.context import Context, the
from ironlaw.kit.formula import fraction, line, term
from ironlaw.labs.lab_07_fusion.act2 import counters, fusion, local_runs
from ironlaw.labs.lab_07_fusion.act2 import fusion_figures as figures
from ironlaw.labs.lab_07_fusion.act2.fusion import THREE, Case
from ironlaw.labs.lab_07_fusion.act2.fusion_figures import FUSED, UNFUSED, ledger_lines
from ironlaw.labs.tables import scrolling_table
from ironlaw.systems.fields import among, switch, whole
from ironlaw.units import significant
from ironlaw.widget.figure import tabbed
from ironlaw.widget.quantities import format_quantity

DEVICE = "device"
FOLLOWS = ("bandwidth",)  # what goes where the context goes
BANDWIDTHS = (1.0e12, fusion.COURSE_BANDWIDTH, 3.35e12, 4.8e12)


def _bandwidth(value: float | str) -> str:
    return "device's" if value == DEVICE else f"{float(value) / 1e12:g} TB/s"


@dataclass(frozen=True)
class Setting:
    chain: tuple[str, ...] = THREE
    fusion: bool = switch(False, "Fusion")
    rows: int = whole(1024, "Rows of the tensor", least=64, most=16384, dial="span", log=True)
    cols: int = whole(768, "Columns of the tensor", least=64, most=8192, dial="span", log=True)
    training: bool = switch(False, "Training (dropout keeps a mask)")
    bandwidth: float | str = among((DEVICE, *BANDWIDTHS), DEVICE, "Memory bandwidth", shown=_bandwidth)

    def case(self, context: Context) -> Case:
        bandwidth = None if self.bandwidth == DEVICE else float(self.bandwidth)
        return fusion.case(context, self.chain, (self.rows, self.cols), bandwidth, self.training)


def dials(lab: kit.Lab) -> Any:
    palette = [(kind, fusion.LABELS[kind]) for kind in PALETTE]

    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        start = fusion.COURSE_BANDWIDTH if lab.current_context.regime == "cloud" else DEVICE
        return [kit.chain("chain", "Chain of ops", palette, THREE), *settings.dials(Setting, bandwidth={"value": start})]

    return dials_at


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    setting = settings.read(Setting, values, chain=tuple(values["chain"]))
    case, fused = setting.case(lab.current_context), setting.fusion
    pictures = [
        tabbed(figures.byte_ledger(case, fused), "Bytes"),
        tabbed(figures.times(case, fused), "Time"),
        *figures.sizes(lab, case),
        *local_runs.lengths(lab),
    ]
    return kit.View(
        pictures,
        cards(case, fused),
        formula(case, fused),
        note=notes(lab, case),
        after=kit.html(lab.fill("act2.counters", **counters.slots())) + ledger_table(case) + verdicts(case),
        readouts=readouts(case, fused),
    )


def readouts(case: Case, fused: bool) -> dict[str, Any]:
    return {
        "fusion_enabled": fused,
        "arithmetic_intensity_unfused": round(float(case.graph.work.intensity), 4),
        "arithmetic_intensity_fused": round(float(case.plan.graph.work.intensity), 4),
    }


def cards(case: Case, fused: bool) -> list[dict[str, Any]]:
    now = case.plan.graph if fused else case.graph
    kernels, alone = round(float(case.plan.graph.kernels)), round(float(case.graph.kernels))
    intensity, unit = float(now.work.intensity), intensity_unit(now.dtype)
    far = case.ridge / intensity if intensity else 0.0
    return [
        kit.card(
            "Traffic saved",
            case.traffic_cut,
            "×",
            note=f"{format_quantity(float(case.graph.bytes), 'B')} to {format_quantity(float(case.plan.graph.bytes), 'B')}",
        ),
        kit.card("Speedup", case.speedup, "×", tone=kit.tone("fusion_speedup", round(case.speedup, 9)), note="by the model"),
        kit.text_card("Launches", str(kernels if fused else alone), note=f"{alone} unfused, {kernels} fused"),
        kit.card(f"Intensity, {unit}", intensity, "", note=side(intensity, case.ridge, far, unit)),
    ]


def side(intensity: float, ridge: float, far: float, unit: str) -> str:
    if not intensity:
        return "no arithmetic"
    return (
        f"{significant(far)}× below the ridge of {format_quantity(ridge, unit)}"
        if intensity < ridge
        else f"above the ridge of {format_quantity(ridge, unit)}"
    )


def formula(case: Case, fused: bool) -> str:
    prediction = case.fused if fused else case.unfused
    busy = float(prediction.busy_s)
    launches = f"{round(float(prediction.kernels))} × {kit.amount(case.machine.launch, 's')}"
    data = fraction(kit.amount(float(prediction.graph.bytes), "B"), kit.amount(float(case.machine.bandwidth), "B/s"))
    memory_bound = all(row.regime == "memory" for row in prediction.ops)
    over = term("memory", fraction("<i>D</i>", "<i>BW</i>"))
    symbols = line("<i>T</i> =", term("overhead", "<i>N</i>·<i>t</i><sub>dispatch</sub>"), "+", over)
    return symbols + line(
        "=", term("overhead", launches), "+", term("memory", data) if memory_bound else term("compute", kit.amount(busy, "s")), "=",
        kit.amount(float(prediction.seconds), "s"),
    )  # fmt: skip


def ledger_table(case: Case) -> str:
    rows = [
        (item.name, when, str(item.tensors[0]), kit.amount(item.read, "B"), str(item.tensors[1]), kit.amount(item.written, "B"))
        for when, fused in ((UNFUSED, False), (FUSED, True))
        for item in ledger_lines(case, fused)
    ]
    return scrolling_table(
        "Bytes of each kernel, unfused and fused", ("Kernel", "", "Reads", "Bytes read", "Writes", "Bytes written"), rows
    )


def verdicts(case: Case) -> str:
    names = fusion.names(case.graph)
    rows = [
        (f"{names[v.producer]} → {names[v.consumer]}", "fuses" if v.fused else "stays apart", v.pattern, v.reason)
        for v in case.plan.verdicts
    ]
    return scrolling_table("Which ops fuse, and why", ("Edge", "Verdict", "Pattern", "Why"), rows) if rows else ""


def notes(lab: kit.Lab, case: Case) -> str:
    fewer = float(case.graph.kernels / case.plan.graph.kernels)
    paragraphs = [lab.fill("act2.terms", fewer=kit.dress(significant(fewer)), cut=kit.dress(significant(case.traffic_cut)))]
    limit, cache = case.crossover_bytes, case.cache
    if cache and limit:
        slots = {"cache": kit.amount(float(cache.size), "B"), "limit": kit.amount(limit, "B")}
        inside = case.tensor_bytes <= limit
        outside = {} if inside else {"dram": kit.dress(significant(case.dram_cut))}
        paragraphs.append(lab.fill("act2.inside" if inside else "act2.outside", **slots, **outside))
    elif not cache:
        paragraphs.append(lab.fill("act2.no_cache", device=the(lab.current_context)))
    return kit.html("\n\n".join(paragraphs))
