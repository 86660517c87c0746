"""Which product of which format a row of a trace is, and what a trace without kernels, streams or launches gives."""

from types import SimpleNamespace

import pytest

from ironlaw import hardware
from ironlaw.errors import BadValue
from ironlaw.report import trace_rates
from ironlaw.report.trace_rates import TraceRates, read_rates

FLOAT, HALF = "float", "c10::Half"


def product(name, *inputs, kernel="a kernel"):
    return list(trace_rates._product(SimpleNamespace(name=f"aten::{name}", inputs=inputs), [SimpleNamespace(name=kernel)]))


def test_sides_of_products():
    two, three = (HALF, (3, 5)), (HALF, (5, 7))
    assert product("mm", two, three) == [("fp16", (1, 3, 7, 5))]
    assert product("addmm", (HALF, (7,)), two, three) == [("fp16", (1, 3, 7, 5))]
    assert product("bmm", (HALF, (2, 3, 5)), (HALF, (2, 5, 7))) == [("fp16", (2, 3, 7, 5))]
    assert product("mm", two) == product("relu", two) == product("bmm", two, three) == []


@pytest.mark.parametrize(
    ("kernel", "formats"),
    [
        ("ampere_sgemm_128x64_nn", ["fp32"]), ("cutlass_simt_gemm", ["fp32"]), ("cutlass_80_tensorop_s1688gemm", ["tf32"]),
        ("sm90_xmma_gemm_f32f32_tf32f32", ["tf32"]), ("gemm", []),
    ],
)  # fmt: skip
def test_which_unit_an_fp32_product_ran_on_is_in_its_kernels_name(kernel, formats):
    assert [fmt for fmt, _ in product("mm", (FLOAT, (3, 5)), (FLOAT, (5, 7)), kernel=kernel)] == formats


def test_small_products_and_formats_that_the_machine_has_not_say_nothing():
    t4 = hardware("t4")
    kernel = SimpleNamespace(name="k", seconds=1.0)
    squares = ((kind, (side, side)) for kind, side in ((HALF, 64), ("c10::BFloat16", 4096)))
    done = [(SimpleNamespace(name="aten::mm", inputs=(one, one)), [kernel]) for one in squares]
    assert trace_rates._rates(done, t4) == {}


def test_a_trace_of_nothing():
    empty = SimpleNamespace(name="t.json", kernels=[], ops=[], waits=[])
    with pytest.raises(BadValue, match=r"t\.json holds no kernels of a GPU; profile with activities="):
        read_rates(empty, hardware("t4"))
    assert trace_rates._launches(SimpleNamespace(name="t", ops=[], waits=[]), set(), None) == {}
    assert TraceRates(None, {}, {}).host is None
