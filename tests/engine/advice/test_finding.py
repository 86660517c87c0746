"""The first sentence of an analysis: who decides, what most of the work is, and what limits it, on machines with figures by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from small_graphs import MACHINE, chain, tensor

from ironlaw.engine.advice.finding import finding
from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.predict import predict
from ironlaw.engine.device.types import Graph
from ironlaw.engine.device.work import op

X, IDS = tensor("x", 8, 16, role="input"), tensor("ids", 8, dtype="int64", role="input")
PLANE = tensor("p", 1, 4, 8, 8, role="input")
HEADS = tensor("h", 1, 2, 8, 16, role="input")
COMPILED = Plan("compiled")
KINDS = {
    "matrix products": op("linear", "o", [X, tensor("w", 16, 16, role="weight")], [tensor("y", 8, 16)]),
    "element-wise operators": op("gelu", "o", [X], [tensor("y", 8, 16)]),
    "attention": op("attention", "o", [HEADS, HEADS, HEADS], [tensor("y", 1, 2, 8, 16)]),
    "norms and softmax": op("softmax", "o", [X], [tensor("y", 8, 16)]),
    "sums and means": op("sum", "o", [X], [tensor("y", 8)]),
    "copies": op("copy", "o", [X], [tensor("y", 8, 16)]),
    "look-ups and sorting": op("embedding", "o", [tensor("t", 16, 16, role="weight"), IDS], [tensor("y", 8, 16)]),
    "pooling": op("max_pool2d", "o", [PLANE], [tensor("y", 1, 4, 4, 4)], kernel=(2, 2), stride=(2, 2)),
    "convolutions": op("conv2d", "o", [PLANE, tensor("w", 4, 4, 1, 1, role="weight")], [tensor("y", 1, 4, 8, 8)]),
    "other operators": op("fft", "o", [X], [tensor("y", 8, 16)]),
}
WIDENED = op("conv_transpose2d", "o", [PLANE, tensor("w", 4, 4, 1, 1, role="weight")], [tensor("y", 1, 4, 8, 8)])


@pytest.mark.parametrize(("name", "one"), [*KINDS.items(), ("convolutions", WIDENED)])
def test_each_sort_of_work_has_the_name_that_people_use(name, one):
    assert f"100% of its work is {name}, limited by" in finding(predict(Graph("one", (one,), "fp16"), MACHINE))


def test_who_decides_comes_first():
    """Two steps of 1.28 s each, by hand: 64 + 64 bytes at 100 a second; launching takes nothing, nearly a second or a minute for each."""
    said = {launch: finding(predict(chain("relu", "relu"), replace(MACHINE, launch=launch, kind="gpu"))) for launch in (0.0, 60.0)}
    assert said[0.0].startswith("The GPU is busy throughout a call of 2.56 s on Toy, eager. 100% of its work is element-wise operators")
    assert said[60.0].startswith(
        "The GPU is idle for 98% of each call, because launching 2 kernels is the bottleneck. A call takes 2.02 min on Toy, eager."
    )
    between = finding(predict(chain("relu", "relu"), replace(MACHINE, launch=0.9, kind="cpu", dispatch="synchronous")))
    assert (
        between.startswith("The device is busy for 59% of a call of")
        and "for the rest it waits for the host to launch 2 kernels." in between
    )


def test_one_kernel_is_one():
    assert "launching 1 kernel is the bottleneck" in finding(predict(chain("relu"), replace(MACHINE, launch=60.0)))


def test_what_limits_most_of_the_work_is_what_limits_more_than_half_of_its_time():
    assert "limited by moving data" in finding(predict(chain("relu", "relu"), MACHINE))
    slow = replace(MACHINE, peaks={"fp16": 1.0, "fp32": 1.0}, sparse={})
    assert finding(predict(chain("relu", "relu"), slow)).endswith("limited by arithmetic.")  # and nobody waits for wires or a line of code
    short = replace(MACHINE, bandwidth=1e6, peaks={"fp16": 1e3, "fp32": 1e3}, sparse={})
    assert finding(predict(chain("relu", "relu"), short)).endswith("limited by arithmetic.")  # of milliseconds as of minutes


def test_a_fused_kernel_is_called_by_the_product_in_it():
    first, x = KINDS["matrix products"], tensor("x", 8, 16, role="input")
    second = op("relu", "r", [first.outputs[0]], [tensor("z", 8, 16)])
    both = Graph("both", (first, second), "fp16")
    alone = Graph(
        "alone", (op("relu", "a", [x], [tensor("y", 8, 16)]), op("gelu", "b", [tensor("y", 8, 16)], [tensor("z", 8, 16)])), "fp16"
    )
    assert "is matrix products" in finding(predict(both, MACHINE, COMPILED))
    assert "100% of its work is fused kernels" in finding(predict(alone, MACHINE, COMPILED))
