"""Evidence files are written whole or not at all."""

import json
import os
from dataclasses import replace

import pytest

from ironlaw.backends.rows import Row
from ironlaw.errors import BadRegistry
from ironlaw.measure import evidence_file as store
from ironlaw.registry.evidence import read

HEAD = {"machine": {"hardware": "this_machine", "cores": 2}, "software": {"python": "3.12"}, "method": "a fake clock"}
ROW = Row(kind="launch", op="add", wall_s=2.5e-6)


def test_what_is_written_reads_as_evidence(tmp_path):
    path = store.write(tmp_path / "this_machine" / "machine.json", **HEAD, rows=[ROW, ROW], date="2026-11-15", noise={"noisy": False})
    found = read(path)
    assert list(found.rows) == [ROW, ROW]
    assert (found.date, found.method) == ("2026-11-15", "a fake clock")
    assert json.loads(path.read_text())["noise"] == {"noisy": False}
    assert store.today() == read(store.write(path, **HEAD, rows=[ROW])).date


def test_no_rows_is_still_json(tmp_path):
    assert json.loads(store.text(**HEAD, rows=[]))["rows"] == []


@pytest.mark.parametrize("where", ["fsync", "replace"])
@pytest.mark.parametrize("what", [KeyboardInterrupt, OSError])
def test_an_interrupt_leaves_the_old_file_and_no_half_one(tmp_path, monkeypatch, where, what):
    path = store.write(tmp_path / "machine.json", **HEAD, rows=[ROW])
    before = path.read_bytes()

    def fail(*_):
        raise what

    monkeypatch.setattr(os, where, fail)
    with pytest.raises(what):
        store.write(path, **HEAD, rows=[ROW] * 1000)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["machine.json"]


def test_a_figure_that_is_not_a_number_is_refused(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        store.write(tmp_path / "machine.json", **HEAD, rows=[replace(ROW, wall_s=float("nan"))])
    assert list(tmp_path.iterdir()) == []


def test_appending_begins_a_file_and_adds_to_it(tmp_path):
    path = tmp_path / "models.json"
    store.append(path, [ROW], **HEAD, date="2026-11-15")
    store.append(path, [replace(ROW, op="mul")], **HEAD, date="2026-11-16")
    found = read(path)
    assert [(row.op, row.extra["date"]) for row in found.rows] == [("add", "2026-11-15"), ("mul", "2026-11-16")]
    assert found.date == "2026-11-16"
    assert "software" not in found.rows[0].extra  # the same still


def test_rows_taken_with_other_software_say_so(tmp_path):
    path = tmp_path / "models.json"
    store.append(path, [ROW], **HEAD, date="2026-11-15")
    newer = HEAD | {"software": {"python": "3.13"}}
    store.append(path, [ROW], **newer, date="2026-11-16")
    store.append(path, [ROW], **(newer | {"method": "another"}), date="2026-11-17")
    first, second, third = (row.to_json() for row in read(path).rows)
    assert (first["software"], first["method"]) == ({"python": "3.12"}, "a fake clock")
    assert ("software" in second, second["method"]) == (False, "a fake clock")
    assert third == ROW.to_json() | {"date": "2026-11-17"}


def test_a_damaged_file_is_not_overwritten_by_appending(tmp_path):
    path = tmp_path / "models.json"
    path.write_text("{")
    with pytest.raises(BadRegistry, match="damaged"):
        store.append(path, [ROW], **HEAD)
    assert path.read_text() == "{"
