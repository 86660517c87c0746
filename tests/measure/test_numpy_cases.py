"""What NumPy times in a sweep: each case computes what its row will say, at the sizes that it will say."""

import math

import numpy as np
import pytest

from ironlaw.measure.devices.device import Unsupported
from ironlaw.measure.devices.numpy_cpu import NumpyCpu

BY_HAND = {"relu": lambda x: max(x, 0), "tanh": math.tanh, "mul_scalar": lambda x: 1.5 * x, "copy": float, "add": lambda x: 2 * x}
BY_HAND |= {"mul": lambda x: x * x}
LARGEST = 2**14


@pytest.fixture
def device():
    made = NumpyCpu()
    made.array = lambda *shape: np.linspace(-2, 2, math.prod(shape), dtype="float32").reshape(shape)
    return made


def test_each_case_computes_what_its_row_says(device):
    cases = list(device.cases())
    assert len({(case.op, *case.params.items()) for case in cases}) == len(cases) == 7 + 6 * 6 + 3
    for case in (case for case in cases if case.op in BY_HAND and case.params["numel"] <= LARGEST):
        result = case.prepare()()
        x = device.array(case.params["numel"])
        assert result.shape == x.shape and result[[0, 5, -1]] == pytest.approx(
            [BY_HAND[case.op](float(x[i])) for i in (0, 5, -1)], rel=1e-6
        )
    assert {case.op for case in cases} == {*BY_HAND, "linear", "sum"} and all(case.params["dtype"] == "fp32" for case in cases)


def test_products_and_sums_have_the_shapes_of_their_rows(device):
    product, _ = (case for case in device.cases() if case.op == "linear" and case.params["m"] == 1)
    result, p = product.prepare()(), product.params
    x, w = device.array(1, p["k"]), device.array(p["n"], p["k"])
    by_hand = math.fsum(float(a) * float(b) for a, b in zip(x[0], w[3], strict=True))
    assert result.shape == (1, p["n"]) and result[0, 3] == pytest.approx(by_hand, rel=1e-4)
    total = next(case for case in device.cases() if case.op == "sum")
    assert total.prepare()()[2] == pytest.approx(math.fsum(map(float, device.array(64, 768)[2])), rel=1e-4)


def test_a_format_without_a_library_is_refused(device):
    with pytest.raises(Unsupported, match="NumPy has no BLAS for fp16 matrices"):
        device.gemm("fp16", 8)
