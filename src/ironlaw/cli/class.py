"""ironlaw class: what a class did, from the ledger files that were handed in."""

from __future__ import annotations

import argparse
import gc
import os
from pathlib import Path
from typing import TYPE_CHECKING

from ironlaw.cli.class_check import assign, check
from ironlaw.cli.labs import port
from ironlaw.cli.options import Parser, add_json, number
from ironlaw.cli.show import draw
from ironlaw.errors import BadValue, unknown

if TYPE_CHECKING:
    from ironlaw.classroom import class_live

ACTS = ("report", "live", "assign", "check")
OUT = "class-report"
PORT = 2728
MOST_ROWS = 200  # in the terminal, of each table
EXAMPLE = """ironlaw class report handed-in
ironlaw class report handed-in --pseudonyms --out shared
ironlaw class report handed-in --json
ironlaw class live handed-in
ironlaw class assign labs.toml
ironlaw class check handed-in --assignment assignment.json --roster gradebook.csv"""


def add(parser: Parser) -> None:
    parser.usage = """ironlaw class report FOLDER [--out DIR] [--pseudonyms] [--key FILE] [--idle MINUTES] [--names] \
              [--assignment FILE] [--json]
       ironlaw class live FOLDER|DSN [--names] [--assignment FILE] [--idle MINUTES] [--port N] [--no-browser]
       ironlaw class assign FILE.toml [--out FILE]
       ironlaw class check FOLDER --assignment FILE [--roster FILE] [--points N] [--out DIR]"""
    parser.add_argument(
        "act", metavar="ACTION", nargs="?",
        help="report: a page and CSV files about the class; live: a page that follows it; assign: a file that says what to do;"
        " check: who has done it, as grades",
    )  # fmt: skip
    parser.add_argument(
        "folder", metavar="FOLDER", nargs="?",
        help="the files that were handed in, each an exported ledger; subfolders are searched too (assign: the TOML file; live: or a"
        " hub's PostgreSQL)",
    )  # fmt: skip
    parser.add_argument(
        "--out", metavar="DIR", help=f"where the page and the CSV files go (default {OUT}; with --json: nowhere; check: class-check)"
    )
    parser.add_argument(
        "--assignment",
        metavar="FILE",
        help="what `class assign` wrote; check grades by it; report and live show its questions' words",
    )
    parser.add_argument("--roster", metavar="FILE", help="check: the gradebook that Moodle, Canvas or Blackboard exported, as CSV")
    parser.add_argument("--points", metavar="N", type=number, default=100.0, help="check: points for a complete assignment (default 100)")
    parser.add_argument("--pseudonyms", action="store_true", help="replace names and file names by codes; the key is thrown away")
    parser.add_argument("--names", action="store_true", help="report, live: the first screen names those who are stuck")
    parser.add_argument(
        "--key", metavar="FILE", help="make pseudonyms with the key in this file, so that they stay the same; created if it does not exist"
    )
    parser.add_argument(
        "--idle",
        metavar="MINUTES",
        type=number,
        default=10.0,
        help="longest pause between two events that still counts as work (default 10)",
    )
    parser.add_argument(
        "--port", metavar="N", type=port, default=PORT, help=f"live: port to listen on (default {PORT}), or the next free one"
    )
    parser.add_argument("--no-browser", action="store_true", help="live: print the address instead of opening a browser")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    if args.act is None:
        raise BadValue("`ironlaw class` needs to know what to do; try: ironlaw class report FOLDER")
    if args.act not in ACTS:
        raise unknown("act of `ironlaw class`", args.act, ACTS)
    if args.act != "report":
        if args.json:
            raise BadValue(f"`ironlaw class {args.act}` has no JSON output; leave --json out")
        return {"assign": assign, "check": check, "live": live}[args.act](args)
    if args.folder is None:
        raise BadValue("which folder holds the files that were handed in? Name it: ironlaw class report FOLDER")
    from ironlaw.classroom import collect, count, write
    from ironlaw.classroom.assignment import adopt
    from ironlaw.classroom.learner_names import key_from, pseudonyms
    from ironlaw.classroom.output import folder_of, summary

    if args.assignment:
        adopt(Path(args.assignment))
    gc.disable()  # what a class leaves in memory is read once and never refers to itself; looking through it takes longer than counting
    folder = Path(args.folder)
    out = folder_of(Path(args.out or OUT), folder) if args.out or not args.json else None
    hand_ins = collect(folder, out, args.idle)
    naming = None
    if args.pseudonyms or args.key:
        naming = pseudonyms(hand_ins, key_from(args.key) if args.key else None)
    figures = count(hand_ins, naming)
    paths = write(figures, out, args.names) if out else []
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


def live(args: argparse.Namespace) -> int:
    if args.folder is None:
        raise BadValue("what should the page follow? Name a folder of hand-ins, or a hub's database: ironlaw class live FOLDER")
    from ironlaw.server import class_server

    if args.assignment:
        from ironlaw.classroom.assignment import adopt

        adopt(Path(args.assignment))
    idle_s = 60.0 * args.idle
    if "://" in args.folder:
        from ironlaw.classroom.hub_following import Hub

        source: class_live.Source = Hub(args.folder, os.environ.get("IRONLAW_LEDGER_KEY", ""), idle_s)
    else:
        from ironlaw.classroom.following import Folder
        from ironlaw.classroom.hand_ins import listing

        listing(Path(args.folder), None)  # what is wrong with it is better said here than on the page
        source = Folder(Path(args.folder), idle_s)
    class_server.serve(source, args.names, args.port, not args.no_browser)
    return 0
