"""What Python holds while a captured model runs, what ops take for themselves, and what a library keeps: by hand."""

from dataclasses import replace

import pytest

import ironlaw as il
from ironlaw.engine.device.memory import WORKSPACE, footprint, live_activations, live_profile
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.work import op

X = Tensor("x", (100,), "fp32", "input")
A, B, C, D = (Tensor(name, (100,), "fp32") for name in "abcd")
NET = Graph("net", (op("relu", "one", (X,), (A,)), op("relu", "two", (A,), (B,)), op("relu", "three", (B,), (C,)),
                    op("relu", "four", (C,), (D,))), "fp32", {"captured": True}, ("d",))  # fmt: skip
EACH = 400.0


def with_settings(graph, **settings):
    return replace(graph, settings={"captured": True, **settings})


def test_a_tensor_lives_until_its_last_reader_or_until_python_lets_it_go():
    assert [live / EACH for live in live_profile(NET)] == [1, 2, 3, 3, 3]
    kept = with_settings(NET, held={"a": "three"}, within={}, parts={})
    assert [live / EACH for live in live_profile(kept)] == [1, 2, 3, 4, 3]
    gone = with_settings(NET, held={"a": "an op that was taken out"}, within={}, parts={})
    assert live_profile(gone) == live_profile(NET)


def test_what_was_written_into_a_part_is_the_whole_and_what_lies_within_it_costs_nothing():
    first, second = (Tensor(name, (50,), "fp32") for name in ("first", "second"))
    halves = Graph("net", (op("relu", "one", (X,), (first,)), op("relu", "two", (X,), (second,), inplace=True)), "fp32",
                   {"captured": True, "held": {}, "within": {"second": "first"}, "parts": {"first": 2.0}}, ("second",))  # fmt: skip
    assert [live / EACH for live in live_profile(halves)] == [1, 2, 2]


def test_what_ops_take_for_themselves_counts_while_they_run_in_a_captured_model():
    assert live_activations(NET, (0.0, 0.0, 5 * EACH, 0.0)) == 8 * EACH
    assert live_activations(NET, (5 * EACH, 0.0, 0.0, 0.0)) == 7 * EACH
    assert footprint(NET, None, (0.0, 0.0, 5 * EACH, 0.0)).activations == 8 * EACH
    assert footprint(replace(NET, settings={}), None, (0.0, 0.0, 5 * EACH, 0.0)).activations == 3 * EACH


def test_products_of_a_captured_model_bring_their_librarys_workspace_once_per_thread():
    weight = Tensor("w", (100, 100), "fp32", "weight")
    net = replace(NET, ops=(*NET.ops, op("linear", "last", (replace(D, shape=(1, 100)), weight), (Tensor("y", (1, 100), "fp32"),))))
    gpu, processor = il.hardware("h200"), il.hardware("neoverse_n1_2core")
    assert footprint(net, gpu).total - footprint(net, processor).total == pytest.approx(WORKSPACE)
    assert footprint(with_settings(net, training=True), gpu).workspace == 2 * WORKSPACE
    assert footprint(NET, gpu).workspace == 0.0
