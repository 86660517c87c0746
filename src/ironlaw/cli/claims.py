"""`ironlaw claims`: what is commonly claimed, computed again by the engine."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from ironlaw.cli.options import Parser, add_json
from ironlaw.cli.show import draw

if TYPE_CHECKING:  # claims compute with the whole engine; --help need not wait for it
    from ironlaw.registry.claims import Claim

EXAMPLE = """
ironlaw claims
ironlaw claims three_op_fusion_5x --json
"""
STYLES = {"holds": draw.GOOD, "refuted": draw.BAD, "depends": draw.TERMS["overhead"]}
FIELDS = (
    "id",
    "says",
    "who",
    "source",
    "date",
    "value",
    "upto",
    "unit",
    "relation",
    "tolerance",
    "expression",
    "verdict",
    "why",
    "evidence",
)


def add(parser: Parser) -> None:
    parser.usage = "ironlaw claims [ID] [--json]"
    parser.add_argument("id", metavar="ID", nargs="?", help="one claim in full; without it, all of them")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    from ironlaw.registry.claims import claim, claims

    if args.id is not None:
        one = claim(args.id)
        draw.emit(as_json(one)) if args.json else in_full(one)
    else:
        every = list(claims().values())
        draw.emit([as_json(one) for one in every]) if args.json else listing(every)
    return 0


def listing(claims: list[Claim]) -> None:
    from rich.text import Text

    rows = [(Text.assemble((claim.id, draw.STRONG), "\n", claim.says), claim.claimed, claim.model, _verdict(claim)) for claim in claims]
    draw.table(["claim", "claimed", "computed", "verdict"], rows, left=("verdict",), text=("claim", "claimed"), sections=range(len(rows)))
    counts = ", ".join(f"{sum(claim.verdict == name for claim in claims)} {name}" for name in STYLES)
    draw.say(f"{counts}. `ironlaw claims ID` shows who says so, how it is computed and what was measured.", draw.DIM)


def in_full(claim: Claim) -> None:
    draw.heading(claim.says, claim.id)
    rows: list[tuple[str, draw.Cell]] = [("verdict", _verdict(claim)), ("because", claim.why), ("claimed", claim.claimed)]
    rows.append(("computed", (claim.model, draw.STRONG)))
    if claim.measured:
        from ironlaw.registry.claims import shown

        rows.append(("measured", f"{shown(claim.measured.value, claim.measured.unit)} ({claim.measured.source})"))
    rows += [("computed as", " ".join(claim.expression.split())), ("who", claim.who), ("source", f"{claim.source}, {claim.date}")]
    draw.pairs([*rows, *(("evidence", text) for text in claim.evidence)])


def _verdict(claim: Claim) -> draw.Cell:
    return claim.verdict, STYLES.get(claim.verdict, "")


def as_json(claim: Claim) -> dict[str, Any]:
    out = {name: getattr(claim, name) for name in FIELDS} | {"computed": _finite(claim.computed), "holds": bool(claim.holds)}
    measured = claim.measured
    out["measured"] = {"value": _finite(measured.value), "unit": measured.unit, "source": measured.source} if measured else None
    return out


def _finite(value: float) -> float | str:
    return "never" if math.isinf(value) else value
