"""Every kind of picture with real predictions: the marks, the words and the table hold the engine's figures, and agree."""

import json
from dataclasses import replace

import pytest

from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.predict import one_launch, predict
from ironlaw.errors import BadValue, UnknownName
from ironlaw.pictures.curve_picture import Position, curve
from ironlaw.pictures.ladder import Rung, ladder, ladders, value_of
from ironlaw.pictures.reveal_picture import Distance, rules
from ironlaw.pictures.roofline_picture import roofline, spots
from ironlaw.pictures.terms import ADDED, RUNS, terms
from ironlaw.pictures.waterfall import Limit, Part, footprint, time, waterfall
from ironlaw.registry.machines import hardware
from ironlaw.registry.workloads import workload
from ironlaw.widget.quantities import exact, format_quantity

BOUND = Plan(calibrated=False)
RUNGS = (
    Rung(hardware("h100_sxm"), "fp16", "H100"),
    Rung(hardware("orin_nx_16gb"), "int8", "Orin NX", sparse=True),
    Rung(hardware("a17_npu"), "int8", "A17"),
    Rung(hardware("cortex_m7"), "fp32", "M7"),
)


@pytest.fixture(scope="module")
def resnet():
    return workload("resnet50", batch=1, dtype="fp16")


def by_id(figure, id):
    return next(m for m in figure.to_dict()["marks"] if m.get("id") == id)


def told(figure):
    """All that is said in words: sentence, note and table."""
    return "\n".join([figure.text, figure.note, *(" ".join(row) for row in figure.table.rows)])


def test_the_terms_of_lab_01(resnet):
    p = predict(one_launch(resnet), hardware("h100_sxm"), BOUND)
    figure = terms(p, "compute", "memory")
    assert p.bound == "memory"
    at = 0.0
    for term, seconds in (("memory", p.data_s), ("compute", p.compute_s), ("overhead", p.overhead_s)):
        bar = by_id(figure, term)
        assert (bar["x0"], bar["x1"] - bar["x0"], bar["y"], bar["colour"]) == (at, pytest.approx(seconds), ADDED, term)
        assert bar["name"].endswith(format_quantity(seconds, "s")) and format_quantity(seconds, "s") in told(figure)
        at = bar["x1"]
        assert ["exactly", exact(seconds, "s")] in bar["hover"]
        assert bar["hover"][-1]  # a source
    assert [item["label"].endswith("the bottleneck") for item in figure.legend] == [True, False, False]
    assert by_id(figure, f"behind-{ADDED}")["label"].endswith("◆ you said compute")
    assert by_id(figure, f"behind-{RUNS}")["label"] == f"{format_quantity(p.seconds, 's')}  ✓ it is memory"
    assert "You said compute" in figure.text
    json.dumps(figure.to_dict(), allow_nan=False)


@pytest.mark.parametrize(("machine", "whole"), [("h100_sxm", one_launch), ("h100_sxm", lambda graph: graph), ("cortex_m7", one_launch)])
def test_what_overlaps_is_drawn_over_each_other_and_ends_at_t(machine, whole):
    p = predict(whole(workload("resnet50", batch=1, dtype="fp32")), hardware(machine), BOUND)
    memory, compute, overhead = (by_id(terms(p), f"lane-{term}") for term in ("memory", "compute", "overhead"))
    assert memory["x0"] == 0.0 and overhead["x1"] == pytest.approx(p.seconds)
    shared = min(memory["x1"], compute["x1"]) - max(memory["x0"], compute["x0"])
    assert shared == pytest.approx(min(p.data_s, p.compute_s, max(0.0, p.data_s + p.compute_s + p.overhead_s - p.seconds)))
    assert {bar["y"] for bar in (memory, compute, overhead)} == {RUNS} and [bar["slot"] for bar in (memory, compute, overhead)] == [
        [0, 3], [1, 3], [2, 3]
    ]  # fmt: skip


def test_terms_without_a_prediction_and_with_about_equal(resnet):
    p = predict(one_launch(resnet), hardware("h100_sxm"), BOUND)
    assert "You said" not in terms(p).text
    assert "You said about equal" in terms(p, "equal").text


def test_terms_name_their_sources(resnet):
    calibrated = predict(resnet, hardware("h200_sxm"))
    assert all(by_id(terms(calibrated), term)["hover"][-1].startswith("Measured") for term in ("memory", "compute", "overhead"))
    given = predict(resnet, hardware("h100_sxm"), replace(BOUND, launch=5e-6))
    assert by_id(terms(given), "overhead")["hover"][-1] == "given in the plan"


@pytest.mark.parametrize("quantity", ["compute", "bandwidth", "capacity", "power"])
def test_a_ladder_has_a_sourced_bar_for_every_machine(quantity):
    figure = ladder(RUNGS, quantity, "cortex_m7")
    for rung in RUNGS:
        value, source = value_of(rung, quantity)
        bar = by_id(figure, rung.slug)
        assert (bar["x"], bar["y"], bar["colour"]) == (value, rung.label, rung.regime)
        assert bar.get("emphasis", False) == (rung.slug == "cortex_m7")
        assert bar.get("pattern", False) == source.estimate
        assert source.source in bar["hover"][-1]
        assert bar["label"] in figure.text
        assert any(bar["label"] in row for row in figure.table.rows)


def test_the_compute_ladder_says_that_formats_differ():
    mixed = ladder(RUNGS, "compute")
    assert mixed.note == "Formats differ: FP16, FP32, INT8, INT8 sparse"
    assert mixed.x.unit == "OP/s"
    assert "60.2\u202fTOP/s INT8 sparse" in mixed.text
    alike = ladder(RUNGS[:1], "compute")
    assert (alike.note, alike.x.label, alike.x.unit) == ("", "peak rate, FP16", "FLOP/s")


def test_four_ladders_and_the_reveal_on_the_first():
    assert [f.more.get("width") for f in ladders(RUNGS)] == ["half"] * 4
    figures = ladders(RUNGS, extra=rules(1e4, 989_000, "×", base=1e9))
    assert [f.more.get("width") for f in figures] == [None, "third", "third", "third"]
    prediction, truth = by_id(figures[0], "prediction"), by_id(figures[0], "truth")
    assert (prediction["x"], truth["x"]) == (1e13, 989e12)
    assert prediction["label"] == "you said 10⁴×"
    assert prediction["distance"] == "98.9× too low, 2 orders of magnitude"


def test_an_unknown_quantity_names_the_known_ones():
    with pytest.raises(UnknownName, match="bandwidth"):
        ladder(RUNGS, "speed")


def test_distances():
    assert Distance(1e9, 989_000).words == "1,010× too high, 3 orders of magnitude"
    assert Distance(1e6, 989_000).words == "on the mark"
    assert Distance(2.0, 1.0).words == "2× too high"
    assert Distance(0.1, 1.0).words == "10× too low, 1 order of magnitude"
    with pytest.raises(BadValue, match="above 0"):
        Distance(0.0, 1.0)


def test_the_intensity_levels_off_under_the_ridge():
    batches = (1, 8, 64, 256)
    series = {"every op": [(b, workload("resnet50", batch=b, dtype="fp16").work) for b in batches]}
    figure = curve(series, hardware("h100_sxm"), "fp16", Position("every op", 8), drag="batch")
    assert "none reaches the ridge" in figure.text
    assert by_id(figure, "ridge")["y"] == hardware("h100_sxm").ridge("fp16")
    now = by_id(figure, "now")
    assert (now["x"], now["y"]) == (8.0, series["every op"][1][1].intensity)
    assert now["drag"] == {"dial": "batch", "axis": "x"}
    assert len(figure.table.rows) == len(batches)
    assert figure.x.ticks == tuple(2.0**k for k in range(9))
    for _, work in series["every op"]:
        assert exact(work.intensity, "FLOP/B") in told(figure)


def test_a_series_that_reaches_the_ridge_is_named():
    series = {
        "weights": [(b, one_launch(workload("resnet50", batch=b, dtype="fp16")).work) for b in (1, 64)],
        "every op": [(b, workload("resnet50", batch=b, dtype="fp16").work) for b in (1, 64)],
    }
    figure = curve(series, hardware("h100_sxm"), "fp16")
    assert "only weights reaches the ridge" in figure.text
    assert "all reach the ridge" in curve(series, hardware("neoverse_n1_2core"), "fp32").text
    points = {m["name"].partition(",")[0]: m["shape"] for m in figure.to_dict()["marks"] if m["type"] == "point"}
    assert {entry["label"]: entry["shape"] for entry in figure.legend} == points and len(set(points.values())) == 2
    with pytest.raises(BadValue, match="at least one"):
        curve({}, hardware("h100_sxm"), "fp16")
    with pytest.raises(BadValue, match="at least one"):
        curve({"a": []}, hardware("h100_sxm"), "fp16")


def test_the_roofline_holds_every_op_with_arithmetic(resnet):
    p = predict(resnet, hardware("h100_sxm"), BOUND)
    figure, machine = roofline(p), p.hardware
    assert sum(spot.count for spot in spots(p)) == sum(row.work.flops > 0 for row in p.ops)
    peak, ridge = machine.peak("fp16"), machine.ridge("fp16")
    for m in figure.to_dict()["marks"]:
        if m["type"] == "point":
            assert m["y"] <= min(peak, machine.bandwidth * m["x"]) * 1.0001
    assert next(m for m in figure.to_dict()["marks"] if m["type"] == "rule")["x"] == ridge
    run = by_id(figure, "run")
    assert run["x"] == resnet.work.intensity
    assert run["y"] == resnet.work.flops / p.seconds
    assert "under the roof" in run["label"]
    assert "left of the ridge" in figure.text
    assert len(figure.table.rows) == len(spots(p)) + 1


def test_no_point_is_above_the_roof_of_the_memory_that_its_bytes_come_from():
    machine = hardware("cortex_m7")
    p = predict(workload("dscnn_kws", dtype="int8"), machine, BOUND)
    figure = roofline(p)
    assert "AXI SRAM" in str(figure.to_dict())
    for point in (m for m in figure.to_dict()["marks"] if m["type"] == "point"):
        assert point["y"] <= 1.0001 * min(machine.peak("int8"), point["x"] * machine.level("sram").bandwidth)
    # 2 ms of start on 3 ms of arithmetic; the flash's roof alone would put the run above it
    assert by_id(figure, "run")["label"].startswith("whole run, 1.7×")


def test_oom_on_the_microcontroller_lies_on_red_ground():
    machine = hardware("cortex_m7")
    p = predict(workload("resnet50", batch=1, dtype="fp32"), machine, BOUND)
    figure = footprint(p.memory, machine)
    bars = [m for m in figure.to_dict()["marks"] if m["type"] == "bar"]
    over = by_id(figure, "over")
    assert (over["colour"], over["x0"], over["x1"]) == ("fail", p.memory.usable, p.memory.total)
    assert bars[0]["x0"] == 0.0
    assert bars[-1]["x1"] == p.memory.activations == p.memory.total  # the weights lie in flash
    assert by_id(figure, "limit")["colour"] == "fail"
    assert "× the usable memory" in figure.note
    assert "usable memory of 492\u202fkB" in figure.text


def test_a_model_that_fits_says_how_full_it_is(resnet):
    p = predict(one_launch(resnet), hardware("h100_sxm"), BOUND)
    figure = footprint(p.memory, p.hardware)
    assert "% of the usable memory" in figure.note
    assert all("fail" not in m for m in figure.to_dict()["marks"])


def test_time_as_a_stack_adds_up(resnet):
    p = predict(one_launch(resnet), hardware("h100_sxm"), BOUND)
    figure = time(p)
    assert figure.to_dict()["marks"][-1]["x1"] == pytest.approx(p.data_s + p.compute_s + p.overhead_s)
    assert figure.table.rows[-1][0] == "together"


def test_a_waterfall_leaves_out_what_is_zero_and_refuses_nothing_at_all():
    figure = waterfall([Part("a", 1.0), Part("b", 0.0)], "B", "Bytes", limit=Limit("limit", 2.0))
    assert [m.get("name") for m in figure.to_dict()["marks"]] == ["a", "limit"]
    with pytest.raises(BadValue, match="above 0"):
        waterfall([Part("a", 0.0)], "B", "Bytes")
