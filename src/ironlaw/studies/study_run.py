"""A study's run: what is missing is computed and stored batch by batch, so that a run that is stopped goes on where it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ironlaw.studies.folder_lock import locked
from ironlaw.studies.on_cores import cores, on_cores
from ironlaw.studies.on_dask import cluster, on_dask, workers
from ironlaw.studies.study_file import Study
from ironlaw.studies.study_question import Question
from ironlaw.studies.study_rows import Batch, Row, batches, key
from ironlaw.studies.study_store import Store, claim, prepare

Progress = Callable[[float, str], None]


@dataclass(frozen=True)
class Outcome:
    """`rows`: of the study's points, in its order; `computed`: how many of them this run added."""

    question: Question
    file: Path
    rows: list[Row]
    computed: int


def run(
    study: Study, folder: Path, *, jobs: int = 0, dask: str = "", retry: bool = False, progress: Progress = lambda share, doing: None
) -> Outcome:
    """`jobs`: processes (0: one a core); `dask`: a scheduler's address; `retry`: ask again where a point met an error."""
    prepare(folder, study.question)
    with locked(folder):
        store = claim(folder, study.question)
        points = {key(study.question, point): point for point in study}
        stored = store.rows()
        missing = [(own, point) for own, point in points.items() if own not in stored or (retry and stored[own]["error"] is not None)]
        if missing:
            progress(1 - len(missing) / len(points), _doing(len(points) - len(missing), len(points)))
            with _answers(study.question.name, missing, jobs, dask) as answers:
                _store(store, answers, len(missing), len(points), progress)
        file = store.merge()
        rows = store.rows()
        return Outcome(study.question, file, [rows[own] for own in points], len(missing))


@contextmanager
def _answers(name: str, missing: Batch, jobs: int, dask: str) -> Iterator[Iterator[list[Row]]]:
    if dask:
        with cluster(dask) as client, closing(on_dask(client, name, batches(missing, workers(client)))) as answers:
            yield answers
        return
    count = jobs or cores()
    with closing(on_cores(name, batches(missing, count), count)) as answers:
        yield answers


def _store(store: Store, answers: Iterator[list[Row]], missing: int, total: int, progress: Progress) -> None:
    done = total - missing
    for rows in answers:
        store.add(rows)
        done += len(rows)
        progress(done / total, _doing(done, total))


def _doing(done: int, total: int) -> str:
    return f"{done:,} of {total:,} points"
