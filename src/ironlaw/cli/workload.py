"""`ironlaw workload`: all models, or one with what its operators ask of a machine."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from ironlaw.cli.options import Parser, add_json, add_parameters
from ironlaw.cli.show import draw
from ironlaw.cli.show.prediction_lines import sizes
from ironlaw.engine.device.types import Graph, Op, Work
from ironlaw.formats import intensity_unit, operation
from ironlaw.systems.workload_settings import Sizes, by_batch, settings
from ironlaw.units import show, significant

if TYPE_CHECKING:
    from ironlaw.outputs.registry_output import WorkloadOp, WorkloadTotals

EXAMPLE = """
ironlaw workload
ironlaw workload resnet50 --batch 1,32 --dtype fp16
"""
TOP = 10


def add(parser: Parser) -> None:
    parser.usage = "ironlaw workload [NAME] [options]"
    parser.add_argument("name", metavar="NAME", nargs="?", help="a slug, such as resnet50; without it, all models")
    parser.add_argument("--ops", action="store_true", help="list every operator in the order it runs")
    add_json(parser)
    add_parameters(parser, Sizes)


def run(args: argparse.Namespace) -> int:
    from ironlaw.errors import BadValue
    from ironlaw.registry.workloads import workload, workloads

    chosen = settings(args)
    if args.name is not None:
        graphs = by_batch(chosen, partial(workload, args.name))
        graph, *others = graphs.values()
        if args.json:
            several = [{"batch": n, **_totals(each)} for n, each in graphs.items()] if others else []
            draw.emit(as_json(graph, args.ops) | {"variants": several}, "ironlaw-workload/1")
        else:
            in_full(graph, args.ops)
            batches(graphs)
        return 0
    if chosen or args.ops:
        raise BadValue(f"--{next(iter(chosen), 'ops')} is for one model; name it: ironlaw workload resnet50 …")
    every = [workload(slug) for slug in workloads()]
    draw.emit({"workloads": [_totals(graph) for graph in every]}, "ironlaw-workloads/1") if args.json else listing(every)
    return 0


def listing(graphs: list[Graph]) -> None:
    rows = [
        (
            g.name,
            about_family(g),
            show(g.params),
            show(g.flops, operation(g.dtype)),
            show(g.bytes, "B"),
            draw.count(g.kernels),
            str(g.settings.get("seq", "–")),
        )
        for g in graphs
    ]
    draw.table(["slug", "family", "parameters", "work", "moved", "kernels", "tokens"], rows, left=("slug", "family"))
    draw.say("At each model's defaults (one sample; --batch, --seq, --dtype … of `ironlaw workload NAME` change them).", draw.DIM)
    draw.say("work: matmuls, convolutions and attention. moved: bytes that cross memory when run operator by operator.", draw.DIM)


def batches(graphs: dict[int | None, Graph]) -> None:
    """Several batches side by side."""
    if len(graphs) < 2:
        return
    draw.heading("batches", "one call of each")
    rows = []
    for n, g in graphs.items():
        amounts = (show(g.flops, operation(g.dtype)), show(g.bytes, "B"), significant(g.work.intensity), draw.count(g.kernels))
        rows.append((f"{n:,}", *amounts))
    draw.table(["batch", "work", "moved", intensity_unit(next(iter(graphs.values())).dtype), "kernels"], rows)


def about_family(graph: Graph) -> str:
    from ironlaw.registry.workloads import about

    return str(about(graph.name)["family"])


def in_full(graph: Graph, every: bool) -> None:
    from ironlaw.registry.workloads import about

    data = about(graph.name)
    draw.heading(str(data["name"]), " · ".join([graph.name, *sizes(graph), graph.dtype]))
    work, intensity, unit = graph.work, graph.work.intensity, operation(graph.dtype)
    draw.pairs(
        [
            ("family", str(data["family"])),
            ("parameters", f"{draw.count(graph.params)}, {show(graph.weight_bytes, 'B')} in {graph.dtype}"),
            ("work", f"{show(graph.flops, unit)} in matmuls, convolutions and attention; {show(work.flops, unit)} in all"),
            ("moved", f"{show(work.read, 'B')} read, {show(work.written, 'B')} written"),
            ("intensity", f"{significant(intensity)} {intensity_unit(graph.dtype)}"),
            ("kernels", draw.count(graph.kernels)),
            *([("KV cache", show(graph.cache_bytes, "B"))] if graph.cache_bytes else []),
            ("source", f"{data['source']}, {data['date']}"),
        ]
    )
    kinds(graph)
    operators(graph.ops) if every else heaviest(graph)


def kinds(graph: Graph) -> None:
    total, unit = graph.work, operation(graph.dtype)
    rows = []
    for kind, work in by_kind(graph).items():
        amounts = (show(work.flops, unit), _share(work.flops, total.flops), show(work.bytes, "B"), _share(work.bytes, total.bytes))
        rows.append((kind, draw.count(sum(op.kind == kind for op in graph.ops)), *amounts))
    draw.table(["kind", "operators", "work", "share", "moved", "share "], rows, left=("kind",))


def by_kind(graph: Graph) -> dict[str, Work]:
    """Work added up per kind of operator, most bytes first."""
    sums: dict[str, Work] = {}
    for op in graph.ops:
        sums[op.kind] = sums.get(op.kind, Work()) + op.work
    return dict(sorted(sums.items(), key=lambda item: -item[1].bytes))


@dataclass(frozen=True, slots=True)
class Alike:
    """Operators of one shape: the first of them, and how many there are."""

    op: Op
    times: int

    @property
    def flops(self) -> float:
        return float(self.op.work.flops) * self.times

    @property
    def bytes(self) -> float:
        return float(self.op.work.bytes) * self.times


def alike(graph: Graph) -> list[Alike]:
    """Operators that cost the same, together; most work first."""
    groups: dict[Any, list[Op]] = {}
    for op in graph.ops:
        groups.setdefault(op.key, []).append(op)
    shapes = [Alike(ops[0], len(ops)) for ops in groups.values()]
    return sorted(shapes, key=lambda a: (-a.flops, -a.bytes))


def heaviest(graph: Graph) -> None:
    shapes = alike(graph)
    draw.heading(f"{min(TOP, len(shapes))} heaviest of {len(shapes)} shapes of operator", "all of them: --ops")
    rows = [
        (
            f"×{a.times}",
            a.op.name,
            a.op.kind,
            _shape(a.op),
            show(a.flops, operation(a.op.dtype)),
            show(a.bytes, "B"),
            significant(a.op.work.intensity) if a.bytes else "–",
        )
        for a in shapes[:TOP]
    ]
    draw.table(
        ["", "first", "kind", "output", "work", "moved", intensity_unit(graph.dtype)], rows, left=("kind",), text=("first", "output")
    )


def operators(ops: Iterable[Op]) -> None:
    rows = [(op.name, op.kind, _shape(op), show(op.work.flops, operation(op.dtype)), show(op.work.bytes, "B")) for op in ops]
    draw.table(["operator", "kind", "output", "work", "moved"], rows, left=("kind",), text=("operator", "output"))


def _shape(op: Op) -> str:
    return "×".join(f"{size:g}" if size < 1e6 else f"{size:.0f}" for size in map(float, op.outputs[0].shape))


def _share(part: float, whole: float) -> str:
    return draw.percent(part / whole) if whole else "–"


def _totals(graph: Graph) -> WorkloadTotals:
    return {
        "slug": graph.name, "family": about_family(graph), "dtype": graph.dtype, "params": int(graph.params), "flops": graph.flops,
        "bytes": graph.bytes, "kernels": int(graph.kernels), "intensity": graph.work.intensity,
    }  # fmt: skip


def as_json(graph: Graph, every: bool) -> dict[str, Any]:
    from ironlaw.registry.workloads import about

    data = about(graph.name)
    out: dict[str, Any] = {**_totals(graph), "name": data["name"], "source": data["source"], "date": data["date"]}
    out["settings"] = {name: value for name, value in graph.settings.items() if name != "wholes"}  # those that can be chosen
    out |= {"all_flops": graph.work.flops, "read": graph.work.read, "written": graph.work.written}
    out |= {"weight_bytes": graph.weight_bytes, "cache_bytes": graph.cache_bytes}
    out["kinds"] = {
        kind: {"flops": work.flops, "bytes": work.bytes, "kernels": int(work.launches)} for kind, work in by_kind(graph).items()
    }
    out["heaviest"] = [{**_op(a.op), "times": a.times} for a in alike(graph)[:TOP]]
    if every:
        out["ops"] = [_op(op) for op in graph.ops]
    return out


def _op(op: Op) -> WorkloadOp:
    return {
        "name": op.name,
        "kind": op.kind,
        "output": op.outputs[0].shape,
        "flops": op.work.flops,
        "read": op.work.read,
        "written": op.work.written,
    }
