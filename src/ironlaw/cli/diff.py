"""`ironlaw diff`: two files of `predict --json` or `analyze --json`, for a pull request and for a gate in CI."""

from __future__ import annotations

import argparse

from ironlaw.cli.options import Parser, add_json, add_parameters, ask, size
from ironlaw.cli.show import differences, draw
from ironlaw.report.prediction_diff import Diff

EXAMPLE = """
ironlaw diff old.json new.json --fail-over 5%
ironlaw diff old.json new.json --on device --fail-over 2% --max-memory 24GB
ironlaw diff old.json new.json --fail-over 5% --markdown >> "$GITHUB_STEP_SUMMARY"
"""
OPS = 8


def add(parser: Parser) -> None:
    parser.usage = "ironlaw diff OLD.json NEW.json [--fail-over SHARE] [options]"
    add_parameters(parser, Diff)
    parser.add_argument("--ops", metavar="N", type=size, default=OPS, help=f"operators to list for each row (default {OPS}; JSON has all)")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--markdown", action="store_true", help="print Markdown, for a pull request")
    add_json(form)


def run(args: argparse.Namespace) -> int:
    asked = ask(Diff, args)
    if args.json:
        draw.emit(asked.to_json())
    elif args.markdown:
        print(differences.markdown(asked, args.ops))
    else:
        differences.report(asked, args.ops)
    return 1 if asked.failed else 0
