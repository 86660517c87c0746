"""`ironlaw claims`: what is commonly claimed, judged by every row of evidence that measures it."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from ironlaw.cli.options import Parser, add_json
from ironlaw.cli.show import draw
from ironlaw.errors import BadValue

if TYPE_CHECKING:
    from ironlaw.outputs.registry_output import Amount, ClaimReading

if TYPE_CHECKING:  # claims compute with the whole engine; --help need not wait for it
    from ironlaw.claims import Claim, Reading

EXAMPLE = """
ironlaw claims
ironlaw claims flash_wall_24x
ironlaw claims three_op_fusion_5x --json
ironlaw claims --check
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
    "expected",
    "why",
    "evidence",
)
MOST_ROWS = 24  # readings of a claim that are listed


def add(parser: Parser) -> None:
    parser.usage = "ironlaw claims [ID] [--check] [--json]"
    parser.add_argument("id", metavar="ID", nargs="?", help="show one claim in full, with its measurements; without an ID, all of them")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a claim's words, its verdict and the evidence disagree")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    from ironlaw.claims import claim, claims

    if args.check:
        if args.id is not None:
            raise BadValue("--check covers all claims; leave out the ID")
        return check(list(claims().values()), args.json)
    if args.id is not None:
        one = claim(args.id)
        draw.emit(as_json(one), "ironlaw-claim/1") if args.json else in_full(one)
    else:
        every = list(claims().values())
        draw.emit({"claims": [as_json(one) for one in every]}, "ironlaw-claims/1") if args.json else listing(every)
    return 0


def check(claims: list[Claim], json: bool) -> int:
    from ironlaw.claims import problems

    faults = list(problems(claims))
    count = sum(len(claim.judgement.readings) for claim in claims if claim.judgement.measured)
    if json:
        draw.emit({"claims": len(claims), "readings": count, "problems": faults}, "ironlaw-claims-check/1")
    else:
        for fault in faults:
            draw.say(f"✗ {fault}", draw.BAD)
        if not faults:
            draw.say(f"✓ {len(claims)} claims: words, expected verdicts and {count:,} readings agree", draw.GOOD)
    return 1 if faults else 0


def listing(claims: list[Claim]) -> None:
    for claim in claims:
        judged = claim.judgement
        rows = f"{judged.held} of {len(judged.readings)} readings agree" if judged.measured else "computed only"
        draw.say(f"{judged.verdict:8} {claim.id}", STYLES[judged.verdict])
        draw.say(claim.says)
        draw.say(f"claimed {claim.claimed}, computed {claim.model}; {rows}", draw.DIM)
        if judged.premise:
            draw.say(judged.sentence, draw.DIM)
        draw.say()
    counts = ", ".join(f"{sum(claim.verdict == name for claim in claims)} {name}" for name in STYLES)
    draw.say(f"{counts}. `ironlaw claims ID` shows who says so, how it is computed and what was measured.", draw.DIM)


def in_full(claim: Claim) -> None:
    from ironlaw.claims import shown

    judged, measured = claim.judgement, claim.measured
    draw.heading(claim.says, claim.id)
    rows: list[tuple[str, draw.Cell]] = [("verdict", _verdict(claim)), ("premise", judged.sentence), ("because", claim.why)]
    rows += [("claimed", claim.claimed), ("computed", (claim.model, draw.STRONG))]
    if measured:
        rows.append(("measured", f"{shown(measured.value, measured.unit)} ({measured.source})"))
        if measured.differs:
            rows.append(("but", f"it does not decide the verdict. {measured.differs}"))
    draw.pairs(
        [*rows, ("computed as", " ".join(claim.expression.split())), ("who", claim.who), ("source", f"{claim.source}, {claim.date}")]
    )
    if len(judged.readings) > 1:
        _readings(claim)


def _readings(claim: Claim) -> None:
    from ironlaw.claims import describe, shown

    judged = claim.judgement
    readings = sorted(judged.readings, key=lambda reading: -reading.value)
    on = judged.premise.on if judged.premise else ()
    others = [k for k in dict.fromkeys(k for r in readings for k in r.premises) if k not in on and len({r.get(k) for r in readings}) > 1]
    agrees = {True: ("✓", draw.GOOD), False: ("✗", draw.BAD)}
    rows = []
    for r in readings[:MOST_ROWS]:
        under = describe(r, [*on, *(key for key in others if key in r.premises)])
        rows.append((agrees[claim.agrees(r)], shown(r.value, claim.unit), under, ", ".join(r.files) or "computed"))
    draw.table(["agrees", "figure", "under", "evidence"], rows, left=("agrees",), text=("under", "evidence"))
    if len(readings) > MOST_ROWS:
        draw.say(f"and {len(readings) - MOST_ROWS} more; --json lists all", draw.DIM)


def _verdict(claim: Claim) -> draw.Cell:
    return claim.verdict, STYLES.get(claim.verdict, "")


def as_json(claim: Claim) -> dict[str, Any]:
    judged, measured = claim.judgement, claim.measured
    out = {name: getattr(claim, name) for name in FIELDS} | {"computed": _finite(claim.computed), "holds": bool(claim.holds)}
    out["judged_by"] = "rows" if judged.measured else "computed"
    out["premise"] = judged.sentence
    out["depends_on"] = list(judged.premise.on) if judged.premise else []
    out["readings"] = [_reading(claim, reading) for reading in judged.readings]
    out["measured"] = None
    if measured:
        figures = {"value": _finite(measured.value), "low": _finite(measured.low), "high": _finite(measured.high)}
        out["measured"] = figures | {"unit": measured.unit, "source": measured.source, "differs": measured.differs}
    return out


def _reading(claim: Claim, reading: Reading) -> ClaimReading:
    return {
        "value": _finite(reading.value), "agrees": claim.agrees(reading), "premises": dict(reading.premises),
        "evidence": list(reading.files),
    }  # fmt: skip


def _finite(value: float) -> Amount:
    return "never" if math.isinf(value) else value
