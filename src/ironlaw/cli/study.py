"""`ironlaw study`: a grid or a random search from a file, on all cores or a cluster; what it found, best first."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ironlaw.cli.options import Parser, add_json, size
from ironlaw.cli.show import draw, studies
from ironlaw.cli.show.progress_bar import ProgressBar
from ironlaw.errors import BadValue

if TYPE_CHECKING:
    from ironlaw.studies.study_outcome import StudyOutcome

MOST = 100_000
EXAMPLE = """
ironlaw study --questions
ironlaw study --questions layout
ironlaw study study.toml --top 5
ironlaw study study.toml --dask tcp://scheduler:8786
ironlaw study --show study.results --top 20
"""


def add(parser: Parser) -> None:
    parser.usage = "ironlaw study FILE.toml [options] | --show FOLDER | --questions [NAME]"
    parser.add_argument("file", metavar="FILE.toml", nargs="?", help="the question and the values to try; see docs/study.md")
    parser.add_argument(
        "--questions", metavar="NAME", nargs="?", const="", help="list the questions, or one with its parameters and results"
    )
    parser.add_argument("--show", metavar="FOLDER", help="show the results in a folder without computing anything")
    parser.add_argument(
        "--out", metavar="FOLDER", help="folder for the results (default: FILE.results beside the file); a second run adds what is missing"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--jobs", metavar="N", type=size, default=0, help="number of processes (default: one per core)")
    where.add_argument("--dask", metavar="ADDRESS", default="", help="compute on the Dask cluster whose scheduler is at tcp://HOST:PORT")
    parser.add_argument("--retry", action="store_true", help="recompute points that failed with an error")
    parser.add_argument("--most", metavar="N", type=size, default=MOST, help=f"largest number of points allowed (default {MOST:,})")
    parser.add_argument("--by", metavar="RESULT", help="rank points by this result (default: the question's first)")
    parser.add_argument("--top", metavar="N", type=size, default=10, help="how many points to show (default 10)")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    ways = [way for way, given in (("FILE.toml", args.file), ("--show", args.show), ("--questions", args.questions is not None)) if given]
    if len(ways) != 1:
        raise BadValue("give one of FILE.toml, --show FOLDER and --questions" + (f", not {' and '.join(ways)}" if ways else ""))
    if args.questions is not None:
        return _questions(args)
    outcome = _outcome(args)
    draw.emit(outcome.to_json()) if args.json else studies.report(outcome.answer)
    return 0 if outcome.answer["answered"] else 1


def _questions(args: argparse.Namespace) -> int:
    from ironlaw.studies.study_outcome import question_json
    from ironlaw.studies.study_questions import QUESTIONS, question

    chosen = [question(args.questions)] if args.questions else list(QUESTIONS.values())
    about = [question_json(one) for one in chosen]
    if args.json:
        draw.emit({"questions": about}, "ironlaw-study-questions/1")
    else:
        studies.question(about[0]) if args.questions else studies.questions(about)
    return 0


def _outcome(args: argparse.Namespace) -> StudyOutcome:
    from ironlaw.studies.study_outcome import run_study, stored_study

    if args.show:
        return stored_study(args.show, by=args.by or "", top=args.top)
    with ProgressBar() as progress:
        return run_study(
            args.file, args.out or None, by=args.by or "", top=args.top, jobs=args.jobs, dask=args.dask, retry=args.retry, most=args.most,
            progress=progress,
        )  # fmt: skip
