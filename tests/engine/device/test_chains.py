"""A composed chain, counted by hand on a [4, 8] tensor of FP16: 32 elements, 64 bytes."""

import pytest

from ironlaw.engine.device.chains import KINDS, PALETTE, chain
from ironlaw.engine.device.fusion import fuse
from ironlaw.engine.device.types import Tensor
from ironlaw.errors import BadValue, UnknownName

T = 64


def ledger(*kinds, **more):
    return [(op.work.flops, op.work.read, op.work.written) for op in chain(kinds, (4, 8), **more).ops]


def test_three_ops_read_and_write_once_each():
    assert ledger("layer_norm", "dropout", "relu") == [(7 * 32, T, T), (2 * 32, T, T), (32, T, T)]


def test_a_mask_is_a_byte_an_element_and_only_in_training():
    assert ledger("dropout", training=True) == [(64, T, T + 32)]
    assert ledger("dropout") == [(64, T, T)]


@pytest.mark.parametrize("kind", ["add", "mul"])
def test_binary_ops_read_a_second_tensor_and_matmul_a_square_weight(kind):
    assert ledger(kind, "matmul") == [(32, 2 * T, T), (2 * 4 * 8 * 8, T + 128, T)]


def test_sum_leaves_one_number():
    assert ledger("sum", "relu") == [(32, T, 2), (1, 2, 2)]


def test_fused_reads_1_writes_1_and_keeps_the_mask():
    graph = fuse(chain(("layer_norm", "dropout", "relu"), (4, 8))).graph
    assert (graph.work.read, graph.work.written, graph.kernels) == (T, T, 1)
    training = fuse(chain(("layer_norm", "dropout", "relu"), (4, 8), training=True)).graph
    assert (training.work.read, training.work.written) == (T, T + 32)


def test_numbers_and_copies_beside_the_palette():
    assert ledger("scale", "shift", "copy") == [(32, T, T), (32, T, T), (0, T, T)]


def test_every_op_stands_alone():
    assert set(PALETTE) < set(KINDS)
    for kind in KINDS:
        assert chain((kind,), (4, 8)).kernels == 1


def test_ops_and_tensors_are_numbered_from_one_and_passed_on():
    """Every tensor by name, shape, format and role: FP32 from end to end, but for masks."""
    graph = chain(("mul", "dropout", "matmul", "gelu", "dropout", "sum"), (4, 8), "fp32", training=True)
    assert [op.name for op in graph.ops] == ["1 mul", "2 dropout", "3 matmul", "4 gelu", "5 dropout", "6 sum"]
    x, b, w = Tensor("x", (4, 8), "fp32", "input"), Tensor("b1", (4, 8), "fp32", "input"), Tensor("w3", (8, 8), "fp32", "weight")
    t = [Tensor(f"t{i}", (4, 8), "fp32", "activation") for i in range(6)]
    assert [op.inputs for op in graph.ops] == [(x, b), (t[1],), (t[2], w), (t[3],), (t[4],), (t[5],)]
    masks = [Tensor(f"mask{i}", (4, 8), "bool", "activation") for i in (2, 5)]
    last = Tensor("t6", (1, 1), "fp32", "activation")
    assert [op.outputs for op in graph.ops] == [(t[1],), (t[2], masks[0]), (t[3],), (t[4],), (t[5], masks[1]), (last,)]
    assert graph.ops[-1].attrs == {"over": "all"}
    assert (graph.name, graph.dtype, graph.settings, graph.outputs) == ("chain", "fp32", {}, ("t6", "mask2", "mask5"))
    assert chain(("relu",), (4, 8)).dtype == "fp16"


def test_refusals():
    with pytest.raises(UnknownName, match=f"^no op of a chain 'conv2d'; known: {', '.join(sorted(KINDS))}$"):
        chain(("conv2d",), (4, 8))
    with pytest.raises(BadValue, match=f"^a chain needs at least one op; give some of {', '.join(KINDS)}$"):
        chain((), (4, 8))
