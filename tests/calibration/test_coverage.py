"""Inside, near, outside or unknown: measured rows against ops that nobody measured."""

from dataclasses import replace

import pytest
from small_graphs import MACHINE

import ironlaw as il
from ironlaw.backends.kernel import Kernel
from ironlaw.calibration.coverage import DOUBLINGS, INSIDE, NOTHING, PLACES, beyond, coverage, place, shares
from ironlaw.calibration.curve import Curve
from ironlaw.calibration.machine_calibration import Calibration
from ironlaw.calibration.neighbours import NEAR
from ironlaw.engine.device.host import Host
from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.predict import predict
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.work import op
from ironlaw.registry.evidence import evidence

H200 = il.hardware("h200_sxm")
FITTED = [file for file in evidence("h200_sxm") if any(f"{file.name}," in source for source in H200.calibration.sources)]


def linear(m, n, k, dtype="fp16"):
    return op("linear", "l", [Tensor("x", (m, k), dtype), Tensor("w", (n, k), dtype, "weight")], [Tensor("y", (m, n), dtype)])


def stream(kind, size, dtype="fp16"):
    return op(kind, kind, [Tensor("x", (size,), dtype)], [Tensor("y", (size,), dtype)])


def test_what_was_measured_lies_inside():
    """All rows whose time is one op's: none lies outside but the odd one whose second kernel the profile could not tell apart.
    Oblong gradients of depthwise convolutions follow no curve, nor do a line's groups and a video's patches, and say so."""
    library = H200.calibration.library
    rows = [row for file in [file for file in FITTED if not file.name.endswith("/depthwise")][:6] for row in file.rows]
    ops = [one for row in rows if (one := library.measured(row))]
    found = [coverage(one, H200) for one in ops]
    assert len(ops) > 300
    assert sum(c.place == "inside" for c in found) > 0.95 * len(ops)
    assert sum(c.place in ("outside", "unknown") for c in found) < 0.004 * len(ops)


def test_a_row_of_a_family_lies_at_no_distance():
    row = next(r for file in FITTED for r in file.rows if r.op == "linear" and r.busy_s and r.kind == "op")
    found = coverage(H200.calibration.library.measured(row), H200)
    assert found.place == "inside" and found.distance == pytest.approx(0.0, abs=1e-3)
    assert found.family.startswith("linear")


def test_far_from_every_row_lies_outside():
    assert coverage(linear(2**30, 7, 2**20 + 1), H200).place == "outside"
    near, far = coverage(linear(4096, 4096, 4096), H200), coverage(linear(4096, 2**20, 4096), H200)
    assert near.place == "inside" and far.distance > near.distance


def test_the_distance_is_the_one_the_prediction_used():
    one = linear(3001, 777, 513)
    assert coverage(one, H200).distance == H200.calibration.correction(one, "eager").distance


def test_without_a_calibration_all_is_unknown():
    assert coverage(stream("relu", 8), MACHINE) == NOTHING
    assert coverage(stream("relu", 8), H200, Plan(calibrated=False)) == NOTHING


def test_without_a_curve_an_op_is_unknown():
    bare = replace(MACHINE, calibration=Calibration({}, Host({"default": 1.0}), 1e6))
    assert coverage(stream("relu", 8), bare).place == "unknown"


def curves(**known):
    return replace(MACHINE, calibration=Calibration(known, Host({"default": 1.0}), 1e6))


def test_a_kind_with_a_curve_is_judged_by_the_sizes_of_its_samples():
    machine = curves(relu=Curve(1e-9, main=1e9, cache=1e9, smallest=4e3, largest=4e6))  # an element moves 4 bytes: a read and a write
    found = [coverage(stream("relu", elements), machine) for elements in (1e3, 1e5, 1e6, 2e6, 4e6, 8e6, 1e9, 500, 250, 1)]
    assert [c.place for c in found] == ["inside"] * 4 + ["near", "outside", "outside", "inside", "near", "outside"]
    assert found[5].distance == pytest.approx(3 / DOUBLINGS)
    assert found[3].distance == pytest.approx(INSIDE) and found[4].distance == pytest.approx(NEAR)


def test_a_kernel_at_its_curves_floor_lies_inside_however_small():
    machine = curves(relu=Curve(1.0, smallest=4e3, largest=4e6))
    assert [coverage(stream("relu", elements), machine).place for elements in (1, 1e9)] == ["inside", "outside"]


def test_a_curve_that_does_not_say_its_sizes_is_no_better_than_near():
    assert coverage(stream("relu", 8), curves(relu=Curve(1.0))).place == "near"
    assert beyond(Kernel("tiny", 0.0), Curve(1.0)) == 0.0  # samples that move nothing, and so does this


def test_a_stand_in_makes_a_plain_stream_near_and_anything_else_outside():
    machine = curves(elementwise=Curve(1.0, smallest=8, largest=1e9))
    assert coverage(stream("relu", 1000), machine).place == "near"
    row = op("softmax", "s", [Tensor("x", (8, 8))], [Tensor("y", (8, 8))])
    assert coverage(row, machine).place == "outside"


def test_another_format_of_a_measured_family_is_no_better_than_near():
    families = H200.calibration.families
    assert "layer_norm 16 bit" in families and "layer_norm 64 bit" not in families
    wide = op("layer_norm", "n", [Tensor("x", (4096, 1024), "fp64")], [Tensor("y", (4096, 1024), "fp64")])
    assert coverage(wide, H200).place in ("near", "outside")


def test_the_shares_are_of_time():
    ops = (linear(4096, 4096, 4096), linear(2**28, 7, 4097))
    graph = Graph("two", tuple(replace(one, name=str(i)) for i, one in enumerate(ops)), "fp16")
    rows = predict(graph, H200).ops
    found = shares(rows, H200)
    assert tuple(found) == PLACES and sum(found.values()) == pytest.approx(1.0)
    assert [coverage(one, H200).place for one in ops] == ["inside", "outside"]
    assert found["inside"] == pytest.approx(rows[0].seconds / (rows[0].seconds + rows[1].seconds))


def test_a_view_costs_nothing_and_lies_inside():
    view = op("view", "v", [Tensor("x", (4, 4))], [Tensor("y", (16,))])
    assert coverage(view, H200).place == "inside"


def test_words_for_distances():
    assert [place(d) for d in (0.0, INSIDE, 0.51, NEAR, 1.01)] == ["inside", "inside", "near", "near", "outside"]
