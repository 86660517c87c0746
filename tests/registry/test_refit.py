"""Stored curves: read back, and what is asked of a machine before it can have some. The whole fit: tests/slow/test_refit.py."""

import json
from dataclasses import replace
from statistics import mean

import pytest

import ironlaw as il
from ironlaw.backends.rows import Row
from ironlaw.calibration.calibration import Calibration
from ironlaw.calibration.curve import Curve
from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.predict import predict
from ironlaw.errors import BadRegistry
from ironlaw.registry import refit as fitting
from ironlaw.registry.calibrations import calibration
from ironlaw.registry.evidence import Evidence, evidence, measured
from ironlaw.registry.loader import folder


def test_what_was_measured_is_calibrated_and_others_are_not():
    stored = calibration("h200_sxm")
    assert isinstance(stored, Calibration)
    assert il.hardware("h200_sxm").calibration is stored
    assert calibration("h100_sxm") is None
    assert {path.stem for path in folder("calibration").glob("*.json")} == {"h200_sxm", "neoverse_n1_2core"} == set(measured())
    assert (stored.backend, calibration("neoverse_n1_2core").backend) == ("cuda", "cpu")


@pytest.mark.parametrize("slug", ["h200_sxm", "neoverse_n1_2core"])
def test_the_stored_file_is_what_it_reads_as(slug):
    text = (folder("calibration") / f"{slug}.json").read_text()
    assert json.loads(json.dumps(calibration(slug).to_json())) == json.loads(text)


def test_it_says_where_it_comes_from():
    stored = calibration("h200_sxm")
    assert stored.sources == tuple(file.source for file in evidence("h200_sxm") if any(row.kind in ("op", "launch") for row in file.rows))
    assert not any("models" in source for source in stored.sources)  # nothing is fitted to a whole model
    assert stored.cache_bytes == 62914560.0  # 60 MiB
    assert "virtual machine" in stored.host


def test_a_machine_without_rows_says_what_to_do():
    with pytest.raises(
        BadRegistry, match=r"no op or launch rows for t4; put evidence into registry/evidence/t4/ first \(see FORMAT\.md there\)"
    ):
        fitting.refit("t4")


# ---- the spread of whole models


def rows_of(mode, ratios):
    """Rows that were measured at given multiples of what is predicted."""
    machine, settings = il.hardware("h200_sxm"), {"batch": 1, "dtype": "fp16"}
    busy = predict(il.workload("mlp8_1024", **settings), machine, Plan(mode=mode)).busy_s
    return [Row(kind="model", workload="mlp8_1024", params=settings, mode=mode, busy_s=busy * r) for r in ratios]


@pytest.fixture
def spread_of(monkeypatch):
    def ask(*rows):
        file = Evidence("x", {}, {}, "", "", tuple(rows))
        monkeypatch.setattr(fitting, "evidence", lambda slug: (file,))
        return fitting.spread("h200_sxm", il.hardware("h200_sxm").calibration)

    return ask


def test_four_in_five_of_what_was_measured(spread_of):
    # nine ratios in steps of a tenth: their tenths are the ratios themselves
    assert spread_of(*rows_of("eager", [0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4])) == {"eager": (0.6, 1.4)}


def test_graphs_scatter_as_compiled_models_do(spread_of):
    found = spread_of(*rows_of("compiled", [0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4]))
    assert found == {"compiled": (0.6, 1.4), "graphs": (0.6, 1.4)}


def test_few_models_say_nothing(spread_of):
    assert spread_of(*rows_of("eager", [1.0] * 7)) == {}
    assert spread_of(*rows_of("eager", [1.0] * 8)) == {"eager": (1.0, 1.0)}
    ops = [Row(kind="op", op="relu", busy_s=1.0)] * 9
    without_time = [replace(row, busy_s=None) for row in rows_of("eager", [1.0] * 9)]
    others = [replace(row, workload="", model="x") for row in rows_of("eager", [1.0] * 9)]
    assert spread_of(*ops, *without_time, *others) == {}


def test_the_interval_holds_four_models_in_five():
    stored = il.hardware("h200_sxm")
    for mode in ("eager", "compiled"):
        inside = []
        for row in (r for file in evidence("h200_sxm") for r in file.rows if r.kind == "model" and r.workload and r.busy_s is not None):
            if row.mode == mode:
                p = predict(il.workload(row.workload, **row.params), stored, Plan(mode=mode))
                low, high = stored.calibration.interval(p.busy_s, mode)
                inside.append(low <= row.busy_s <= high)
        assert 0.75 <= mean(inside) <= 0.9


# ---- storing


def test_write_stores_what_refit_finds(tmp_path, monkeypatch):
    made = replace(il.hardware("h200_sxm").calibration, curves={"tiny": Curve(1e-6)})
    monkeypatch.setattr(fitting, "refit", lambda slug: made)
    monkeypatch.setattr(fitting, "folder", lambda kind: tmp_path / kind)
    path = fitting.write("h200_sxm")
    assert path == tmp_path / "calibration" / "h200_sxm.json"
    assert Calibration.from_json(json.loads(path.read_text())) == made
    assert path.read_text().endswith("}\n")
    assert fitting.write("h200_sxm") == path  # the folder is there by now


def test_refit_takes_op_and_launch_rows_only(monkeypatch):
    asked = {}

    def calibrate(rows, machine, hardware, sources):
        asked.update(rows=rows, machine=machine, sources=sources)
        return il.hardware("h200_sxm").calibration

    files = (
        Evidence("a", {"l2_bytes": 1}, {}, "d", "m", (Row(kind="op"),)),
        Evidence("b", {"l2_bytes": 2}, {}, "d", "m", (Row(kind="launch"), Row(kind="function"))),
        Evidence("c", {"l2_bytes": 3}, {}, "d", "m", (Row(kind="model"),)),
    )
    monkeypatch.setattr(fitting, "evidence", lambda slug: files)
    monkeypatch.setattr(fitting, "calibrate", calibrate)
    monkeypatch.setattr(fitting, "spread", lambda slug, fitted: {"eager": (0.5, 2.0)})
    assert fitting.refit("h200_sxm").spread == {"eager": (0.5, 2.0)}
    assert asked == {"rows": [Row(kind="op"), Row(kind="launch"), Row(kind="function")], "machine": {"l2_bytes": 2}, "sources": (
        "evidence a, d", "evidence b, d")}  # fmt: skip


def test_no_cache_is_slower_than_the_memory_behind_it():
    found = il.hardware("h200_sxm").calibration.curves
    assert {name for name, curve in found.items() if curve.cache < curve.main} == set()
    assert any(curve.cache > 1.2 * curve.main for curve in found.values())
