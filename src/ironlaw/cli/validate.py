"""`ironlaw validate`: every claim and every measurement against the prediction. Exit code 1 where one fails."""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ironlaw.calibration import local_machine
from ironlaw.cli.accuracy_history import PLACE, Accuracy, read
from ironlaw.cli.options import Parser, add_json, machines
from ironlaw.errors import BadValue, unknown
from ironlaw.units import show

if TYPE_CHECKING:
    from ironlaw.claims import Claim
    from ironlaw.compare import Comparison, Summary
    from ironlaw.systems.accuracy.measured_gains import GainSummary

EXAMPLE = """
ironlaw validate
ironlaw validate --on h200_sxm --kind gemm --rows
ironlaw validate --on h200_sxm,this --kind model
"""
LIMIT = 0.15  # mean error on whole models, calibrated, beyond which validation fails
CLAIM, GAIN = "claim", "gain"
KINDS = (CLAIM, GAIN, "gemm", "conv", "row", "bandwidth", "pointwise", "attention", "function", "model")


def add(parser: Parser) -> None:
    parser.usage = "ironlaw validate [--on HW[,HW]] [--kind KIND] [--rows] [--json] [--history [FILE]]"
    parser.add_argument(
        "--on", metavar="HW[,HW]", type=machines, default=(), help="only measurements on these machines; `this` is your own"
    )
    parser.add_argument("--kind", metavar="KIND", help=f"only this kind: {', '.join(KINDS)}")
    parser.add_argument("--rows", action="store_true", help="also list every measurement of a single op, not only the summary")
    parser.add_argument(
        "--history",
        metavar="FILE",
        nargs="?",
        const=PLACE,
        help=f"show how accuracy has changed since this file was written, then update it (default: {PLACE} in a checkout)",
    )
    add_json(parser)


@dataclass(frozen=True)
class Result:
    """What validation found. `missed`: machines of the registry beyond the limit; `own`: this machine, which fails nothing."""

    rows: list[Comparison]
    summaries: dict[tuple[str, str, str], Summary]  # machine, kind, mode (of models) -> the rows in one line
    claims: list[Claim]
    broken: list[str]
    missed: list[str]
    own: list[str]
    gains: dict[tuple[str, str], list[GainSummary]] = field(default_factory=dict)  # machine, how runs were timed -> by change

    @property
    def failed(self) -> bool:
        return bool(self.broken or self.missed)


def run(args: argparse.Namespace) -> int:
    from ironlaw.claims import claims
    from ironlaw.compare import comparisons
    from ironlaw.registry.evidence import measured
    from ironlaw.systems.accuracy.measured_gains import gain_summaries

    chosen = [machine.slug for machine in args.on]
    bare = [slug for slug in chosen if slug not in measured()]
    if bare:
        raise BadValue(f"nothing was measured on {bare[0]}; machines with measurements: {', '.join(measured())}")
    if args.kind is not None and args.kind not in KINDS:
        raise unknown("kind of row", args.kind, KINDS)
    if args.history is not None and (chosen or args.kind is not None):
        raise BadValue("--history covers everything; leave out --on and --kind")
    before = read(Path(args.history)) if args.history is not None else {}  # first: a bad file is reported before everything is compared
    rows = [] if args.kind in (CLAIM, GAIN) else [row for slug in chosen or [""] for row in comparisons(slug, args.kind or "")]
    checked = list(claims().values()) if args.kind in (None, CLAIM) and not chosen else []
    gains = gain_summaries(chosen or measured()) if args.kind in (None, GAIN) else {}
    result = replace(judge(rows, checked), gains=gains)
    changes = _update_history(args.history, before, result) if args.history is not None else None
    if args.json:
        _emit(result, changes)
    else:
        _draw(result, args.rows or bool(args.kind))
        _draw_history(args.history, changes)
    return 1 if result.failed else 0


def judge(rows: list[Comparison], checked: list[Claim]) -> Result:
    from ironlaw.compare import summary
    from ironlaw.registry.machines import hardware

    broken = [c.id for c in checked if c.verdict != c.expected]
    groups: dict[tuple[str, str, str], list[Comparison]] = {}
    for row in rows:
        groups.setdefault((row.machine, row.kind, row.mode if row.kind == "model" else ""), []).append(row)
    summaries = {key: summary(" ".join(filter(None, key[1:])), group) for key, group in groups.items()}
    far: dict[bool, list[str]] = {True: [], False: []}
    for (machine, _, mode), line in summaries.items():
        if mode and hardware(machine).calibration and line.mean > LIMIT:
            far[machine == local_machine.SLUG].append(f"{machine} {line.kind}: mean error {line.mean:.1%}")
    return Result(rows, summaries, checked, broken, missed=far[False], own=far[True])


def _update_history(place: str, before: Accuracy, result: Result) -> list[str]:
    """Rewrite the history and return what has changed."""
    from ironlaw.cli.accuracy_history import accuracy, changes, keep

    now = accuracy(result.rows, result.gains)
    lines = changes(before, now)
    keep(Path(place), now)
    return lines


def _draw_history(place: str | None, changes: list[str] | None) -> None:
    from ironlaw.cli.show.draw import DIM, say

    if changes is not None:
        for line in changes:
            say(line)
        say(f"{place}: {len(changes)} of its lines changed" if changes else f"{place}: accuracy unchanged", DIM)


def _emit(result: Result, changes: list[str] | None) -> None:
    from ironlaw.cli.show.draw import emit

    emit(
        ({} if changes is None else {"changed": changes})
        | {
            "rows": [
                {key: value for key, value in asdict(row).items() if key != "model"} | {"error": row.error, "bound_error": row.bound_error}
                for row in result.rows
            ],
            "summary": [asdict(line) | {"machine": key[0]} for key, line in result.summaries.items()],
            "gains": [
                {"machine": machine, "timed": timed, **asdict(line)} for (machine, timed), lines in result.gains.items() for line in lines
            ],
            "claims": [
                {"id": c.id, "claimed": c.value, "computed": c.computed, "verdict": c.verdict, "agrees": c.id not in result.broken}
                for c in result.claims
            ],
        },
        "ironlaw-validate/1",
    )


def _draw(result: Result, every: bool) -> None:
    from ironlaw.cli.show.draw import BAD, GOOD, say

    _draw_rows(result, every)
    _draw_summaries(result)
    _draw_gains(result)
    if result.claims:
        words = (("holds", "hold"), ("refuted", "refuted"), ("depends", "depend"))
        verdicts = ", ".join(f"{sum(c.verdict == verdict for c in result.claims)} {word}" for verdict, word in words)
        say(f"{len(result.claims)} claims judged: {verdicts}. `ironlaw claims` lists them.")
    for line in (*(f"claim {name} no longer has the verdict its words were written for" for name in result.broken), *result.missed):
        say(f"✗ {line}", BAD)
    for line in result.own:
        say(f"! {line}; it is your own machine, so validation does not fail", BAD)
    if not result.failed and not (result.own and len({key[0] for key in result.summaries}) == 1):
        say("✓ every claim has the verdict its words were written for, and calibrated models are within the limit", GOOD)


def _draw_rows(result: Result, every: bool) -> None:
    from ironlaw.cli.show.draw import heading, table
    from ironlaw.compare import HELD_OUT
    from ironlaw.registry.machines import hardware

    shown = [row for row in result.rows if every or row.kind in HELD_OUT]
    for machine in dict.fromkeys(row.machine for row in shown):
        known = hardware(machine).calibration
        heading(machine, "predicted beside measured; functions and models were never fitted to" if known else "a bound: no curves yet")
        table(
            ("what", "mode", "predicted", "measured", "error", "kernels"),
            [
                (row.name, row.mode, show(row.predicted, "s"), show(row.measured, "s"), _signed(row.error), _counts(row))
                for row in shown
                if row.machine == machine
            ],
            left=("mode",), text=("what",),
        )  # fmt: skip


def _draw_summaries(result: Result) -> None:
    from ironlaw.cli.show.draw import heading, table

    if not result.summaries:
        return
    heading("Mean error", "calibrated, and of the bound at the datasheet's figures")
    table(
        ("machine", "rows of", "count", "mean", "median", "worst", "bias", "bound"),
        [
            (key[0], s.kind, f"{s.count:,}", f"{s.mean:.1%}", f"{s.median:.1%}", _signed(s.worst), _signed(s.bias), f"{s.bound:.0%}")
            for key, s in result.summaries.items()
        ],
        left=("machine", "rows of"),
        sections=_ends([key[0] for key in result.summaries]),
    )


def _draw_gains(result: Result) -> None:
    from ironlaw.cli.show.draw import heading, table

    for (machine, timed), lines in result.gains.items():
        heading(
            "Gains",
            f"of a changed program on {machine}, runs timed {timed}: mean error, and how often interval and sign are right",
        )
        table(
            ("change", "pairs", "wall", "device", "inside", "sign", "offered"),
            [
                (s.change, f"{s.count:,}", f"{s.mean:.1%}", "–" if s.device is None else f"{s.device:.1%}", f"{s.inside} of {s.count}",
                 f"{s.right} of {s.count}", f"{s.right_offered} of {s.offered}")
                for s in lines
            ],
            left=("change",),
        )  # fmt: skip


def _ends(machines: list[str]) -> list[int]:
    """Where one machine's lines end and another's begin."""
    return [i for i, machine in enumerate(machines[:-1]) if machine != machines[i + 1]]


def _signed(value: float) -> str:
    return f"{value:+.0%}" if abs(value) >= 0.0995 else f"{value:+.1%}"


def _counts(row: Comparison) -> str:
    return f"{row.kernels:,.0f}" + (f" of {row.measured_kernels:,.0f}" if row.measured_kernels else "")
