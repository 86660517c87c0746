"""`ironlaw study`: a grid or a random search from a file, on all cores or a cluster; what it found, best first."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ironlaw.cli.options import Parser, add_json, size
from ironlaw.cli.show import draw, studies
from ironlaw.cli.show.progress_bar import ProgressBar
from ironlaw.errors import BadValue

if TYPE_CHECKING:
    from ironlaw.study.question import Question
    from ironlaw.study.rows import Row

SCHEMA = "ironlaw-study/1"  # of what --json writes
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
    parser.add_argument("file", metavar="FILE.toml", nargs="?", help="what to ask, and over which values; docs/study.md has the grammar")
    parser.add_argument(
        "--questions", metavar="NAME", nargs="?", const="", help="list the questions, or one with its parameters and results"
    )
    parser.add_argument("--show", metavar="FOLDER", help="look at the results in a folder; nothing is computed")
    parser.add_argument(
        "--out", metavar="FOLDER", help="where results go (default: FILE.results beside the file); a second run adds what is missing"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--jobs", metavar="N", type=size, default=0, help="processes (default: one a core)")
    where.add_argument("--dask", metavar="ADDRESS", default="", help="compute on the Dask cluster whose scheduler is at tcp://HOST:PORT")
    parser.add_argument("--retry", action="store_true", help="ask again where a point met an error")
    parser.add_argument("--most", metavar="N", type=size, default=MOST, help=f"points that a study may have (default {MOST:,})")
    parser.add_argument("--by", metavar="RESULT", help="rank points by this result (default: the question's first)")
    parser.add_argument("--top", metavar="N", type=size, default=10, help="points to show (default 10)")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    ways = [way for way, given in (("FILE.toml", args.file), ("--show", args.show), ("--questions", args.questions is not None)) if given]
    if len(ways) != 1:
        raise BadValue("give one of FILE.toml, --show FOLDER and --questions" + (f", not {' and '.join(ways)}" if ways else ""))
    if args.questions is not None:
        return _questions(args)
    result = _shown(args) if args.show else _computed(args)
    draw.emit(result) if args.json else studies.report(result)
    return 0 if result["answered"] else 1


def _questions(args: argparse.Namespace) -> int:
    from ironlaw.study.questions import QUESTIONS, question

    chosen = [question(args.questions)] if args.questions else list(QUESTIONS.values())
    about = [question_json(one) for one in chosen]
    if args.json:
        draw.emit({"questions": about}, "ironlaw-study-questions/1")
    else:
        studies.question(about[0]) if args.questions else studies.questions(about)
    return 0


def _computed(args: argparse.Namespace) -> dict[str, Any]:
    from ironlaw.study.run import run as compute
    from ironlaw.study.study_file import read_study

    place = Path(args.file)
    study = read_study(place, args.most)
    by = study.question.result(args.by or study.question.by).name
    folder = Path(args.out) if args.out else place.with_suffix(".results")
    with ProgressBar() as progress:
        outcome = compute(study, folder, jobs=args.jobs, dask=args.dask, retry=args.retry, progress=progress)
    return {**answer(study.question, outcome.rows, outcome.file, by, args.top), "computed": outcome.computed}


def _shown(args: argparse.Namespace) -> dict[str, Any]:
    from ironlaw.study.store import open_store

    store = open_store(Path(args.show))
    by = store.question.result(args.by or store.question.by).name
    rows = list(store.rows().values())
    if not rows:
        raise BadValue(f"{args.show} has no results yet; run the study, then look again")
    return {**answer(store.question, rows, store.folder if store.parts() else store.file, by, args.top), "computed": 0}


def answer(asked: Question, rows: list[Row], file: Path, by: str, top: int) -> dict[str, Any]:
    """How the points came out, and the best of them; parameters that never vary are told once."""
    from ironlaw.study.rows import ranked

    names = [one.name for one in asked.parameters]
    fixed = {name: rows[0][name] for name in names if len({row[name] for row in rows}) == 1}
    usual = [one.name for one in asked.parameters if one.name in fixed and one.default == fixed[one.name]]
    best = ranked(asked, rows, by)
    errors = Counter(row["error"] for row in rows if row["error"] is not None)
    return {
        "schema": SCHEMA, "question": asked.name, "about": asked.about, "file": str(file), "points": len(rows),
        "answered": len(rows) - errors.total(), "refused": sum(row["error"] is not None and not row["failed"] for row in rows),
        "failed": sum(bool(row["failed"]) for row in rows),
        "unfit": sum(row["error"] is None and not row[asked.needs] for row in rows) if asked.needs else 0, "needs": asked.needs,
        "by": by, "better": asked.result(by).better, "fixed": fixed, "usual": usual,
        "vary": [name for name in names if name not in fixed],
        "units": {one.name: one.unit for one in asked.parameters} | {one.name: one.unit for one in asked.results},
        "results": [one.name for one in asked.results], "best": best[:top],
        "errors": [{"error": error, "points": count} for error, count in errors.most_common(3)],
    }  # fmt: skip


def question_json(asked: Question) -> dict[str, Any]:
    from ironlaw.systems.fields import REQUIRED

    return {
        "question": asked.name, "about": asked.about, "version": asked.version, "by": asked.by,
        "parameters": [
            {
                "name": one.name, "about": one.about, "required": one.default is REQUIRED,
                "default": None if one.default is REQUIRED else one.default, "unit": one.unit, "type": one.column,
                "values": list(one.stops),
            }
            for one in asked.parameters
        ],
        "results": [{"name": one.name, "about": one.about, "unit": one.unit, "better": one.better} for one in asked.results],
    }  # fmt: skip
