"""A run stores what it computes: resumed, retried, refused while another writes, killed."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from ironlaw.errors import BadValue, IronlawError
from ironlaw.studies import on_cores
from ironlaw.studies.folder_lock import locked
from ironlaw.studies.study_file import study
from ironlaw.studies.study_question import Question
from ironlaw.studies.study_questions import QUESTIONS
from ironlaw.studies.study_run import run
from ironlaw.studies.study_store import open_store, prepare


def grid(*batches, question="predict", **over):
    return study({"study": {"question": question}, "over": {"model": "mlp8_1024", "hardware": "t4", "batch": list(batches)} | over})


def keys(path):
    return pq.read_table(path)["key"].to_pylist()


@pytest.fixture
def counter(monkeypatch):
    """Batches that were answered, each time; odd ones are refused while `refuses` holds."""
    calls: list[int] = []
    state = {"refuses": False}
    own: Question = QUESTIONS["predict"]

    def answer(point):
        calls.append(point["batch"])
        if state["refuses"] and point["batch"] % 2:
            raise BadValue("odd")
        return own.answer(point)

    monkeypatch.setitem(QUESTIONS, "predict", replace(own, answer=answer))
    return calls, state


def test_a_second_run_computes_what_is_missing(tmp_path, counter):
    calls, _ = counter
    first = run(grid(1, 2), tmp_path / "out", jobs=1)
    assert first.computed == 2 and calls == [1, 2] and first.file == tmp_path / "out" / "results.parquet"
    again = run(grid(1, 2), tmp_path / "out", jobs=1)
    assert again.computed == 0 and calls == [1, 2] and again.rows == first.rows
    more = run(grid(2, 3, 4), tmp_path / "out", jobs=1)
    assert more.computed == 2 and calls == [1, 2, 3, 4] and [row["batch"] for row in more.rows] == [2, 3, 4]
    assert len(keys(more.file)) == len(set(keys(more.file))) == 4 and not list((tmp_path / "out" / "parts").iterdir())


def test_a_refused_point_is_kept_and_retried(tmp_path, counter):
    calls, state = counter
    state["refuses"] = True
    first = run(grid(1, 2, 3), tmp_path, jobs=1)
    assert [row["error"] for row in first.rows] == ["odd", None, "odd"]
    state["refuses"] = False
    assert run(grid(1, 2, 3), tmp_path, jobs=1).computed == 0
    retried = run(grid(1, 2, 3), tmp_path, jobs=1, retry=True)
    assert retried.computed == 2 and calls == [1, 2, 3, 1, 3] and all(row["error"] is None for row in retried.rows)
    assert len(keys(retried.file)) == 3


def test_parts_that_were_not_merged_are_read_and_newer_ones_win(tmp_path):
    done = run(grid(1, 2), tmp_path, jobs=1)
    store = open_store(tmp_path)
    store.add([done.rows[0] | {"seconds": 1.0}])
    store.add([done.rows[0] | {"seconds": 2.0}])
    rows = store.rows()
    assert len(rows) == 2 and rows[done.rows[0]["key"]]["seconds"] == 2.0
    store.merge()
    assert len(keys(done.file)) == 2 and store.rows() == rows and not store.parts()


def test_a_part_is_a_table_for_any_tool(tmp_path):
    run(grid(1, 2), tmp_path, jobs=1)
    table = pq.read_table(tmp_path / "results.parquet")
    assert [str(table.schema.field(name).type) for name in ("model", "batch", "seconds", "fits", "error")] == [
        "string", "int64", "double", "bool", "string",
    ]  # fmt: skip
    assert table["batch"].to_pylist() == [1, 2] and table["seq"].null_count == 2


def test_what_a_killed_run_had_begun_is_removed(tmp_path):
    run(grid(1), tmp_path, jobs=1)
    half = tmp_path / "parts" / ".part-000007.parquet.deadbeef.part"
    half.write_bytes(b"PAR1")
    assert run(grid(1), tmp_path, jobs=1).computed == 0 and not half.exists()


def test_two_runs_at_once_are_refused(tmp_path):
    run(grid(1), tmp_path, jobs=1)
    with locked(tmp_path), pytest.raises(BadValue, match=rf"process {os.getpid()}\) is writing to .*--out"):
        run(grid(1, 2), tmp_path, jobs=1)
    assert run(grid(1, 2), tmp_path, jobs=1).computed == 1


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(BadValue, match="does not belong to a study"):
        run(grid(1), tmp_path, jobs=1)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    run(grid(1), tmp_path / "a", jobs=1)
    with pytest.raises(BadValue, match="of the question predict, not memory"):
        run(grid(1, question="memory"), tmp_path / "a", jobs=1)
    (tmp_path / "a" / "study.json").write_text(json.dumps({"question": "predict", "version": 0}))
    with pytest.raises(BadValue, match="version 0 of the question predict"):
        run(grid(1), tmp_path / "a", jobs=1)
    with pytest.raises(BadValue, match=r"no study\.json"):
        open_store(tmp_path)


def test_a_damaged_part_is_named(tmp_path):
    prepare(tmp_path, QUESTIONS["predict"])
    run(grid(1), tmp_path, jobs=1)
    (tmp_path / "parts" / "part-000001.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(BadValue, match=r"part-000001\.parquet is damaged"):
        run(grid(1), tmp_path, jobs=1)
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"x": [1]}), tmp_path / "parts" / "part-000001.parquet")
    with pytest.raises(BadValue, match="a study did not write it"):
        run(grid(1), tmp_path, jobs=1)
    (tmp_path / "study.json").write_text("[" * 100_000)
    with pytest.raises(BadValue, match="can't be read"):
        open_store(tmp_path)


def test_processes_that_are_killed_again_and_again_end_the_run(tmp_path, monkeypatch):
    def broken(name, left, jobs):
        raise on_cores.BrokenProcessPool
        yield

    monkeypatch.setattr(on_cores, "_pooled", broken)
    with pytest.raises(IronlawError, match=r"killed 3 times.*fewer --jobs"):
        run(grid(1, 2), tmp_path, jobs=2)
