"""What a prediction says of itself: where its ops lie among what was measured, what it is judged by, and how it is labelled."""

from dataclasses import replace

import pytest
from measured_toy import LONGER, NET, A, B, measured, took
from small_graphs import MACHINE, chain, tensor

from ironlaw.engine.device.cost import Cost
from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.predict import OpRow, predict
from ironlaw.engine.device.types import Graph
from ironlaw.engine.device.work import STAND_IN, op, with_attrs

RELU = op("relu", "act", [A], [B])
SURE = took(9.5, 0.5, "inside")


def test_an_op_that_nothing_measured_answers_for_is_unknown():
    row = OpRow(RELU, Cost(1.0, 1.0))
    assert (row.place, row.interval) == ("unknown", None)
    assert OpRow(RELU, took(1.0, 1.0, "near")).place == "near"


def test_an_op_is_known_by_what_is_inside_it_or_by_what_it_stands_in_for():
    relus = [RELU, with_attrs(RELU, op="erf"), with_attrs(RELU, **{STAND_IN: "selu"}), with_attrs(RELU, op="erf", **{STAND_IN: "selu"})]
    assert [OpRow(one, SURE).origin for one in relus] == ["relu", "erf", "selu", "selu"]
    (fused,) = predict(chain("relu", "exp", "relu"), MACHINE, Plan("compiled")).ops
    assert fused.origin == "relu + exp"  # each kind once


def test_a_row_as_json_is_its_own():
    first, second = predict(NET, MACHINE).ops
    assert [row.to_dict() for row in (first, second)] == predict(NET, MACHINE).to_dict()["ops"]
    assert second.to_dict()["name"] == "act"


def test_a_bound_has_no_intervals_and_a_measured_time_has_three():
    p = predict(NET, MACHINE)
    assert p.interval is p.device_interval is p.host_interval is None
    p = measured(NET, linear=SURE, relu=took(0.5, 0.25, "inside"))
    assert (p.device_interval, p.host_interval) == (pytest.approx((8.0, 12.5)), pytest.approx((0.5, 2.0)))  # of 10 s, of 1 s


@pytest.mark.parametrize(
    ("dtype", "mode", "settings", "kind"),
    [
        ("fp16", "eager", {}, "eager"),
        ("fp16", "graphs", {"training": False}, "graphs"),
        ("fp32", "compiled", {}, "compiled fp32"),
        ("fp32", "eager", {"training": True}, "training"),
    ],
)
def test_which_measured_models_it_is_judged_by(dtype, mode, settings, kind):
    assert predict(replace(NET, dtype=dtype, settings=settings), MACHINE, Plan(mode)).kind == kind


def test_what_lies_outside_is_added_up_by_kind_with_the_largest_first():
    graph = Graph("g", (*LONGER.ops, op("relu", "again", [tensor("c", 4, 8)], [tensor("d", 4, 8)])))
    p = measured(graph, linear=took(4.0, 0.5, "inside"), relu=took(2.0, 0.5, "outside"), exp=took(2.0, 0.5, "unknown"))
    assert p.outside == [("relu", 0.4), ("exp", 0.2)] and p.beyond == pytest.approx(0.6)
    p = measured(LONGER, linear=took(4.0, 0.5, "near"), relu=took(1.0, 0.5, "unknown"), exp=took(3.0, 0.5, "outside"))
    assert p.outside == [("exp", 0.375), ("relu", 0.125)]
    assert predict(graph, MACHINE).outside == []  # a bound was not measured anywhere


def test_an_unknown_op_makes_a_time_partly_calibrated_unless_it_takes_no_time():
    for relu, label in (
        (took(0.5, 0.25, "unknown"), "partly calibrated"),  # however short: a twentieth
        (took(0.0, 0.0, "unknown"), "calibrated"),
        (took(0.5, 0.25, "outside"), "calibrated"),
        (took(9.5, 0.25, "outside"), "partly calibrated"),
        (took(9.5, 0.25, "near"), "calibrated"),
    ):
        assert measured(NET, linear=SURE, relu=relu).label == label
    assert measured(NET, linear=SURE, relu=took(0.0, 0.0, "unknown")).outside == []
    # just a tenth is not over a tenth
    assert measured(NET, linear=took(9.0, 0.5, "inside"), relu=took(1.0, 0.25, "outside")).label == "calibrated"
