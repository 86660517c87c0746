"""Bad or odd input: what is refused says why and what to do, what is empty counts as nothing."""

import math

import numpy as np
import pytest
from small_graphs import tensor

import ironlaw as il
from ironlaw.engine.arrays import plain, ratio
from ironlaw.engine.device import memory
from ironlaw.engine.device.dispatch import Run
from ironlaw.engine.device.fusion_rules import decide
from ironlaw.engine.device.predict import one_launch
from ironlaw.engine.device.types import Graph, Op, Work
from ironlaw.engine.device.work import KINDS, op
from ironlaw.errors import BadValue, IronlawError


@pytest.mark.parametrize(
    ("kind", "inputs", "output", "attrs", "said"),
    [
        ("linear", [(2, 3)], (2, 4), {}, "op 'n' can't be a linear: list index out of range; it has (2, 3) and (2, 4)"),
        ("linear", [(2, 3), (4, 5)], (2, 4), {}, "the inner sizes differ, 3 and 5"),
        ("matmul", [(2, 3), (4, 5)], (2, 5), {}, "the inner sizes differ, 3 and 4"),
        ("conv2d", [(1, 8, 4, 4), (3, 7, 1, 1)], (1, 3, 4, 4), {}, "the channels of input and weight differ, 8 and 7"),
        ("conv2d", [(1, 8, 4, 4), (3, 4, 1, 1)], (1, 3, 4, 4), {"groups": 4}, "the channels of input and weight differ, 8 and 16"),
        ("conv2d", [(1, 8, 4, 4), (3,)], (1, 3, 4, 4), {}, "expected 4, got 1"),
        ("max_pool2d", [(1, 2, 4, 4)], (1, 2, 2, 2), {}, "no 'kernel'; it has (1, 2, 4, 4) and (1, 2, 2, 2)"),
        ("max_pool2d", [(1, 2, 4, 4)], (1, 2, 2, 2), {"kernel": 3}, "kernel=3"),
        ("embedding", [(3, 4)], (2, 3), {}, "is: inputs: the table, then the indices."),
        ("relu", [("a", 3)], (2, 3), {}, "has shape ('a', 3); every size must be above 0"),
    ],
)
def test_an_op_whose_tensors_do_not_fit(kind, inputs, output, attrs, said):
    with pytest.raises(BadValue) as error:
        op(kind, "n", [tensor(f"x{i}", *shape) for i, shape in enumerate(inputs)], [tensor("y", *output)], **attrs)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_the_whole_of_what_is_said():
    with pytest.raises(BadValue) as error:
        op("max_pool2d", "n", [tensor("x", 2, 3), tensor("z", 4)], [], window=3, pad=1)
    assert str(error.value).startswith("op 'n' can't be a max_pool2d: ")
    assert "; it has (2, 3), (4,) and nothing (inputs and outputs) and window=3, pad=1. " in str(error.value)
    assert str(error.value).endswith(" Fix its tensors or attributes")
    with pytest.raises(BadValue) as error:
        op("grouped_matmul", "n", [tensor("x", 2, 3)], [tensor("y", 2, 4)])
    assert str(error.value) == (
        "op 'n' can't be a grouped_matmul: list index out of range; it has (2, 3) and (2, 4) (inputs and outputs) and no attributes."
        " A grouped_matmul is: Rows […, k], sorted by expert, times [experts, n, k]: each row meets one expert's matrix."
        " Fix its tensors or attributes"
    )


def test_a_kind_without_a_description_is_not_described():
    @KINDS("elementwise")
    def test_only_mute(x, y, a):
        raise ValueError("it is never right")

    try:
        with pytest.raises(BadValue) as error:
            op("test_only_mute", "n", [tensor("x", 2, 3)], [tensor("y", 2, 4)])
    finally:
        del KINDS["test_only_mute"]
    assert str(error.value) == (
        "op 'n' can't be a test_only_mute: it is never right; it has (2, 3) and (2, 4) (inputs and outputs) and no attributes."
        " Fix its tensors or attributes"
    )


def test_the_inner_sizes_of_three_axes():
    with pytest.raises(BadValue, match="the inner sizes differ, 3 and 5"):
        op("linear", "n", [tensor("x", 2, 4, 3), tensor("w", 7, 3, 5)], [tensor("y", 2, 4, 7)])


def test_groups_may_be_left_to_the_shapes():
    found = op("conv2d", "n", [tensor("x", 1, 8, 4, 4), tensor("w", 8, 1, 1, 1, role="weight")], [tensor("y", 1, 8, 4, 4)])
    assert found.work.matmul_flops == 2 * 8 * 16


def test_a_list_among_the_attributes():
    pooled = op("max_pool2d", "n", [tensor("x", 1, 2, 4, 4)], [tensor("y", 1, 2, 2, 2)], kernel=[2, 2])
    assert il.predict(Graph("g", (pooled,)), il.hardware("h100_sxm")).seconds > 0


def test_compiling_for_nothing_that_gains_nothing_is_even_at_once():
    assert il.breakeven(0, 10, 10) == 0
    assert il.breakeven(0, 10, 20) == 0
    assert il.breakeven(0, 20, 10) == math.inf
    assert il.breakeven(1, 10, 10) == math.inf
    assert il.breakeven(np.array([0.0, 1.0, 0.0]), 10.0, np.array([10.0, 10.0, 5.0])).tolist() == [0, math.inf, math.inf]


def test_numpy_scalars_are_numbers():
    found = il.breakeven(np.float32(30), np.int64(1450), np.int64(2150))
    assert isinstance(found, float)
    assert found == pytest.approx(133607.14, abs=0.01)
    roof = il.roofline(np.float32(1e9), np.int64(10**6), il.hardware("h100_sxm"), "fp16")
    assert (roof.regime, type(roof.attainable)) == ("compute", float)
    graph = il.workload("resnet50", batch=np.int64(2))
    assert graph.flops == il.workload("resnet50", batch=2).flops
    assert isinstance(il.predict(graph, il.hardware("h100_sxm")).seconds, float)
    assert plain(np.array(3.0)) == 3.0
    assert plain(2) == 2
    assert plain(np.array([3.0])).shape == (1,)


def test_nothing_over_nothing():
    assert (ratio(0.0, 0.0), ratio(3.0, 0.0), ratio(3.0, 2.0), ratio(0.0, 2.0)) == (0.0, math.inf, 1.5, 0.0)
    assert ratio(np.array([0.0, 3.0, 3.0, 0.0]), np.array([0.0, 0.0, 2.0, 2.0])).tolist() == [0.0, math.inf, 1.5, 0.0]
    assert ratio(np.array([0.0, 3.0]), 2.0).tolist() == [0.0, 1.5]
    assert ratio(3.0, np.array([0.0, 2.0])).tolist() == [math.inf, 1.5]
    assert Work().intensity == 0.0
    assert Work(flops=1.0).intensity == math.inf
    assert Run(0.0, 0.0).utilization == 0.0


def test_a_graph_of_views_takes_no_time_and_uses_nothing():
    graph = Graph("g", (op("view", "v", [tensor("x", 4, 8, role="input")], [tensor("y", 32)]),))
    found = il.predict(graph, il.hardware("h100_sxm"))
    assert (found.seconds, found.utilization, found.mfu) == (0.0, 0.0, 0.0)


def test_a_view_and_a_write_in_place_hold_no_memory_of_their_own():
    x, a, b, c = tensor("x", 8, role="input"), tensor("a", 8), tensor("b", 2, 4), tensor("c", 8)  # 16 bytes each
    through_a_view = (op("relu", "a", [x], [a]), op("view", "b", [a], [b]), op("exp", "c", [b], [c]))
    assert memory.live_activations(Graph("g", through_a_view)) == 48.0
    assert memory.live_activations(Graph("g", (op("relu", "a", [x], [a], inplace=True), op("exp", "c", [a], [c])))) == 32.0
    # a view of a view is what the first one views
    twice = (*through_a_view[:2], op("view", "v", [b], [tensor("v", 8)]), op("exp", "c", [tensor("v", 8)], [c]))
    assert memory.live_activations(Graph("g", twice)) == 48.0
    # the view is read after its tensor's last reader: the memory is still held
    d, e = tensor("d", 8), tensor("e", 8)
    late = (*through_a_view[:2], op("exp", "c", [x], [c]), op("exp", "d", [c], [d]), op("add", "e", [d, b], [e]))
    assert memory.live_activations(Graph("g", late)) == 64.0


def test_an_output_that_nobody_makes():
    made = op("relu", "r", [tensor("x", 8, role="input")], [tensor("y", 8)])
    with pytest.raises(IronlawError, match="no output of graph 'g' 'z'"):
        Graph("g", (made,), outputs=("z",))


def test_an_efficiency_above_one():
    with pytest.raises(BadValue, match="plan efficiency is 5; it is a share of the peak rate: give at most 1"):
        il.Plan(efficiency=5)
    assert il.Plan(efficiency=1.0).efficiency == 1.0


def test_one_launch_reads_the_rows_of_a_table_that_it_needs():
    ids, table = tensor("ids", 10, dtype="int64", role="input"), tensor("table", 1000, 64, role="weight")
    looked_up = op("embedding", "e", [table, ids], [tensor("y", 10, 64)])
    whole = one_launch(Graph("g", (looked_up,))).ops[0]
    assert sum(whole.reads) == 10 * 64 * 2 + 10 * 8
    tied = (looked_up, op("linear", "head", [looked_up.outputs[0], table], [tensor("z", 10, 1000)]))
    assert sum(one_launch(Graph("g", tied)).ops[0].reads) == 1000 * 64 * 2 + 10 * 8
    with pytest.raises(IronlawError, match="no traffic 'foo'"):
        one_launch(Graph("g", tied), traffic="foo")


def made(kind: str, *shape: int, output: tuple[int, ...] = (), **attrs: object) -> Op:
    return op(kind, kind, [tensor("x", *shape)], [tensor("y", *(output or shape))], **attrs)


def test_why_a_matmul_does_not_take_what_follows():
    matmul = op("matmul", "m", [tensor("x", 64, 64), tensor("w", 64, 64)], [tensor("y", 64, 64)])
    moved = decide(matmul, made("transpose", 64, 64))
    assert (moved.fused, moved.pattern) == (False, "none")
    assert moved.reason == "transpose writes outside matmul's tile, so it is a kernel of its own"
    pooled = decide(matmul, made("max_pool2d", 1, 1, 64, 64, output=(1, 1, 32, 32), kernel=(2, 2)))
    assert pooled.reason == "max_pool2d reads elements out of order, so matmul must be stored for it"
    assert decide(matmul, made("softmax", 64, 64)).pattern == "barrier"


def test_reductions_along_different_axes_do_not_share_a_kernel():
    x, y, z = tensor("x", 64, 64, role="input"), tensor("y", 64, 64), tensor("z", 64)
    rows = op("softmax", "s", [x], [y])
    for axis, kernels in ((-1, 1), (0, 2)):
        plan = il.fuse(Graph("g", (rows, op("sum", "t", [y], [z], axis=axis))))
        assert plan.kernels == kernels
    assert plan.verdicts[0].reason == "the two reduce along different axes"
