"""Which ops become one kernel and why, and which edges were refused and why."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from ironlaw.engine.device.fusion import FusionPlan, fuse
from ironlaw.engine.device.types import Op
from ironlaw.report.analysis import Analysis
from ironlaw.report.markup import paragraph, text
from ironlaw.widget.quantities import format_quantity

GROUPS: list[dict[str, Any]] = [
    {"label": "kernel"}, {"label": "times", "unit": ""}, {"label": "operators", "unit": ""}, {"label": "kinds"}, {"label": "branch"},
    {"label": "traffic saved", "unit": "B"}, {"label": "why", "long": True},
]  # fmt: skip
EDGES: list[dict[str, Any]] = [
    {"label": "from"}, {"label": "to"}, {"label": "times", "unit": ""}, {"label": "branch"}, {"label": "why not", "long": True},
]  # fmt: skip
LAYER = re.compile(r"(?<=\.)\d+(?=\.|$|…)")
LINKS = 6  # kinds of a chain that are listed
ALIKE = " visit the same elements in the same order"


def section(analysis: Analysis) -> tuple[str, dict[str, Any]]:
    """The section's words with places for its tables, and the tables."""
    out, tables = "", {}
    for i, (name, rules) in enumerate(analysis.rules.items()):
        plan = fuse(analysis.graph, rules)
        out += f"<h3>By {text(name)}</h3>" + paragraph(_words(plan))
        for what, grid in ((f"groups-{i}", _groups(plan)), (f"edges-{i}", _edges(plan))):
            if grid["rows"]:
                out += f'<h4>{text(grid["label"])}</h4><div data-grid="{what}"></div>'
                tables[what] = grid
    return out, tables


def _words(plan: FusionPlan) -> str:
    joined = [group for group in plan.groups if len(group.ops) > 1]
    if not joined:
        return "Nothing is fused, because no two neighbours may share a kernel."
    inside = sum(len(group.ops) for group in joined)
    common, count = Counter(chain(group.ops) for group in joined).most_common(1)[0]
    saved = format_quantity(float(plan.bytes_saved), "B")
    return (
        f"{inside:,} of {len(plan.source.ops):,} ops become {len(joined):,} kernels; {len(plan.groups) - len(joined):,} are not fused."
        f" {saved} of {format_quantity(float(plan.source.bytes), 'B')} of traffic is saved, most often by fusing {common} (×{count})."
    )


def chain(ops: Sequence[Op]) -> str:
    """What a kernel is made of: `mul + add ×54 + relu`; of a long chain its beginning."""
    runs = [(kind, len(list(alike))) for kind, alike in groupby(op.kind for op in ops)]
    parts = [kind if count == 1 else f"{kind} ×{count}" for kind, count in runs]
    return " + ".join(parts[:LINKS]) + (f" + {len(parts) - LINKS} more" if len(parts) > LINKS else "")


def every_layer(name: str) -> str:
    """`h.3.mlp.act.mul.2` -> `h.*.mlp.act.mul.*`: what repeats layer by layer has one name."""
    return LAYER.sub("*", name)


def shorter(reason: str) -> str:
    """A chain of element-wise ops gives the same reason for each link: once is enough."""
    parts = reason.split("; ")
    rest = [part for part in parts if not part.endswith(ALIKE)]
    if len(parts) - len(rest) < 2:
        return reason
    return "; ".join([*rest, ("the others" if rest else "all") + ALIKE])


def _groups(plan: FusionPlan) -> dict[str, Any]:
    """Kernels with the same kinds, branch and reason share a row."""
    alike: dict[tuple[str, str, str], list[Any]] = {}
    for group, merged in zip(plan.groups, plan.graph.ops, strict=True):
        if len(group.ops) > 1:
            saved = sum(float(op.work.bytes) for op in group.ops) - float(merged.work.bytes)
            key = (chain(group.ops), ", ".join(group.patterns), shorter(group.reason))
            row = alike.setdefault(key, [group.name, 0, len(group.ops), key[0], key[1], 0.0, key[2]])
            row[1] += 1
            row[5] += saved
    rows = [[every_layer(row[0]) if row[1] > 1 else row[0], *row[1:]] for row in alike.values()]
    return {"label": "Fused groups", "columns": GROUPS, "rows": rows, "kind": 3, "sort": [5, -1]}


def _edges(plan: FusionPlan) -> dict[str, Any]:
    counts = Counter((every_layer(v.producer), every_layer(v.consumer), v.pattern, v.reason) for v in plan.verdicts if not v.fused)
    rows = [[producer, consumer, count, pattern, reason] for (producer, consumer, pattern, reason), count in counts.items()]
    return {"label": "Pairs that are not fused", "columns": EDGES, "rows": rows, "kind": 3, "sort": None}
