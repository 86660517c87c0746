"""A composed chain, counted by hand on a [4, 8] tensor of FP16: 32 elements, 64 bytes."""

import pytest

from ironlaw.engine.chains import PALETTE, chain
from ironlaw.engine.fusion import fuse
from ironlaw.errors import BadValue, UnknownName

T = 64


def ledger(*kinds, **more):
    return [(op.work.flops, op.work.read, op.work.written) for op in chain(kinds, (4, 8), **more).ops]


def test_three_ops_read_and_write_once_each():
    assert ledger("layer_norm", "dropout", "relu") == [(7 * 32, T, T), (2 * 32, T, T), (32, T, T)]


def test_a_mask_is_a_byte_an_element_and_only_in_training():
    assert ledger("dropout", training=True) == [(64, T, T + 32)]
    assert ledger("dropout") == [(64, T, T)]


def test_binary_ops_read_a_second_tensor_and_matmul_a_square_weight():
    assert ledger("add", "matmul") == [(32, 2 * T, T), (2 * 4 * 8 * 8, T + 128, T)]


def test_sum_leaves_one_number():
    assert ledger("sum", "relu") == [(32, T, 2), (1, 2, 2)]


def test_fused_reads_1_writes_1_and_keeps_the_mask():
    graph = fuse(chain(("layer_norm", "dropout", "relu"), (4, 8))).graph
    assert (graph.work.read, graph.work.written, graph.kernels) == (T, T, 1)
    training = fuse(chain(("layer_norm", "dropout", "relu"), (4, 8), training=True)).graph
    assert (training.work.read, training.work.written) == (T, T + 32)


def test_every_op_of_the_palette_stands_alone():
    for kind in PALETTE:
        assert chain((kind,), (4, 8)).kernels == 1


def test_refusals():
    with pytest.raises(UnknownName, match="conv2d"):
        chain(("conv2d",), (4, 8))
    with pytest.raises(BadValue, match="at least one"):
        chain((), (4, 8))
