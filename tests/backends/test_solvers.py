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
    return sum(kernel.count for kernel in lower(decomposed(*of, **more)))


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


def test_the_r_of_a_batch_is_one_kernel_and_each_q_a_few():
    params = PARAMS | {"how": "qr", "longer": 64, "shorter": 64}
    r, q = lower(OPS["decompose"](params))
    assert (r.count, q.count) == (1, 165)  # of 166 that were counted
    assert (r.flops, r.depth) == (0.0, 64 * 9)  # 64 columns, 512 of 4,096 elements at a time
    assert q.flops * q.count == pytest.approx(16 * 2 * 64**2 * (64 - 64 / 3))  # as much as R alone
    row = {"kind": "op", "op": "decompose", "params": params, "busy_s": 0.005}
    assert not list(samples([row]))  # which time is whose isn't known
    times = [{"name": "geqr2_batch_kernel_shmem", "count": 1, "seconds": 0.0017}, {"name": "larft_T_64", "count": 16, "seconds": 0.002}]
    assert [s.seconds for s in samples([row | {"list": times}])] == pytest.approx([0.0017, 0.0033 / 165])
    assert [kernel.curve for kernel in lower(OPS["decompose"](params | {"how": "triangle"}))] == [r.curve, "tiny"]


WITHOUT_ROWS = {
    "lu_solve": "solver_triangular_batch_of_vectors",
    "triangle": "solver_qr_at_once",
    "eig": "solver_svd",
    "eigvals": "solver_svd",
}


@pytest.mark.parametrize("how", WITHOUT_ROWS)
def test_what_no_row_measures_follows_its_like(how):
    kernel = lower(decomposed(how, 4, 64, sides=1 if how == "lu_solve" else 0))[0]
    assert kernel.curve == WITHOUT_ROWS[how] and kernel.count > 0


def test_eigenvalues_in_fp32_are_found_by_jacobis_method_up_to_512_columns():
    def curve(*of, **more):
        return lower(decomposed("eigvalsh", *of, **more))[0].curve

    assert curve(1, 32) == curve(16, 512) == "solver_eigh_by_rotations"
    assert curve(1, 1024) == curve(1, 512, dtype="fp64") == curve(1, 16) == "solver_eigvalsh"
    assert curve(16, 32) == "solver_eigvalsh_at_once"
    assert launched("eigvalsh", 1, 512) == 1431 and launched("eigvalsh", 256, 128, dtype="fp64") == pytest.approx(8452, abs=2)


def test_singular_values_of_a_batch_take_turns_on_the_multiprocessors():
    """Measured with 256 and 65,536 matrices of 8 × 8: 0.12 and 23.6 ms in FP32, where 264 blocks run; 0.24 and 55 ms in FP64."""

    def steps(matrices, dtype):
        (kernel,) = lower(decomposed("svdvals", matrices, 8, dtype=dtype))
        return kernel.depth * kernel.count

    assert steps(1, "fp32") == steps(264, "fp32") == steps(132, "fp64")
    assert steps(65536, "fp64") == pytest.approx(2 * steps(65536, "fp32")) == pytest.approx(65536 / 132 * steps(1, "fp32"))


# seconds on an H100, whose multiprocessors are the same (github.com/pytorch/pytorch/pull/173515); no curve was fitted to them
CHOLESKY = {(16, 512): (834.9e-6, 0.35), (64, 512): (1261.4e-6, 0.35), (64, 2048): (22181.2e-6, 0.8)}  # the last beyond our rows


@pytest.mark.parametrize(("shape", "others"), CHOLESKY.items())
def test_choleskys_of_a_batch_take_about_what_others_measured(shape, others):
    h200, (seconds, within) = il.hardware(H200), others
    cost = h200.calibration.cost(decomposed("cholesky", *shape), h200, il.Plan())
    assert cost.device == pytest.approx(seconds, rel=within)


def test_more_rows_than_one_kernel_holds_go_column_by_column():
    assert launched("qr", 1, 8192, 256) < 50
    assert launched("qr", 1, 32768, 256) == 528
