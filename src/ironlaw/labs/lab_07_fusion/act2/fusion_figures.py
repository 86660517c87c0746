"""The fusion explorer's pictures: bytes, time, roof, size of the tensor, and attention both ways."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.labs.lab_07_fusion.act2 import fusion, local_runs
from ironlaw.labs.lab_07_fusion.act2.fusion import THREE, Case, Line
from ironlaw.pictures.lines import lines, upright
from ironlaw.pictures.stack import stack
from ironlaw.pictures.traffic import traffic
from ironlaw.pictures.waterfall import Part
from ironlaw.registry.machines import hardware
from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure
from ironlaw.widget.hold import hold
from ironlaw.widget.quantities import format_quantity

FUSED, UNFUSED = "fused", "unfused"


def ledger_lines(case: Case, fused: bool) -> list[Line]:
    return fusion.ledger((case.plan.graph if fused else case.graph).ops, fusion.names(case.graph))


def byte_ledger(case: Case, fused: bool) -> Figure:
    shown, other = ledger_lines(case, fused), ledger_lines(case, not fused)
    also = (UNFUSED if fused else FUSED, sum(item.read for item in other), sum(item.written for item in other))
    note = f"{transfers(shown)}, {FUSED if fused else UNFUSED}; {format_quantity(case.tensor_bytes, 'B')} per tensor"
    moved = format_quantity(sum(item.read + item.written for item in shown), "B")
    title = f"{'Fused' if fused else 'Unfused'}, the chain moves {moved}"
    return traffic([(item.name, item.read, item.written) for item in shown], title, note=note, also=[also], id="ledger")


def transfers(items: list[Line]) -> str:
    """How many tensors are read and written."""
    reads, writes = sum(item.tensors[0] for item in items), sum(item.tensors[1] for item in items)
    return f"reads {reads}, writes {writes}"


def times(case: Case, fused: bool) -> Figure:
    """Both terms of both: launches, then what each kernel is bound by."""
    rows = {}
    for name, prediction in ((UNFUSED, case.unfused), (FUSED, case.fused)):
        memory = sum(float(row.seconds) for row in prediction.ops if row.regime == "memory")
        compute = sum(float(row.seconds) for row in prediction.ops if row.regime != "memory")
        rows[name] = [
            Part("launches", float(prediction.overhead_s), "overhead"),
            Part("memory", memory, "memory"),
            Part("compute", compute, "compute"),
        ]
    title = f"By the model, the fused chain is {significant(case.speedup)}× as fast"
    return stack(rows, "s", title, chosen=FUSED if fused else UNFUSED, label="wall time", id="times")


def sizes(lab: kit.Lab, case: Case) -> list[Figure]:
    """Eager over fused, by the tensor's size: where the cache ends, fusing begins to save memory traffic. Without a cache in the
    registry only what was measured here is worth the picture."""
    same = case.kinds == THREE and not case.training
    local = local_runs.by_size(lab) if same else {}
    if not case.cache and not local:
        return []
    at = case.sizes
    cached = {
        "DRAM bytes, with the L2": [(c.tensor_bytes, c.dram_cut) for c in at],
        "time, with the L2": [(c.tensor_bytes, c.cached_speedup) for c in at],
    } if case.cache else {}  # fmt: skip
    points = {**cached, "time, if all crosses memory": [(c.tensor_bytes, c.speedup) for c in at]}
    marks = [
        upright(case.tensor_bytes, "as set", "the tensor as set", "B", "accent", "now", hold("rows", per=case.tensor_bytes / case.shape[0]))
    ]
    limit = case.crossover_bytes
    if limit:
        label = f"leaves the L2 at {format_quantity(limit, 'B')}"
        marks.append(upright(limit, label, "a tensor whose intermediates fill the L2", "B", id="crossover"))
    measured = {"GPU time": fusion.measured_gains()} if same else {}
    return [
        lines(
            points, Axis("log", "bytes of one tensor", "B"), Axis("linear", "gain from fusing", "×"), "What fusing saves, by size",
            measured=measured, measured_on=hardware("h200_sxm").name, extra=marks,
            note=f"L2 of {format_quantity(float(case.cache.size), 'B')}" if case.cache else "", id="sizes",
            local=local,
        )
    ]  # fmt: skip


def attention_bytes(seq: int, head: int) -> Figure:
    traffic = {s: fusion.flash(s, head) for s in fusion.SEQUENCES}
    series = {"naive": [(float(s), pair[0]) for s, pair in traffic.items()], "tiled": [(float(s), pair[1]) for s, pair in traffic.items()]}
    naive, tiled = traffic[seq]
    return lines(
        series, Axis("log", "sequence length", ticks=tuple(map(float, fusion.SEQUENCES))), Axis("log", "bytes across memory", "B"),
        "Bytes that attention moves", now=("naive", float(seq)), drag=hold("seq"), note=f"{significant(naive / tiled)}× less at {seq:,}",
        id="attention-bytes",
    )  # fmt: skip


def attention_times(seq: int) -> Figure:
    runs = {s: pair for s in fusion.SEQUENCES if (pair := fusion.flash_times(s))}
    series = {name: [(float(s), pair[i]) for s, pair in runs.items()] for i, name in enumerate(("naive", "tiled"))}
    times = runs.get(seq)
    note = f"{significant(times[0] / times[1])}× faster at {seq:,}" if times else f"not measured at {seq:,}"
    return lines(
        series, Axis("log", "sequence length", ticks=tuple(map(float, runs))), Axis("log", "time", "s"),
        "Time that attention takes, measured on an H200", now=("naive", float(seq)), drag=hold("seq"), note=note, id="attention-times",
    )  # fmt: skip
