"""ironlaw class: what a class did, from the ledger files that were handed in."""

from __future__ import annotations

import argparse
import gc
from pathlib import Path

from ironlaw.cli.class_check import assign, check
from ironlaw.cli.options import Parser, add_json, number
from ironlaw.cli.show import draw
from ironlaw.errors import BadValue, unknown

ACTS = ("report", "assign", "check")
OUT = "class-report"
MOST_ROWS = 200  # in the terminal, of each table
EXAMPLE = """ironlaw class report handed-in
ironlaw class report handed-in --pseudonyms --out shared
ironlaw class report handed-in --json
ironlaw class assign labs.toml
ironlaw class check handed-in --assignment assignment.json --roster gradebook.csv"""


def add(parser: Parser) -> None:
    parser.usage = """ironlaw class report FOLDER [--out DIR] [--pseudonyms] [--key FILE] [--idle MINUTES] [--json]
       ironlaw class assign FILE.toml [--out FILE]
       ironlaw class check FOLDER --assignment FILE [--roster FILE] [--points N] [--out DIR]"""
    parser.add_argument(
        "act", metavar="ACT", nargs="?",
        help="report: a page and CSV files about the class; assign: a file that says what to do; check: who has done it, as grades",
    )  # fmt: skip
    parser.add_argument(
        "folder", metavar="FOLDER", nargs="?",
        help="the files that were handed in, each an exported ledger; subfolders are searched too (assign: the TOML file)",
    )  # fmt: skip
    parser.add_argument(
        "--out", metavar="DIR", help=f"where the page and the CSV files go (default {OUT}; with --json: nowhere; check: class-check)"
    )
    parser.add_argument("--assignment", metavar="FILE", help="check: what was asked for, as `class assign` wrote it")
    parser.add_argument("--roster", metavar="FILE", help="check: the gradebook that Moodle, Canvas or Blackboard exported, as CSV")
    parser.add_argument("--points", metavar="N", type=number, default=100.0, help="check: points for all that was asked for (default 100)")
    parser.add_argument("--pseudonyms", action="store_true", help="replace names and file names by codes; the key is thrown away")
    parser.add_argument(
        "--key", metavar="FILE", help="pseudonyms by the key in this file, the same in every report; created if it does not exist"
    )
    parser.add_argument(
        "--idle",
        metavar="MINUTES",
        type=number,
        default=10.0,
        help="longest pause between two events that still counts as work (default 10)",
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    if args.act is None:
        raise BadValue("`ironlaw class` needs to know what to do; try: ironlaw class report FOLDER")
    if args.act not in ACTS:
        raise unknown("act of `ironlaw class`", args.act, ACTS)
    if args.act != "report":
        if args.json:
            raise BadValue(f"`ironlaw class {args.act}` writes files, not JSON; leave --json out")
        return assign(args) if args.act == "assign" else check(args)
    if args.folder is None:
        raise BadValue("which folder holds the files that were handed in? Name it: ironlaw class report FOLDER")
    from ironlaw.classroom import collect, count, write
    from ironlaw.classroom.learner_names import key_from, pseudonyms
    from ironlaw.classroom.output import folder_of, summary

    gc.disable()  # what a class leaves in memory is read once and never refers to itself; looking through it takes longer than counting
    folder = Path(args.folder)
    out = folder_of(Path(args.out or OUT), folder) if args.out or not args.json else None
    hand_ins = collect(folder, out, args.idle)
    naming = None
    if args.pseudonyms or args.key:
        naming = pseudonyms(hand_ins, key_from(args.key) if args.key else None)
    figures = count(hand_ins, naming)
    paths = write(figures, out) if out else []
    if args.json:
        draw.emit(summary(figures), "ironlaw-class/1")
        return 0
    draw.heading("Class report", f"{len(figures.learners):,} learners in {figures.files:,} files")
    for title, listed in (("not counted", hand_ins.refused), ("counted, and worth a look", hand_ins.notes)):
        if listed:
            rows = [(one.file, one.kind, one.words()) for one in listed[:MOST_ROWS]]
            draw.table([title, "what", "why"], rows, left=(title, "what"), text=("why",))
            if len(listed) > MOST_ROWS:
                draw.say(f"… and {len(listed) - MOST_ROWS:,} more; files.csv has all {len(listed):,}.")
    draw.say(f"{paths[0]}, and {len(paths) - 1} CSV files beside it.")
    return 0
