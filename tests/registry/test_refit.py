"""Stored curves: read back, and what is asked of a machine before it can have some. Whole fits: tests/slow and tests/release."""

import json
from dataclasses import astuple, replace
from math import log

import pytest

import ironlaw as il
from ironlaw.backends.rows import Row
from ironlaw.calibration.curve import Curve
from ironlaw.calibration.machine_calibration import Calibration
from ironlaw.calibration.scatter import Outcome
from ironlaw.calibration.stored_curves import host_json
from ironlaw.engine.device.intervals import HOST
from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.predict import predict
from ironlaw.errors import BadRegistry
from ironlaw.registry.calibrations import calibration
from ironlaw.registry.evidence import Evidence, evidence, measured
from ironlaw.registry.hosts import host, measured_with
from ironlaw.registry.loader import folder
from ironlaw.registry.workloads import workload
from ironlaw.systems.accuracy import held_out
from ironlaw.systems.accuracy import refit as fitting
from ironlaw.systems.accuracy.held_out import stored_unseen, with_first


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
    read = json.loads(json.dumps(calibration(slug).to_json()))
    if measured_with(slug):
        del read["host"]  # the host is another file's
    assert read == json.loads(text)


def test_it_says_where_it_comes_from():
    stored = calibration("h200_sxm")
    fitted = [file for file in evidence("h200_sxm") if any(row.kind in ("op", "launch") or row.mode == "fp8" for row in file.rows)]
    assert stored.sources == tuple(file.source for file in fitted)
    assert not any("models" in source for source in stored.sources)  # nothing is fitted to a whole model
    assert stored.cache_bytes == 62914560.0  # 60 MiB
    assert stored.host == host("xeon_vm") == measured_with("h200_sxm") and "irtual machine" in stored.host.name


def test_a_machine_without_rows_says_what_to_do():
    with pytest.raises(
        BadRegistry, match=r"no op or launch rows for t4; put evidence into registry/evidence/t4/ first \(see FORMAT\.md there\)"
    ):
        fitting.refit("t4")


# ---- how whole models come out

H200 = il.hardware("h200_sxm")


def rows_of(mode, ratios, **more):
    """Rows that were measured at given multiples of what is predicted."""
    settings = {"batch": 1, "dtype": "fp16"}
    busy = predict(workload("mlp8_1024", **settings), H200, Plan(mode=mode)).busy_s
    return [Row(kind="model", workload="mlp8_1024", params=settings, mode=mode, busy_s=busy * r, **more) for r in ratios]


def outcomes_of(*rows):
    return list(fitting.outcomes(H200, ((row, workload(row.workload, **row.params)) for row in rows)))


def test_an_outcome_is_how_far_off_a_model_was_and_might_be():
    (one,) = outcomes_of(*rows_of("eager", [1.25]))
    p = predict(workload("mlp8_1024", batch=1, dtype="fp16"), H200)
    assert (one.model, one.mode, one.error) == ("mlp8_1024", "eager", pytest.approx(log(1.25)))
    assert (one.apart, one.together) == p.intervals.sds and 0 < one.apart <= one.together * (1 + 1e-9)


def test_the_host_is_judged_where_the_device_waits():
    p = predict(workload("mlp8_1024", batch=1, dtype="fp16"), H200)
    assert p.utilization < fitting.WAITING
    _, host = outcomes_of(*rows_of("eager", [1.0], piped_s=2.0 * p.seconds))
    assert (host.mode, host.error, host.apart) == (HOST, pytest.approx(log(2.0)), 0.0)


def test_a_row_without_a_time_or_of_another_mode_says_nothing():
    (row,) = rows_of("eager", [1.0])
    assert outcomes_of(replace(row, busy_s=None), replace(row, mode="exported")) == []


def test_what_a_kernel_takes_longer_among_others_is_what_is_missing_for_each():
    graph = workload("dscnn_kws", batch=1, dtype="fp16")
    alone = replace(H200, calibration=replace(H200.calibration, among=0.0))
    busy = predict(graph, alone).busy_s
    rows = [
        (Row(kind="model", workload="dscnn_kws", mode=mode, busy_s=busy + late * 16, kernels=16.0), graph)
        for mode, late in [("eager", 1e-7), ("eager", 3e-7), ("eager", 9e-7), ("compiled", 5e-6)] * 4
    ]
    assert fitting.among(alone, rows) == pytest.approx(3e-7)  # the median, and of eager code alone
    assert fitting.among(alone, rows[:8]) == 0.0  # six are too few
    faster = [(replace(row, busy_s=busy / 2), graph) for row, graph in rows]
    assert fitting.among(alone, faster) == 0.0  # no kernel is faster for its neighbours


def test_few_models_say_nothing():
    bare = replace(H200.calibration, scatter={}, common=0.0)
    few = outcomes_of(*rows_of("eager", [1.0] * 7))
    assert fitting.judged(bare, few).scatter == {}
    enough = fitting.judged(bare, outcomes_of(*rows_of("eager", [1.1] * 8)))
    assert enough.scatter["eager"].bias == pytest.approx(log(1.1), abs=1e-4)


@pytest.mark.parametrize("slug", ["h200_sxm", "neoverse_n1_2core"])
def test_what_is_stored_follows_from_how_the_models_came_out(slug):
    machine = il.hardware(slug)
    again = fitting.judged(machine.calibration, [*fitting.stored_outcomes(slug), *stored_unseen(slug)])
    assert again.common == pytest.approx(machine.calibration.common, abs=0.01)
    assert again.scatter.keys() == machine.calibration.scatter.keys()
    for mode, found in again.scatter.items():
        assert found == pytest.approx(machine.calibration.scatter[mode], abs=2e-3)


@pytest.mark.parametrize("slug", ["h200_sxm", "neoverse_n1_2core"])
def test_the_registrys_models_come_out_as_they_are_stored(slug):
    seen = {(o.model, o.mode, round(o.error, 3)) for o in fitting.stored_outcomes(slug) if o.mode != HOST}
    rows = list(fitting.registry_models(slug))[::4]
    now = [o for o in fitting.outcomes(il.hardware(slug), rows) if o.mode != HOST]
    assert len(now) > 5
    for one in now:
        assert any((one.model, one.mode) == (m, mode) and abs(one.error - error) < 2e-3 for m, mode, error in seen), (
            f"{one}; run: python scripts/calibrate.py {slug}"
        )


# ---- models that nobody had looked at


def run_of(mode="eager", dtype="fp16", ratio=1.5, **more):
    graph = workload("mlp8_1024", batch=1, dtype=dtype)
    p = predict(graph, H200, Plan(mode=mode))
    return {"model": "m", "mode": mode, "dtype": dtype, "batch": 1, "busy_s": ratio * p.busy_s, **more}, graph


def test_an_unseen_run_is_judged_by_its_kind():
    found = held_out.outcomes_of(H200, [run_of(), run_of("compiled"), run_of(dtype="fp32")])
    assert [(o.mode, o.run) for o in found] == [("eager", "eager fp16 1"), ("compiled", "compiled fp16 1"), ("eager fp32", "eager fp32 1")]
    assert [o.error for o in found] == pytest.approx([log(1.5)] * 3) and all(
        0 < o.apart <= o.together * (1 + 1e-12) for o in found
    )  # equal where one curve serves all


def test_the_host_is_judged_by_unseen_runs_that_wait_for_it():
    p = predict(workload("mlp8_1024", batch=1, dtype="fp16"), H200)
    _, host = held_out.outcomes_of(H200, [run_of(piped_s=3.0 * p.seconds)])
    assert (host.mode, host.error, host.run) == (HOST, pytest.approx(log(3.0)), "eager fp16 1")


def test_how_a_run_came_out_first_is_kept():
    then = Outcome("m", "eager", 0.9, 0.1, 0.1, "eager fp16 1", "2026-11-01")
    now = held_out.outcomes_of(H200, [run_of(), run_of("compiled")])
    kept = with_first(now, [then, replace(then, first="")], "2026-11-20")
    assert kept == [then, replace(now[1], first="2026-11-20"), *now]


def test_unseen_runs_judge_before_others():
    bare = replace(H200.calibration, scatter={}, common=0.0)
    open_ones = [Outcome(str(i), "eager", 0.01, 0.02, 0.02) for i in range(20)]
    shut = [Outcome(str(i), "eager", 0.5, 0.02, 0.02, "eager fp16 1") for i in range(8)]
    assert fitting.judged(bare, [*open_ones, *shut]).scatter["eager"].bias == pytest.approx(0.5)
    assert fitting.judged(bare, [*open_ones, *shut[:7]]).scatter["eager"].bias == pytest.approx(0.01)


def test_rejudging_needs_curves():
    with pytest.raises(BadRegistry, match=r"no curves for h100_sxm; fit them first: python scripts/calibrate\.py h100_sxm"):
        fitting.rejudge("h100_sxm", ())


# ---- storing


def test_write_stores_what_refit_finds(tmp_path, monkeypatch):
    made = replace(il.hardware("h200_sxm").calibration, curves={"tiny": Curve(1e-6)})
    seen = [Outcome("a", "eager", 0.1, 0.02, 0.03), Outcome("a", "compiled", -0.1)]
    shut = [Outcome("b", "eager", 0.2, 0.02, 0.03, "eager fp16 1", first) for first in ("2026-11-16", "")]
    monkeypatch.setattr(fitting, "refit", lambda slug, models, runs: (made, [*seen, *shut]))
    for module in (fitting, held_out):
        monkeypatch.setattr(module, "folder", lambda kind: tmp_path / kind)
    (tmp_path / "host").mkdir()
    launcher = tmp_path / "host" / "xeon_vm.toml"
    launcher.write_bytes((folder("host") / "xeon_vm.toml").read_bytes())
    path = fitting.write("h200_sxm")
    assert path == tmp_path / "calibration" / "h200_sxm.json"
    assert Calibration.from_json(json.loads(path.read_text()) | {"host": host_json(made.host)}) == made
    assert launcher.read_bytes() == (folder("host") / "xeon_vm.toml").read_bytes()  # the same figures under the same words
    assert path.read_text().endswith("}\n")
    assert fitting.stored_outcomes("h200_sxm") == sorted(seen, key=astuple)
    assert stored_unseen("h200_sxm") == sorted(shut, key=astuple) and stored_unseen("neoverse_n1_2core") == []
    assert fitting.write("h200_sxm") == path  # the folders are there by now


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
    fitted, seen = fitting.refit("h200_sxm", ())
    assert (fitted.scatter, seen) == ({}, [])
    assert asked == {"rows": [Row(kind="op"), Row(kind="launch"), Row(kind="function")], "machine": {"l2_bytes": 2}, "sources": (
        "evidence a, d", "evidence b, d")}  # fmt: skip


def test_no_cache_is_slower_than_the_memory_behind_it():
    found = il.hardware("h200_sxm").calibration.curves
    assert {name for name, curve in found.items() if curve.cache < curve.main} == set()
    assert any(curve.cache > 1.2 * curve.main for curve in found.values())


def test_a_layer_s_product_in_fp8_is_one_of_single_products():
    """By hand: 3 µs of its own kernel, without the 1 µs that fills in a scale."""
    kernels = [{"name": "gemm", "count": 1, "seconds": 3e-6}, {"name": "FillFunctor", "count": 1, "seconds": 1e-6}]
    measured = {"kind": "function", "name": "product_forms", "mode": "fp8", "busy_s": 4e-6, "kernels": 2, "list": kernels}
    row = Row.from_json(measured | {"params": {"m": 1, "n": 2, "k": 3}})
    product = fitting.as_product(row)
    assert (product.op, product.busy_s, product.params) == ("matmul", 3e-6, {"m": 1, "n": 2, "k": 3, "dtype": "fp8"})
