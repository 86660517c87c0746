"""`ironlaw validate`: every claim and every measurement against the prediction. Exit code 1 where one fails."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ironlaw.cli.accuracy_history import PLACE
from ironlaw.cli.options import Parser, add_json
from ironlaw.errors import BadValue, unknown
from ironlaw.registry import this
from ironlaw.units import show

if TYPE_CHECKING:
    from ironlaw.compare import Gap, Summary

EXAMPLE = """
ironlaw validate
ironlaw validate --on h200_sxm --kind gemm --rows
"""
LIMIT = 0.15  # mean error on whole models, calibrated, beyond which validation fails
CLAIM = "claim"
KINDS = (CLAIM, "gemm", "conv", "row", "bandwidth", "pointwise", "attention", "function", "model")


def add(parser: Parser) -> None:
    parser.usage = "ironlaw validate [--on HW] [--kind KIND] [--rows] [--json] [--history [FILE]]"
    parser.add_argument("--on", metavar="HW", help="only what was measured on this machine; `this` is your own")
    parser.add_argument("--kind", metavar="KIND", help=f"only this kind: {', '.join(KINDS)}")
    parser.add_argument("--rows", action="store_true", help="every row of single ops too, not only their summary")
    parser.add_argument(
        "--history",
        metavar="FILE",
        nargs="?",
        const=PLACE,
        help=f"say how the accuracy changed since the file was written, and write it ({PLACE} of a checkout)",
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    from ironlaw.compare import gaps, summary
    from ironlaw.registry.claims import claims
    from ironlaw.registry.evidence import measured
    from ironlaw.registry.machines import hardware

    machine = hardware(args.on).slug if args.on else ""
    if machine and machine not in measured():
        raise BadValue(f"nothing was measured on {machine}; measured: {', '.join(measured())}")
    if args.kind is not None and args.kind not in KINDS:
        raise unknown("kind of row", args.kind, KINDS)
    if args.history is not None and (machine or args.kind is not None):
        raise BadValue("--history is of everything; leave --on and --kind out")
    found = [] if args.kind == CLAIM else list(gaps(machine, args.kind or ""))
    checked = list(claims().values()) if args.kind in (None, CLAIM) and not machine else []
    broken = [c.id for c in checked if c.verdict != "depends" and (c.verdict == "holds") != c.holds]
    groups: dict[tuple[str, str, str], list[Gap]] = {}
    for gap in found:
        groups.setdefault((gap.machine, gap.kind, gap.mode if gap.kind == "model" else ""), []).append(gap)
    lines = {key: summary(" ".join(filter(None, key[1:])), group) for key, group in groups.items()}
    far = {
        f"{m} {s.kind}: mean error {s.mean:.1%}": m
        for (m, _, mode), s in lines.items()
        if mode and hardware(m).calibration and s.mean > LIMIT
    }
    missed = [line for line, m in far.items() if m != this.SLUG]  # what others measure at home fails no validation
    changed = _kept(args.history, found) if args.history is not None else None
    if args.json:
        _emit(found, lines, checked, broken, changed)
    else:
        _draw(found, lines, checked, broken, missed, args.rows or bool(args.kind), [line for line in far if line not in missed])
        _said(args.history, changed)
    return 1 if broken or missed else 0


def _kept(place: str, found: list[Gap]) -> list[str]:
    """Write the history; what has changed since comes back."""
    from ironlaw.cli.accuracy_history import accuracy, changes, keep, read

    path, now = Path(place), accuracy(found)
    changed = changes(read(path), now)
    keep(path, now)
    return changed


def _said(place: str | None, changed: list[str] | None) -> None:
    from ironlaw.cli.show.draw import DIM, say

    if changed is not None:
        for line in changed:
            say(line)
        say(f"{place}: {len(changed)} of its lines changed" if changed else f"{place}: accuracy is as it was", DIM)


def _emit(found: list[Gap], lines: dict[Any, Summary], checked: list[Any], broken: list[str], changed: list[str] | None) -> None:
    from ironlaw.cli.show.draw import emit

    emit(
        ({} if changed is None else {"changed": changed})
        | {
            "rows": [asdict(gap) | {"error": gap.error, "bound_error": gap.bound_error} for gap in found],
            "summary": [asdict(line) | {"machine": key[0]} for key, line in lines.items()],
            "claims": [
                {"id": c.id, "claimed": c.value, "computed": c.computed, "verdict": c.verdict, "agrees": c.id not in broken}
                for c in checked
            ],
        }
    )


def _draw(
    found: list[Gap], lines: dict[Any, Summary], checked: list[Any], broken: list[str], missed: list[str], every: bool, own: list[str]
) -> None:
    from ironlaw.cli.show.draw import BAD, GOOD, heading, say, table
    from ironlaw.compare import HELD_OUT
    from ironlaw.registry.machines import hardware

    shown = [gap for gap in found if every or gap.kind in HELD_OUT]
    for machine in dict.fromkeys(gap.machine for gap in shown):
        known = hardware(machine).calibration
        heading(machine, "predicted beside measured; functions and models were never fitted to" if known else "a bound: no curves yet")
        table(
            ("what", "mode", "predicted", "measured", "error", "kernels"),
            [
                (g.name, g.mode, show(g.predicted, "s"), show(g.measured, "s"), _signed(g.error), _counts(g))
                for g in shown
                if g.machine == machine
            ],
            left=("mode",), text=("what",),
        )  # fmt: skip
    if lines:
        heading("Mean error", "calibrated, and of the bound at the datasheet's figures")
        table(
            ("machine", "rows of", "count", "mean", "median", "worst", "bias", "bound"),
            [
                (key[0], s.kind, f"{s.count:,}", f"{s.mean:.1%}", f"{s.median:.1%}", _signed(s.worst), _signed(s.bias), f"{s.bound:.0%}")
                for key, s in lines.items()
            ],
            left=("machine", "rows of"),
            sections=_ends([key[0] for key in lines]),
        )
    if checked:
        words = (("holds", "hold"), ("refuted", "refuted"), ("depends", "depend"))
        verdicts = ", ".join(f"{sum(c.verdict == verdict for c in checked)} {word}" for verdict, word in words)
        say(f"{len(checked)} claims computed: {verdicts}. `ironlaw claims` lists them.")
    for line in (*(f"claim {name} no longer computes to its verdict" for name in broken), *missed):
        say(f"✗ {line}", BAD)
    for line in own:
        say(f"! {line}; it is yours, and fails nothing", BAD)
    if not broken and not missed and not (own and len({key[0] for key in lines}) == 1):
        say("✓ every claim computes to its verdict, and calibrated models are within the limit", GOOD)


def _ends(machines: list[str]) -> list[int]:
    """Where one machine's lines end and another's begin."""
    return [i for i, machine in enumerate(machines[:-1]) if machine != machines[i + 1]]


def _signed(value: float) -> str:
    return f"{value:+.0%}" if abs(value) >= 0.0995 else f"{value:+.1%}"


def _counts(gap: Gap) -> str:
    return f"{gap.kernels:,.0f}" + (f" of {gap.measured_kernels:,.0f}" if gap.measured_kernels else "")
