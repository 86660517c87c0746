"""What callers hold while their modules run, and what a library keeps: by hand."""

from dataclasses import replace

import pytest

import ironlaw as il
from ironlaw.engine.device.memory import WORKSPACE, footprint, live_activations
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.work import op

X = Tensor("x", (100,), "fp32", "input")
A, B, C, D = (Tensor(name, (100,), "fp32") for name in "abcd")
# a is made, then block(a) runs three ops, of which only the first reads a
NET = Graph("net", (op("relu", "relu", (X,), (A,)), op("relu", "block.one", (A,), (B,)), op("relu", "block.two", (B,), (C,)),
                    op("relu", "block.three", (C,), (D,))), "fp32", {"captured": True}, ("d",))  # fmt: skip
EACH = 400.0


def test_what_a_module_was_called_with_lives_until_it_returns():
    assert live_activations(NET) == 4 * EACH  # x, a, and two of the block's own
    written = replace(NET, settings={})  # ops that were written down: nobody called anything
    assert live_activations(written) == 3 * EACH


def test_what_a_module_makes_for_itself_is_freed():
    ops = tuple(replace(one, name=f"block.{one.name.split('.')[-1]}") for one in NET.ops)
    assert live_activations(replace(NET, ops=ops)) == 3 * EACH


def test_products_of_a_captured_model_bring_their_librarys_workspace():
    weight = Tensor("w", (100, 100), "fp32", "weight")
    net = replace(NET, ops=(*NET.ops, op("linear", "last", (replace(D, shape=(1, 100)), weight), (Tensor("y", (1, 100), "fp32"),))))
    gpu, processor = il.hardware("h200"), il.hardware("neoverse_n1_2core")
    assert footprint(net, gpu).total - footprint(net, processor).total == pytest.approx(WORKSPACE)
    assert footprint(NET, gpu).workspace == 0.0
