"""One point's row: its key, its parameters, its results or the error that it met."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

from ironlaw.errors import IronlawError
from ironlaw.studies.study_question import Point, Question
from ironlaw.studies.study_questions import question

Row = dict[str, Any]
Batch = list[tuple[str, Point]]  # keys and points
LARGEST = 200  # points of a batch
PARTS = 5000  # batches of a run; more of them only where each is of the largest size


def key(asked: Question, point: Point) -> str:
    """The same for the same question, version and parameters, whatever order they came in and whichever run asks."""
    text = json.dumps([asked.name, asked.version, sorted(point.items())], separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def columns(asked: Question) -> dict[str, str]:
    """Names and types, in their order in the file; `failed`: the error was not a refusal, but a fault."""
    found = {"key": "string"} | {one.name: one.column for one in asked.parameters} | {one.name: one.column for one in asked.results}
    return found | {"error": "string", "failed": "bool", "ironlaw": "string"}


def answer(name: str, batch: Batch) -> list[Row]:
    """The rows of some points; a point that can't be answered says why, and the others are answered all the same."""
    asked = question(name)
    return [_row(asked, one, point) for one, point in batch]


def _row(asked: Question, own: str, point: Point) -> Row:
    try:
        results = asked.answer(point)
        missing = {one.name for one in asked.results} ^ set(results)
        if missing:
            raise KeyError(f"{asked.name} returned other results than it declares: {', '.join(sorted(missing))}")
    except IronlawError as error:
        return unanswered(asked, own, point, str(error), False)
    except Exception as error:
        return unanswered(asked, own, point, f"{type(error).__name__}: {error}", True)
    return {"key": own, **point, **results, "error": None, "failed": False, "ironlaw": _version()}


def unanswered(asked: Question, own: str, point: Point, error: str, failed: bool) -> Row:
    return {"key": own, **point, **{one.name: None for one in asked.results}, "error": error, "failed": failed, "ironlaw": _version()}


def ranked(asked: Question, rows: Iterable[Row], by: str) -> list[Row]:
    """The best first; without those that have no such result, or that a device does not hold."""
    sign = 1 if asked.result(by).better == "low" else -1
    able = [row for row in rows if row[by] is not None and (not asked.needs or row[asked.needs])]
    return sorted(able, key=lambda row: sign * row[by])


def batches(work: Batch, workers: int) -> Sequence[Batch]:
    """Neighbours together, since they share a model and a machine; small enough that little is lost with a run."""
    size = min(LARGEST, max(1, len(work) // (16 * workers), len(work) // PARTS))
    return [work[i : i + size] for i in range(0, len(work), size)]


def _version() -> str:
    from ironlaw.version import __version__

    return __version__
