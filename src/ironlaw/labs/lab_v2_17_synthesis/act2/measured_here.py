"""What the learner measured in earlier labs, laid beside the laws that this page composes."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from ironlaw import kit
from ironlaw.labs.tables import scrolling_table
from ironlaw.units import show, significant

# experiment -> the part of the system whose law it tried
PARTS = {
    "collectives": "wires", "scaling": "replicas that sum up gradients", "checkpointing": "saves and failures",
    "kv_decode": "a decode step", "tails": "calls one after the other", "staircase": "levels of memory and wires",
}  # fmt: skip


def table(lab: kit.Lab) -> str:
    """Empty where nothing was measured yet."""
    rows = []
    for name, part in PARTS.items():
        run = lab.local_run(name)
        if run is not None and run.rows:
            first = run.rows[0]
            rows.append((escape(part), escape(_label(first)), escape(_value(first)), f"{len(run.rows)}", escape(run.source)))
    return scrolling_table("Measured on your own machine", ("part", "for example", "measured", "rows", "source"), rows) if rows else ""


def _label(row: Mapping[str, Any]) -> str:
    return str(row.get("label") or row.get("name") or row.get("op") or row.get("kind"))


def _value(row: Mapping[str, Any]) -> str:
    return show(row["wall_s"], "s") if "wall_s" in row else f"{significant(row['value'])} {row.get('unit', '')}"
