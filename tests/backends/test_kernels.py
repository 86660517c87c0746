"""Kernels by themselves: what is not said is nothing, and how sizes fit their tiles."""

import numpy as np
import pytest

from ironlaw.backends.cuda.gemm import gemm_curve
from ironlaw.backends.kernel import Kernel, multiple, padded
from ironlaw.backends.multi_tensor import list_launches
from ironlaw.engine.device.types import Tensor


def test_a_kernel_does_nothing_that_it_is_not_told():
    bare = Kernel("x", padded(1.0, 1))
    assert (bare.curve, bare.data, bare.flops, bare.rows, bare.depth, bare.count) == ("x", 1.0, 0.0, 0.0, 0.0, 1.0)


@pytest.mark.parametrize(("size", "to", "whole"), [(1, 128, 128), (128, 128, 128), (129, 128, 256), (132, 132, 132), (40, 64, 64)])
def test_whole_tiles(size, to, whole):
    assert padded(size, to) == whole
    assert multiple(size, to) is (size == whole)
    assert padded(np.array([size, whole]), to).tolist() == [whole, whole]


def test_a_call_over_lists_is_cut_into_launches():
    """At most 110 tensors of one list, 64 of two, …, and about 21 million elements in a launch; nothing to write is nothing to do."""
    small, large = Tensor("p", (4,)), Tensor("p", (320 * 65536,))
    assert list_launches([small], []) == 0.0
    for lists, most in enumerate((110, 64, 48, 36, 30, 30), 1):
        assert [list_launches([small] * n * lists, [small] * n) for n in (1, most, most + 1)] == [1.0, 1.0, 2.0]
    assert [list_launches([large] * n, [large] * n) for n in (1, 2, 3)] == [1.0, 2.0, 3.0]
    # 100 tensors of a block and a bit take two blocks each: 160 of them fill a launch, and 110 tensors another
    uneven = Tensor("p", (65537,))
    assert list_launches([uneven] * 110, [uneven] * 110) == 1.0
    assert list_launches([uneven] * 320, [uneven] * 320) == 3.0  # 110, 110 and 100
    double = Tensor("p", (2 * 65537,))  # three blocks: 106 of them and two blocks of the next, whose last goes on
    assert [list_launches([double] * n, [double] * n) for n in (106, 107, 213, 214)] == [1.0, 2.0, 2.0, 3.0]


def test_rows_of_a_product_are_aligned_when_all_sizes_are():
    assert [gemm_curve("fp16", (16, n)) for n in (8, 12, 9)] == ["gemm", "gemm_even", "gemm_odd"]
    assert gemm_curve("bf16", (9, 16)) == "gemm_odd"
    assert gemm_curve("fp32", (9, 16)) == "gemm_fp32"
