"""What an op takes of memory for itself, against peaks of the allocator on an H200 (evidence h200_sxm/scratch)."""

import pytest

import ironlaw as il
from ironlaw.backends.cuda.scratch import scratch
from ironlaw.engine.device.types import Tensor
from ironlaw.engine.device.work import op
from ironlaw.registry.evidence import file

MIB = 2**20


@pytest.fixture(scope="module")
def machine():
    return il.hardware("h200_sxm")


def rows(name, **wanted):
    found = [row for row in file("h200_sxm/scratch").rows if row.op == name and wanted.items() <= row.params.items()]
    assert found
    return found


def test_a_sort_takes_its_result_again_only_where_rows_are_long(machine):
    for row in rows("sort"):
        shape, fmt = (row.params["rows"], row.params["cols"]), row.params["dtype"]
        x = Tensor("x", shape, fmt)
        sort = op("topk", "sort", (x,), (Tensor("y", shape, fmt), Tensor("places", shape, "int64")))
        assert scratch(sort, machine, "eager") == pytest.approx(row.extra["scratch_bytes"], rel=0.1, abs=MIB)


def test_a_convolution_holds_what_it_converts(machine):
    for row in rows("conv2d", what="3x3", channels_last=False, dtype="bf16"):
        n, c, size, fmt = (row.params[key] for key in ("n", "c", "size", "dtype"))
        x, y = Tensor("x", (n, c, size, size), fmt), Tensor("y", (n, c, size, size), fmt)
        conv = op("conv2d", "conv", (x, Tensor("w", (c, c, 3, 3), fmt, "weight")), (y,), stride=1, padding=1)
        assert scratch(conv, machine, "eager") == pytest.approx(row.extra["scratch_bytes"], rel=0.25)
