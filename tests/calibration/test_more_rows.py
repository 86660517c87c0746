"""On machines that nobody measured a product never takes longer than one with more rows; on a measured one it may, as the library does."""

import pytest

import ironlaw as il
from ironlaw.calibration.transfer.more_rows import rows_of
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.work import op

ROWS = (1, 2, 3, 4, 8, 16, 17, 32, 33, 48, 64, 65, 128, 129, 192, 256, 257, 384, 512, 513, 1024, 1025, 2048, 2049, 4096)


def product(rows, inner, outer, dtype, lead=()):
    x, w, y = (
        Tensor("x", (*lead, rows, inner), dtype, "input"),
        Tensor("w", (outer, inner), dtype, "weight"),
        Tensor("y", (*lead, rows, outer), dtype),
    )
    return Graph("product", (op("linear", "product", (x, w), (y,)),), dtype)


@pytest.mark.parametrize("slug", ["l4", "a100_80gb_sxm", "h100_sxm", "b200", "rtx_4090", "mi300x", "t4"])
@pytest.mark.parametrize("dtype", ["fp32", "fp16"])
def test_more_rows_never_take_less(slug, dtype):
    machine = il.hardware(slug)
    for inner, outer in ((4096, 4096), (768, 3072), (4096, 1024), (512, 2000)):
        seconds = [float(il.predict(product(rows, inner, outer, dtype), machine).busy_s) for rows in ROWS]
        falls = [f"{a} → {b}" for a, b, s, t in zip(ROWS, ROWS[1:], seconds, seconds[1:], strict=False) if t < s * (1 - 1e-9)]
        assert not falls, (inner, outer)


def test_leading_axes_are_rows_too():
    machine = il.hardware("l4")
    flat, apart = (
        float(il.predict(graph, machine).busy_s) for graph in (product(48, 256, 512, "fp32"), product(12, 256, 512, "fp32", (4,)))
    )
    assert flat == apart


def test_other_kinds_and_swept_sizes_are_left_alone():
    import numpy as np

    assert rows_of(product(48, 256, 512, "fp32").ops[0]) == 48
    assert rows_of(product(np.array([4, 8]), 256, 512, "fp32").ops[0]) is None
    x = Tensor("x", (2, 3, 4), "fp32")
    assert rows_of(op("bmm", "b", (x, Tensor("w", (2, 4, 5), "fp32")), (Tensor("y", (2, 3, 5), "fp32"),))) is None
    assert rows_of(op("relu", "r", (x,), (x,))) is None
