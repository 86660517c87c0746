"""How a study's points came out, and the best of them: what `ironlaw study` says, from Python too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ironlaw.errors import BadValue, kind_of
from ironlaw.studies.study_file import MOST, read_study, study
from ironlaw.studies.study_question import Question
from ironlaw.studies.study_rows import Row, ranked
from ironlaw.studies.study_run import run
from ironlaw.studies.study_store import open_store
from ironlaw.systems.fields import REQUIRED
from ironlaw.systems.question import Table, document
from ironlaw.units import show

if TYPE_CHECKING:
    from ironlaw.outputs.study_output import StudyQuestion

SCHEMA = "ironlaw-study/1"  # of what --json writes


@dataclass(frozen=True, repr=False)
class StudyOutcome:
    """`rows`: of all points; `best`: the `top` of them by the result `by`."""

    question: Question
    rows: list[Row]
    file: Path
    by: str
    top: int = 10
    computed: int = 0

    @property
    def best(self) -> list[Row]:
        return ranked(self.question, self.rows, self.by)[: self.top]

    @cached_property
    def answer(self) -> dict[str, Any]:
        """Parameters that never vary are told once."""
        return {**answer(self.question, self.rows, self.file, self.by, self.top), "computed": self.computed}

    def to_json(self) -> dict[str, Any]:
        """What `ironlaw study --json` writes."""
        return document(self.answer)

    def table(self) -> Table:
        vary, unit = self.answer["vary"], self.answer["units"][self.by]
        rows = [(*(str(row[name]) for name in vary), show(row[self.by], unit)) for row in self.best]
        return Table(f"{self.question.name}: {len(self.rows):,} points, best by {self.by}", (*vary, self.by), rows)

    def __repr__(self) -> str:
        return self.table().text("Study")

    def _repr_html_(self) -> str:
        return self.table().html()


def run_study(
    file: str | Path | Mapping[str, Any],
    out: str | Path | None = None,
    *,
    by: str = "",
    top: int = 10,
    jobs: int = 0,
    dask: str = "",
    retry: bool = False,
    most: int = MOST,
    progress: Callable[[float, str], None] = lambda share, doing: None,
) -> StudyOutcome:
    """A study file, or its tables, computed where results are missing; they are kept in `out` (default: FILE.results beside the file).

    `by` ranks points by another result than the question's first; `jobs`: processes (0: one a core), or `dask`: a scheduler's address.
    """
    if isinstance(file, Mapping):
        if out is None:
            raise BadValue("a study given as tables needs a folder for its results; say where: out='my.results'", "out")
        asked = study(file, most)
    else:
        if not isinstance(file, (str, Path)):
            raise BadValue(f"a study is a file or its tables, and this is {kind_of(file)}; write il.study('my.toml')", "file")
        asked = read_study(Path(file), most)
    folder = Path(out) if out is not None else Path(str(file)).with_suffix(".results")
    name = asked.question.result(by or asked.question.by).name
    outcome = run(asked, folder, jobs=jobs, dask=dask, retry=retry, progress=progress)
    return StudyOutcome(asked.question, outcome.rows, outcome.file, name, top, outcome.computed)  # fmt: skip


def stored_study(folder: str | Path, *, by: str = "", top: int = 10) -> StudyOutcome:
    """The results in a folder; nothing is computed."""
    store = open_store(Path(folder))
    name = store.question.result(by or store.question.by).name
    rows = list(store.rows().values())
    if not rows:
        raise BadValue(f"{folder} has no results yet; run the study, then look again")
    return StudyOutcome(store.question, rows, store.folder if store.parts() else store.file, name, top)


def answer(asked: Question, rows: list[Row], file: Path, by: str, top: int) -> dict[str, Any]:
    """How the points came out, and the best of them; parameters that never vary are told once."""
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


def question_json(asked: Question) -> StudyQuestion:
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
