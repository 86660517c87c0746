"""What `ironlaw quantise` prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw.cli.show import draw
from ironlaw.units import show, significant

PRUNED = {"csr_32": "CSR, 32-bit columns", "csr_16": "CSR, 16-bit columns", "bitmap": "bitmap", "two_of_four": "2:4"}


def report(result: Mapping[str, Any]) -> None:
    about = result["model"]
    if about:
        draw.say()
        kept = f"; {draw.count(about['kept'])} of them stay in FP16 (embedding, head, vectors)" if about["kept"] else ""
        draw.pairs([(about["name"], f"{draw.count(about['parameters'])} parameters, {show(about['fp16_bytes'], 'B')} in FP16{kept}")])
    draw.heading("by bits", "a symmetric grid over −1 … 1")
    names = ["bits", "levels", "step", "noise", "SQNR", "one bit less", "stored", *(["bytes"] if about else [])]
    draw.table(names, [_row(row) for row in result["rows"]])
    if result["pruned"] is not None:
        draw.heading(f"{draw.percent(result['pruned'])} zeros", "bytes as a share of the dense matrix, 1,024 × 1,024")
        rows = [
            (str(row["bits"]), *((draw.percent(s := row["pruned"][way]), draw.GOOD if s < 1 else draw.BAD) for way in PRUNED), _from(row))
            for row in result["rows"]
        ]
        draw.table(("bits", *PRUNED.values(), "CSR pays from"), rows)
        draw.say("A smaller file does not make the product faster; that takes a sparse kernel.", draw.DIM)


def _row(row: Mapping[str, Any]) -> tuple[str, ...]:
    more = f"{significant(row['next_bit'])}× noise" if row["next_bit"] else "–"
    figures = (
        str(row["bits"]),
        draw.count(row["levels"]),
        significant(row["step"]),
        f"{row['noise']:.3g}",
        f"{row['sqnr_db']:.1f} dB",
        more,
    )
    return (*figures, f"{significant(row['stored_bits'])} bits", *((show(row["bytes"], "B"),) if "bytes" in row else ()))


def _from(row: Mapping[str, Any]) -> str:
    return f"{draw.percent(row['pruned']['csr_32_pays_from'])} zeros"


def frontier(result: Mapping[str, Any], scoreboard: bool) -> None:
    """`scoreboard`: the costs are sizes of files, and the harm is perplexity."""
    draw.say()
    cost, harm = ("size", "perplexity") if scoreboard else ("cost", "harm")
    draw.pairs(
        [
            (
                "on the frontier",
                (f"{result['on_frontier']} of {result['points']}; no other is as good in {cost} and {harm} and better in one", draw.STRONG),
            )
        ]
    )
    rows = [
        (
            row["name"], show(row["cost"], "B") if scoreboard else f"{row['cost']:.4g}", f"{row['harm']:.4g}",
            ("on the frontier", draw.GOOD) if row["on_frontier"] else (f"dominated by {row['dominated_by']}", draw.DIM),
        )
        for row in result["rows"]
    ]  # fmt: skip
    draw.table(("name", cost, harm, "verdict"), rows, left=("name", "verdict"))
