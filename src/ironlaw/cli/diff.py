"""`ironlaw diff`: two files of `predict --json` or `analyze --json`, for a pull request and for a gate in CI."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ironlaw.cli.options import Parser, add_json, checked, figure, size
from ironlaw.cli.show import differences, draw
from ironlaw.errors import BadValue
from ironlaw.report.report_changes import DEVICE, WALL, Changes, Limit, Row, changes
from ironlaw.systems.value_readers import read_share

if TYPE_CHECKING:
    from ironlaw.outputs.analysis_output import DiffJson, DiffRow

EXAMPLE = """
ironlaw diff old.json new.json --fail-over 5%
ironlaw diff old.json new.json --on device --fail-over 2% --max-memory 24GB
ironlaw diff old.json new.json --fail-over 5% --markdown >> "$GITHUB_STEP_SUMMARY"
"""
OPS = 8


def add(parser: Parser) -> None:
    parser.usage = "ironlaw diff OLD.json NEW.json [--fail-over SHARE] [options]"
    parser.add_argument("old", metavar="OLD", help="output of `predict --json` or `analyze --json` from before the change")
    parser.add_argument("new", metavar="NEW", help="the same from after the change")
    parser.add_argument(
        "--fail-over",
        metavar="SHARE",
        type=checked(lambda text: read_share(text, below=True)),
        help="exit with 1 if a time grows by more than this (5%% or 0.05), or a model no longer fits",
    )
    parser.add_argument(
        "--on", choices=(WALL, DEVICE), default=WALL,
        help="which time is compared: a whole call's (default), or its kernels' alone, where a slow host would hide a change",
    )  # fmt: skip
    parser.add_argument("--max-memory", metavar="SIZE", type=figure("B"), help="exit with 1 if a call needs more, such as 24GB")
    parser.add_argument("--ops", metavar="N", type=size, default=OPS, help=f"operators to list for each row (default {OPS}; JSON has all)")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--markdown", action="store_true", help="print Markdown, for a pull request")
    add_json(form)


def run(args: argparse.Namespace) -> int:
    limit = Limit(args.fail_over, args.max_memory)
    try:
        delta = changes(read(args.old), read(args.new), args.on)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise BadValue(
            f"{args.old} or {args.new} lacks {error} that ironlaw writes; give files of `predict --json` or `analyze --json`"
        ) from None
    if args.json:
        draw.emit(as_json(delta, limit, args), "ironlaw-diff/1")
    elif args.markdown:
        print(differences.markdown(delta, limit, args.ops))
    else:
        differences.report(delta, limit, args.ops)
    return 1 if delta.failed(limit) else 0


def read(name: str) -> dict[str, Any]:
    """A file as JSON, whatever its schema."""
    again = "give a file that `predict --json` or `analyze --json` wrote"
    try:
        content = json.loads(Path(name).read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise BadValue(f"{name} can't be read ({error.strerror or error}); {again}") from None
    except (ValueError, RecursionError) as error:
        raise BadValue(f"{name} is not JSON ({error}); {again}") from None
    if not isinstance(content, dict):
        raise BadValue(f"{name} is JSON, but not an object; {again}")
    return content


def as_json(delta: Changes, limit: Limit, args: argparse.Namespace) -> DiffJson:
    return {
        "compares": delta.schema, "model": delta.model, "old": args.old, "new": args.new, "on": args.on,
        "fail_over": args.fail_over, "max_memory_bytes": args.max_memory, "failed": delta.failed(limit),
        "rows": [_row(row, limit) for row in delta.rows], "notes": list(delta.notes),
    }  # fmt: skip


def _row(row: Row, limit: Limit) -> DiffRow:
    hardware, mode, batch, weights = row.key
    return {
        "hardware": hardware, "mode": mode, "batch": batch, "weights": weights,
        "old_s": row.old, "new_s": row.new, "change": row.change, "old_bytes": row.old_bytes, "new_bytes": row.new_bytes,
        "unfit": row.unfit, "over": row.over(limit),
        "operators": [
            {"name": op.name, "kind": op.kind, "count": op.count, "old_s": op.old, "new_s": op.new, "change_s": op.change}
            for op in row.operators
        ],
    }  # fmt: skip
