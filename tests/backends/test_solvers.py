"""How many kernels PyTorch's libraries launch for a decomposition or a solve, by what was counted on an H200."""

import pytest
from on_machines import H200, lower, samples

import ironlaw as il
from ironlaw.backends.evidence_ops import OPS
from ironlaw.engine.device.types import Tensor
from ironlaw.engine.device.work import op

PARAMS = {"how": "cholesky", "matrices": 16, "longer": 256, "shorter": 256, "sides": 0, "dtype": "fp32"}


def decomposed(how, matrices, longer, shorter=None, sides=0, dtype="fp32"):
    p = {"how": how, "matrices": matrices, "longer": longer, "shorter": shorter or longer, "sides": sides, "dtype": dtype}
    return OPS["decompose"](p)


def launched(*of, **more):
    (kernel,) = lower(decomposed(*of, **more))
    return kernel.count


COUNTED = {
    "one matrix, whatever its size": (("cholesky", 1, 4096), 6),
    "a batch by blocks of 16 columns": (("cholesky", 16, 256), 51),
    "half a block is one": (("cholesky", 16, 24), 9),
    "an LU of one launches more from 1,024": (("lu", 1, 512), 8),
    "as one of 2,048 does": (("lu", 1, 2048), 103),
    "a batch of small ones at once": (("lu", 4096, 32), 3),
    "few larger ones, too": (("lu", 16, 128), 3),
    "but not many": (("lu", 256, 128), 99),
    "a determinant is an LU and a product": (("det", 256, 128), 108),
    "a solve is an LU and two triangles": (("solve", 1, 256, 256, 1), 21),
    "an inverse is solved for as many sides as columns": (("inverse", 256, 64), 58),
    "a triangle by its blocks": (("triangular", 16, 512, 512, 1), 32),
    "QR makes each Q by itself": (("qr", 16, 8), 150),
    "R alone does not": (("triangle", 16, 8), 5),
    "a tall one of 2,048 goes column by column": (("qr", 1, 16384, 2048), 4224),
    "eigenvalues of small ones at once": (("eigvalsh", 4096, 32), 29),
    "of larger ones one after the other": (("eigvalsh", 256, 128), 8453),
    "singular values in blocks": (("svdvals", 4096, 32), 8),
    "of a tall matrix it is turned": (("svd", 16, 24, 3), 10),
    "a tall one that no block holds": (("svd", 1, 64, 8), 78),
    "an exponential is 57 small kernels": (("matrix_exp", 256, 64), 57),
}


@pytest.mark.parametrize("case", COUNTED)
def test_kernels_as_counted(case):
    of, count = COUNTED[case]
    assert launched(*of) == pytest.approx(count, abs=0.5)


def test_fp64_has_wider_blocks_and_more_than_65535_matrices_a_second_launch():
    assert launched("lu", 256, 128, dtype="fp64") < 0.7 * launched("lu", 256, 128)
    assert launched("cholesky_solve", 65536, 8, 8, 1) == 2 * launched("cholesky_solve", 65535, 8, 8, 1)


def test_a_kernel_has_its_share_of_bytes_arithmetic_matrices_and_columns():
    it = decomposed("cholesky", 16, 256)
    (kernel,) = lower(it)
    assert kernel.data * 51 == pytest.approx(it.work.bytes) and kernel.flops * 51 == pytest.approx(it.work.flops)
    assert (kernel.rows * 51, kernel.depth * 51) == pytest.approx((16, 256))
    (after_another,) = lower(decomposed("qr", 16, 512))  # columns of all matrices
    assert after_another.depth * after_another.count == pytest.approx(16 * 512)


def test_one_matrix_may_serve_a_batch_of_right_hand_sides():
    a, b, x = Tensor("a", (64, 64), "fp32"), Tensor("b", (8, 64, 2), "fp32"), Tensor("x", (8, 64, 2), "fp32")
    shared = op("solver", "t", [a, b], [x], how="triangular")
    assert shared.work.flops == 8 * 64**2 * 2
    assert lower(shared)[0].count == launched("triangular", 8, 64, 64, 2)


def test_a_row_is_a_sample_of_its_mean_kernel():
    (sample,) = samples([{"kind": "op", "op": "decompose", "params": PARAMS, "busy_s": 5.1}])
    assert sample.seconds == pytest.approx(0.1) and sample.kernel.count == 1.0 and sample.kernel.rows == pytest.approx(16 / 51)


@pytest.mark.parametrize("how", ["lu_solve", "triangle", "lstsq", "eig", "eigvals"])
def test_what_no_row_measures_follows_its_like(how):
    (kernel,) = lower(decomposed(how, 4, 64, sides=1 if how in ("lu_solve", "lstsq") else 0))
    assert kernel.curve in ("solver_triangular", "solver_qr", "solver_svd", "solver_svdvals") and kernel.count > 0


# seconds on an H100 (github.com/pytorch/pytorch/pull/173515), which an H200 equals here
CHOLESKY = {(1, 512): 376.1e-6, (1, 2048): 1954.3e-6, (16, 512): 834.9e-6, (64, 512): 1261.4e-6, (64, 2048): 22181.2e-6}


@pytest.mark.parametrize(("shape", "seconds"), CHOLESKY.items())
def test_without_rows_a_cholesky_is_estimated_from_whole_models(shape, seconds):
    """Within about half, where a stream of its bytes would take a hundredth."""
    h200 = il.hardware(H200)
    cost = h200.calibration.cost(decomposed("cholesky", *shape), h200, il.Plan())
    assert cost.device == pytest.approx(seconds, rel=0.55)
    assert cost.doubt.place == "outside"
    assert 0.4 < cost.doubt.sd < 0.8


def test_more_rows_than_one_kernel_holds_go_column_by_column():
    assert launched("qr", 1, 8192, 256) < 50
    assert launched("qr", 1, 32768, 256) == 528
