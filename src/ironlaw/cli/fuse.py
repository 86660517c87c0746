"""`ironlaw fuse`: a model's graph fused by the decision tree."""

from __future__ import annotations

import argparse
from collections import Counter
from functools import partial
from typing import Any

from ironlaw.cli.options import Parser, add_json, add_parameters
from ironlaw.cli.show import draw
from ironlaw.engine.device.fusion import FusionPlan, Group
from ironlaw.engine.device.fusion_rules import Verdict
from ironlaw.systems.workload_settings import Sizes, by_batch, settings
from ironlaw.units import show

EXAMPLE = """
ironlaw fuse resnet50
ironlaw fuse gpt2_layer --batch 8 --seq 128 --verbose
"""


def add(parser: Parser) -> None:
    parser.usage = "ironlaw fuse WORKLOAD [options]"
    parser.add_argument("workload", metavar="WORKLOAD", help="a model; see `ironlaw workload`")
    parser.add_argument("--verbose", action="store_true", help="list every pair of operators, fused or not, and why")
    add_json(parser)
    add_parameters(parser, Sizes)


def run(args: argparse.Namespace) -> int:
    from ironlaw import fuse, workload

    plans = {n: fuse(graph) for n, graph in by_batch(settings(args), partial(workload, args.workload)).items()}
    plan = next(iter(plans.values()))
    if args.json:
        several = [{"batch": n} | _before_after(each) for n, each in plans.items()] if len(plans) > 1 else []
        draw.emit(as_json(plan, args.verbose) | {"variants": several}, "ironlaw-fuse/1")
        return 0
    report(plan, args.verbose)
    batches(plans)
    return 0


def batches(plans: dict[int | None, FusionPlan]) -> None:
    """Several batches side by side."""
    if len(plans) > 1:
        draw.heading("batches", "bytes moved")
        amounts = {n: (plan.source.bytes, plan.graph.bytes) for n, plan in plans.items()}
        rows = [(f"{n:,}", show(a, "B"), show(b, "B"), _less(a, b)) for n, (a, b) in amounts.items()]
        draw.table(["batch", "before", "after", "saved"], rows)


def report(plan: FusionPlan, verbose: bool) -> None:
    before, after = plan.source, plan.graph
    draw.heading(before.name, f"fused by the decision tree, {before.dtype}")
    rows = [
        ("kernels", draw.count(before.kernels), draw.count(after.kernels), _less(before.kernels, after.kernels)),
        ("bytes moved", show(before.bytes, "B"), show(after.bytes, "B"), _less(before.bytes, after.bytes)),
    ]
    draw.table(["", "before", "after", "saved"], rows, left=("",))
    groups(plan)
    verdicts(plan.verdicts) if verbose else refusals(plan.verdicts)


def _less(before: float, after: float) -> str:
    return draw.percent((before - after) / before) if before else "–"


def groups(plan: FusionPlan) -> None:
    """Fused kernels, those of the same make counted together, each with the reason under it."""
    from rich.text import Text

    rows = []
    for (kinds, patterns), same in makes(plan).items():
        what = Text.assemble(chain(kinds), "\n", (_shortly(same[0][0].reason), draw.DIM))
        rows.append((f"×{len(same)}", what, "\n".join(patterns), show(sum(saved for _, saved in same), "B")))
    if rows:
        draw.table(["", "one kernel of", "pattern", "saves"], rows, left=("pattern",), text=("one kernel of",), sections=range(len(rows)))
    alone = sum(len(group.ops) == 1 for group in plan.groups)
    draw.say(f"{alone} of {len(plan.source.ops)} operators are not fused.", draw.DIM)


Make = tuple[tuple[str, ...], tuple[str, ...]]


def makes(plan: FusionPlan) -> dict[Make, list[tuple[Group, float]]]:
    """Groups of more than one op and the bytes each saves, by the kinds in them and the branches of the tree; commonest first."""
    alike: dict[Make, list[tuple[Group, float]]] = {}
    for group, kernel in zip(plan.groups, plan.graph.ops, strict=True):  # one kernel per group, in the same order
        if len(group.ops) > 1:
            saved = sum(op.work.bytes for op in group.ops) - kernel.work.bytes
            alike.setdefault((tuple(op.kind for op in group.ops), group.patterns), []).append((group, saved))
    return dict(sorted(alike.items(), key=lambda item: -len(item[1])))


def _shortly(reason: str) -> str:
    """The first reasons of a long chain of edges; --verbose has them all."""
    first, *rest = reason.split("; ")
    if len(rest) > 2:
        rest = [rest[0], f"and {len(rest) - 1} more pairs like these"]
    return "; ".join([first, *rest])


def chain(kinds: tuple[str, ...]) -> str:
    """`mul + mul + add` -> `2 mul + add`."""
    runs: list[tuple[str, int]] = []
    for kind in kinds:
        runs = [*runs[:-1], (kind, runs[-1][1] + 1)] if runs and runs[-1][0] == kind else [*runs, (kind, 1)]
    return " + ".join(kind if times == 1 else f"{times} {kind}" for kind, times in runs)


def refusals(decisions: tuple[Verdict, ...]) -> None:
    counted = Counter((v.pattern, v.reason) for v in decisions if not v.fused)
    if counted:
        draw.heading("not fused", "--verbose lists every pair")
        draw.table(["", "because"], [(f"×{times}", reason) for (_, reason), times in counted.most_common()], text=("because",))


def verdicts(decisions: tuple[Verdict, ...]) -> None:
    draw.heading("every pair", f"{sum(v.fused for v in decisions)} of {len(decisions)} pairs fused")
    rows = [(f"{v.producer}\n→ {v.consumer}", (v.pattern, draw.GOOD) if v.fused else ("no", draw.BAD), v.reason) for v in decisions]
    draw.table(["pair", "fused", "because"], rows, left=("pair", "fused"), text=("because",))


def _before_after(plan: FusionPlan) -> dict[str, Any]:
    sides = {"before": plan.source, "after": plan.graph}
    return {name: {"kernels": int(graph.kernels), "bytes": graph.bytes} for name, graph in sides.items()}


def as_json(plan: FusionPlan, verbose: bool) -> dict[str, Any]:
    out: dict[str, Any] = {"workload": plan.source.name, "dtype": plan.source.dtype} | _before_after(plan)
    out["groups"] = [{"name": g.name, "ops": [op.name for op in g.ops], "patterns": g.patterns, "reason": g.reason} for g in plan.groups]
    if verbose:
        out["verdicts"] = [
            {"producer": v.producer, "consumer": v.consumer, "fused": v.fused, "pattern": v.pattern, "reason": v.reason}
            for v in plan.verdicts
        ]
    return out
