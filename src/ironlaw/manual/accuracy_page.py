"""docs/accuracy.json as tables: how far predictions are from each machine's evidence, by kind of row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw.registry.machines import hardware

INTRO = """
## Every row of evidence

Errors of the predictions against every row of evidence, by machine and kind: `ironlaw validate --history` writes them, and a test holds
them. A row is one measured operator or model. *Mean*: of the errors without their sign; *bias*: with it; *worst*: the largest.
"""


def tables(history: Mapping[str, Any]) -> str:
    """The tables in Markdown, for the end of docs/accuracy.md."""
    parts = [INTRO]
    for machine, kinds in history["machines"].items():
        parts.append(f"### {hardware(machine).name}\n\n| kind | rows | mean | bias | worst |\n|---|--:|--:|--:|--:|")
        parts += [
            f"| {kind} | {one['count']:,} | {one['mean']:.1%} | {_signed(one['bias'])} | {_signed(one['worst'])} |"
            for kind, one in kinds.items()
        ]
        parts.append("")
    return "\n".join(parts)


def _signed(share: float) -> str:
    return f"{share:+.1%}".replace("-", "\u2212")
