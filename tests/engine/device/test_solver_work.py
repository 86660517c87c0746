"""FLOPs of decompositions and solves by hand: matrices of 6 columns, tall ones of 12 rows, 3 right-hand sides."""

import pytest

from ironlaw.engine.device.types import Tensor
from ironlaw.engine.device.work import op
from ironlaw.engine.device.work.solver_work import FLOPS, SOLVED_FOR, sizes

BY_HAND = {
    "cholesky": 72, "lu": 144, "inverse": 432, "solve": 144 + 216, "triangular": 108, "lu_solve": 216, "cholesky_solve": 216, "det": 144,
    "qr": 1440, "triangle": 720, "lstsq": 720 + 3 * (288 - 36), "eigh": 1944, "eigvalsh": 288, "eig": 5400, "eigvals": 2160,
    "svd": 6048 + 1728, "svdvals": 1728 - 288, "matrix_exp": 2160,
}  # fmt: skip
TALL = ("qr", "triangle", "lstsq", "svd", "svdvals")


def test_every_way_is_counted_here():
    assert set(BY_HAND) == set(FLOPS)


@pytest.mark.parametrize("how", BY_HAND)
def test_flops(how):
    rows = 12 if how in TALL else 6
    inputs = [Tensor("a", (5, rows, 6), "fp32")] + ([Tensor("b", (5, rows, 3), "fp32")] if how in SOLVED_FOR else [])
    made = op("solver", how, inputs, [Tensor("y", (5, 6, 6), "fp32")], how=how)
    assert made.work.flops == pytest.approx(5 * BY_HAND[how]) and made.work.matmul_flops == 0
    assert made.work.bytes == sum(t.bytes for t in (*made.inputs, *made.outputs))


def test_a_wide_matrix_is_a_tall_one_turned():
    assert sizes([Tensor("a", (2, 3, 6, 12), "fp32")], "svd") == sizes([Tensor("a", (6, 12, 6), "fp32")], "svd") == (6, 12, 6, 0)
