"""Act II, panel A: the fusion explorer, and FlashAttention beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ironlaw import kit
from ironlaw.engine.chains import PALETTE
from ironlaw.kit.formula import fraction, line, term
from ironlaw.labs.lab_07_fusion import counters, explorer, here
from ironlaw.labs.lab_07_fusion.act1 import rows_table
from ironlaw.labs.lab_07_fusion.explorer import THREE, Case, Line
from ironlaw.pictures.lines import lines, upright
from ironlaw.pictures.roofline import roofline
from ironlaw.pictures.stack import stack
from ironlaw.pictures.traffic import traffic
from ironlaw.pictures.waterfall import Part
from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure, mark
from ironlaw.widget.quantities import exact, format_quantity

DEVICE = "device"
FOLLOWS = ("bandwidth",)  # what goes where the context goes
BANDWIDTHS = (1.0e12, 2.0e12, 3.35e12, 4.8e12)
HEADS = (64, 128)
FUSED, UNFUSED = "fused", "unfused"


def dials(lab: kit.Lab) -> Any:
    choices = [(DEVICE, "device's"), *((value, f"{value / 1e12:g} TB/s") for value in BANDWIDTHS)]
    palette = [(kind, explorer.LABELS[kind]) for kind in PALETTE]

    def made(values: Mapping[str, Any]) -> list[Any]:
        cloud = lab.chosen.regime == "cloud"
        return [
            kit.chain("chain", "The chain", palette, THREE),
            kit.switch("fusion", "Fusion", False),
            kit.span("rows", "Rows of the tensor", 64, 16384, 1024, log=True),
            kit.span("cols", "Columns", 64, 8192, 768, log=True),
            kit.switch("training", "Training: dropout keeps a mask", False),
            kit.choice("bandwidth", "Memory bandwidth", choices, BANDWIDTHS[1] if cloud else DEVICE),
            kit.span("seq", "Attention: sequence length", 256, 16384, 2048, log=True, steps=list(explorer.SEQUENCES)),
            kit.choice("head", "Attention: head size", [(head, str(head)) for head in HEADS], 128),
        ]

    return made


def case_of(lab: kit.Lab, values: Mapping[str, Any]) -> Case:
    bandwidth = None if values["bandwidth"] == DEVICE else float(values["bandwidth"])
    return explorer.case(lab.chosen, values["chain"], (round(values["rows"]), round(values["cols"])), bandwidth, values["training"])


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    case, fused = case_of(lab, values), bool(values["fusion"])
    seq, head = nearest(values["seq"]), int(values["head"])
    figures = [
        ledger_figure(case, fused),
        times(case, fused),
        roof(case, fused),
        *sizes(lab, case),
        *here.lengths(lab),
        attention_bytes(seq, head),
        attention_times(seq),
    ]
    return kit.View(
        figures,
        cards(case, fused),
        formula(case, fused),
        note=notes(lab, case, seq, head),
        after=ledger_table(case) + verdicts(case),
        readouts=readouts(case, fused),
    )


def nearest(seq: float) -> int:
    """Sequences are those that the slider stops at; one that was typed goes to the nearest."""
    return min(explorer.SEQUENCES, key=lambda known: abs(known / seq - 1) if seq else known)


def readouts(case: Case, fused: bool) -> dict[str, Any]:
    return {
        "fusion_enabled": fused,
        "arithmetic_intensity_unfused": round(float(case.graph.work.intensity), 4),
        "arithmetic_intensity_fused": round(float(case.plan.graph.work.intensity), 4),
    }


def _lines(case: Case, fused: bool) -> list[Line]:
    return explorer.ledger((case.plan.graph if fused else case.graph).ops, explorer.names(case.graph))


def ledger_figure(case: Case, fused: bool) -> Figure:
    shown, other = _lines(case, fused), _lines(case, not fused)
    also = (UNFUSED if fused else FUSED, sum(item.read for item in other), sum(item.written for item in other))
    note = f"{counted(shown)}, {FUSED if fused else UNFUSED}; {format_quantity(case.tensor_bytes, 'B')} a tensor"
    return traffic([(item.name, item.read, item.written) for item in shown], "The byte ledger", note=note, also=[also], id="ledger")


def counted(items: list[Line]) -> str:
    reads, writes = sum(item.tensors[0] for item in items), sum(item.tensors[1] for item in items)
    return f"reads {reads}, writes {writes}"


def times(case: Case, fused: bool) -> Figure:
    """Both terms of both: launches, then what each kernel is bound by."""
    rows = {}
    for name, found in ((UNFUSED, case.unfused), (FUSED, case.fused)):
        memory = sum(float(row.seconds) for row in found.ops if row.regime == "memory")
        compute = sum(float(row.seconds) for row in found.ops if row.regime != "memory")
        rows[name] = [
            Part("launches", float(found.overhead_s), "overhead"),
            Part("memory", memory, "memory"),
            Part("compute", compute, "compute"),
        ]
    note = f"{significant(case.speedup)} × by this model"
    made = stack(rows, "s", "Time from both terms", chosen=FUSED if fused else UNFUSED, label="wall time", note=note, id="times")
    return replace(made, more={**made.more, "width": "half"})


def roof(case: Case, fused: bool) -> Figure:
    """The run as the switch stands, and where the other one is."""
    run, other = (case.fused, case.unfused) if fused else (case.unfused, case.fused)
    work = other.graph.work
    name = UNFUSED if fused else FUSED
    at: dict[str, Any] = {"x": float(work.intensity), "y": float(work.flops / other.seconds)}
    hover = [("intensity", exact(at["x"], "FLOP/B")), ("rate", exact(at["y"], "FLOP/s"))]
    beside = mark("point", "ridge", **at, shape="diamond", size=6, hollow=True, label=name, name=name, id="other", hover=hover)
    return replace(roofline(run, id="roof", extra=[beside]), title="Against the ridge", more={"width": "half"})


def sizes(lab: kit.Lab, case: Case) -> list[Figure]:
    """Eager over fused, by the tensor's size: where the cache ends, fusing begins to save memory traffic. Without a cache in the
    registry only what was measured here is worth the picture."""
    same = case.kinds == THREE and not case.training
    own = here.by_size(lab) if same else {}
    if not case.cache and not own:
        return []
    at = case.sizes
    cached = {
        "DRAM bytes, with the L2": [(c.tensor_bytes, c.dram_cut) for c in at],
        "time, with the L2": [(c.tensor_bytes, c.cached_speedup) for c in at],
    } if case.cache else {}  # fmt: skip
    points = {**cached, "time, if all crosses memory": [(c.tensor_bytes, c.speedup) for c in at]}
    marks = [upright(case.tensor_bytes, "as set", "the tensor as set", "B", "accent", "now")]
    limit = case.crossover_bytes
    if limit:
        label = f"leaves the L2 at {format_quantity(limit, 'B')}"
        marks.append(upright(limit, label, "a tensor whose intermediates fill the L2", "B", id="crossover"))
    measured = {"GPU time": explorer.fusion_measured()} if same else {}
    return [
        lines(
            points, Axis("log", "bytes of one tensor", "B"), Axis("linear", "unfused over fused", "×"), "What fusing saves, by size",
            measured=measured, extra=marks, note=f"L2 of {format_quantity(float(case.cache.size), 'B')}" if case.cache else "", id="sizes",
            here=own,
        )
    ]  # fmt: skip


def attention_bytes(seq: int, head: int) -> Figure:
    found = {s: explorer.flash(s, head) for s in explorer.SEQUENCES}
    series = {"naive": [(float(s), pair[0]) for s, pair in found.items()], "tiled": [(float(s), pair[1]) for s, pair in found.items()]}
    naive, tiled = found[seq]
    return lines(
        series, Axis("log", "sequence length", ticks=tuple(map(float, explorer.SEQUENCES))), Axis("log", "bytes across memory", "B"),
        "Attention: bytes, naive and tiled", now=("naive", float(seq)), note=f"{significant(naive / tiled)} × less at {seq:,}",
        id="attention-bytes", more={"width": "half"},
    )  # fmt: skip


def attention_times(seq: int) -> Figure:
    found = {s: pair for s in explorer.SEQUENCES if (pair := explorer.flash_times(s))}
    series = {name: [(float(s), pair[i]) for s, pair in found.items()] for i, name in enumerate(("naive", "tiled"))}
    here = found.get(seq)
    note = f"{significant(here[0] / here[1])} × faster at {seq:,}" if here else f"not measured at {seq:,}"
    return lines(
        series, Axis("log", "sequence length", ticks=tuple(map(float, found))), Axis("log", "time", "s"), "Attention: measured on an H200",
        now=("naive", float(seq)), note=note, id="attention-times", more={"width": "half"},
    )  # fmt: skip


def cards(case: Case, fused: bool) -> list[dict[str, Any]]:
    now = case.plan.graph if fused else case.graph
    kernels, alone = round(float(case.plan.graph.kernels)), round(float(case.graph.kernels))
    intensity = float(now.work.intensity)
    far = case.ridge / intensity if intensity else 0.0
    return [
        {**kit.card("Traffic", float(now.bytes), "B", note=FUSED if fused else UNFUSED, digits=3), "term": "memory"},
        kit.card(
            "Traffic saved",
            case.traffic_cut,
            "×",
            note=f"{format_quantity(float(case.graph.bytes), 'B')} to {format_quantity(float(case.plan.graph.bytes), 'B')}",
        ),
        kit.card("Speedup", case.speedup, "×", tone=kit.tone("fusion_speedup", round(case.speedup, 9)), note="launches and memory"),
        {"label": "Launches", "value": str(kernels if fused else alone), "note": f"{alone} unfused, {kernels} fused"},
        kit.card("Intensity, FLOP/B", intensity, "", note=side(intensity, case.ridge, far)),
    ]


def side(intensity: float, ridge: float, far: float) -> str:
    if not intensity:
        return "no arithmetic"
    return (
        f"{significant(far)} × under the ridge of {format_quantity(ridge, 'FLOP/B')}"
        if intensity < ridge
        else f"over the ridge of {format_quantity(ridge, 'FLOP/B')}"
    )


def formula(case: Case, fused: bool) -> str:
    found = case.fused if fused else case.unfused
    busy = float(found.busy_s)
    launches = f"{round(float(found.kernels))} × {kit.amount(case.machine.launch, 's')}"
    moved = fraction(kit.amount(float(found.graph.bytes), "B"), kit.amount(float(case.machine.bandwidth), "B/s"))
    memory_bound = all(row.regime == "memory" for row in found.ops)
    over = term("memory", fraction("<i>D</i>", "<i>BW</i>"))
    symbols = line("<i>T</i> =", term("overhead", "<i>N</i>·<i>t</i><sub>dispatch</sub>"), "+", over)
    return symbols + line(
        "=", term("overhead", launches), "+", term("memory", moved) if memory_bound else term("compute", kit.amount(busy, "s")), "=",
        kit.amount(float(found.seconds), "s"),
    )  # fmt: skip


def ledger_table(case: Case) -> str:
    def row(when: str, item: Line) -> str:
        cells = (when, str(item.tensors[0]), kit.amount(item.read, "B"), str(item.tensors[1]), kit.amount(item.written, "B"))
        return f'<tr><th scope="row">{item.name}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'

    rows = [row(when, item) for when, on in (("before", False), ("after", True)) for item in _lines(case, on)]
    return rows_table("Byte ledger, before and after", ("Kernel", "", "Reads", "Bytes read", "Writes", "Bytes written"), rows)


def verdicts(case: Case) -> str:
    named = explorer.names(case.graph)
    rows = [
        f'<tr><th scope="row">{named[v.producer]} → {named[v.consumer]}</th><td>{"fuses" if v.fused else "stays apart"}</td>'
        f"<td>{v.pattern}</td><td>{v.reason}</td></tr>"
        for v in case.plan.verdicts
    ]
    return rows_table("Which ops fuse, and why", ("Edge", "Verdict", "Pattern", "Why"), rows) if rows else ""


def notes(lab: kit.Lab, case: Case, seq: int, head: int) -> str:
    told = [lab.fill("act2.terms")]
    limit, cache = case.crossover_bytes, case.cache
    if cache and limit:
        words = "act2.inside" if case.tensor_bytes <= limit else "act2.outside"
        slots = {"cache": kit.amount(float(cache.size), "B"), "limit": kit.amount(limit, "B"), "dram": kit.times(case.dram_cut)}
        told.append(lab.fill(words, **slots))
    elif not cache:
        told.append(lab.fill("act2.no_cache", device=lab.chosen.label))
    told.append(lab.fill("act2.counters", **counters.slots()))
    told.append(lab.fill("act2.flash", **flash_slots(seq, head)))
    return kit.html("\n\n".join(told))


def flash_slots(seq: int, head: int) -> dict[str, object]:
    naive, tiled = explorer.flash(seq, head)
    ratios = [pair[0] / pair[1] for s in explorer.SEQUENCES if (pair := explorer.flash_times(s))]
    return {
        "seq": f"{seq:,}", "head": str(head), "naive": kit.amount(naive, "B"),
        "tiled": kit.amount(tiled, "B"), "cut": kit.times(naive / tiled),
        "low": significant(min(ratios)), "high": kit.times(max(ratios)), "measured_head": str(explorer.MEASURED_HEAD),
    }  # fmt: skip
