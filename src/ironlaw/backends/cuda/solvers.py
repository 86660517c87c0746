"""Decompositions and solves of dense matrices as PyTorch runs them through cuSOLVER, cuBLAS and MAGMA: how many kernels there are.

A blocked algorithm launches some for each block of columns, so their number grows with the shorter side; matrices of a batch go together
where the library has a batched routine, and one after the other where it has none. The tables are the kernels of profiles on an H200
(made by benchmarks/device/decompositions.py; the registry doesn't have their times); between their sizes, and beyond, a number goes on as a
power of the size. How long a kernel takes on average follows a curve for each way and the rows near it, where there are rows. Where there
are none, it follows ESTIMATES.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from ironlaw.backends.evidence_ops import OPS
from ironlaw.backends.kernel import Kernel, Sample
from ironlaw.backends.rows import Row
from ironlaw.backends.signatures import ALIKE
from ironlaw.engine.arrays import Number, ceil, largest, where
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.sweep import points
from ironlaw.engine.device.types import Op
from ironlaw.engine.device.work.solver_work import Matrices, sizes

Steps = tuple[tuple[int, float], ...]  # the shorter side, and how many kernels there are then
LU_ALONE: Steps = ((3, 8), (512, 8), (1024, 22), (2048, 103), (4096, 375))
LU_TOGETHER: Steps = ((64, 41), (128, 99), (256, 231), (512, 495), (1024, 2175))
LU_FP64 = 0.6  # of the kernels of a batch in FP32
LU_AT_ONCE, LU_FEW, LU_FEW_AT_ONCE = 32, 64, 128  # a side that one kernel factorises; of so few matrices, a longer one
IN_A_BLOCK = 32  # the longer side up to which Jacobi's method keeps a matrix in one block
TALL = math.sqrt(8.0)  # rows for each column: halfway between the square and the tall matrices that were measured
LONG_ROWS, EACH_COLUMN = 8192, 2.0625  # from which on QR has no kernel for a block of columns, and how many it has for each column then
BLOCKED_ROWS = 256  # up to which a batch has its R found by one kernel
MOST = 65535  # matrices of one launch; for more, some kernels are launched again
AGAIN = {"triangular": 1.25, "solve": 1.2, "inverse": 1.2, "cholesky_solve": 2.0, "matrix_exp": 1.55}
WITH_DET, WITH_INVERSE = 9.0, 1.0  # kernels beside the LU and the solve

# after the LU: rows swapped, two triangular solves; by whether a matrix is alone, and whether it has a single right-hand side
AFTER_LU: dict[tuple[bool, bool], Steps] = {
    (True, True): ((8, 6), (16, 8), (128, 8), (256, 13), (4096, 13)),
    (True, False): ((3, 6), (16, 6), (32, 15), (64, 11), (256, 11), (512, 17), (1024, 25), (2048, 39), (4096, 71)),
    (False, True): ((3, 6), (64, 6), (128, 14), (256, 40), (512, 72), (1024, 136)),
    (False, False): ((3, 6), (16, 6), (32, 16), (64, 16), (128, 24), (256, 40), (512, 72), (1024, 136)),
}
SOLVED: dict[str, dict[tuple[bool, bool], Steps]] = {
    "lu_solve": AFTER_LU,
    "triangular": {
        (True, True): ((3, 4), (32, 4), (64, 3), (4096, 3)),
        (True, False): ((3, 4), (32, 4), (64, 2), (256, 2), (512, 5), (1024, 9), (2048, 16), (4096, 32)),
        (False, True): ((3, 4), (64, 4), (128, 8), (1024, 64)),
        (False, False): ((3, 4), (64, 4), (128, 8), (1024, 64)),
    },
    "cholesky_solve": {
        (True, True): ((3, 8), (4096, 8)),
        (True, False): ((3, 7), (8, 7), (16, 6), (256, 6), (512, 12), (1024, 48), (4096, 188)),
        (False, True): ((3, 6), (1024, 6)),
        (False, False): ((3, 4), (16, 4), (32, 14), (64, 28), (128, 59), (1024, 493)),
    },
}  # fmt: skip
# of a single matrix, square and tall; of one in a batch that goes one after the other
QR_ALONE: tuple[Steps, Steps] = (
    ((3, 16), (16, 16), (32, 19), (64, 39), (128, 128), (256, 34), (512, 108), (1024, 248), (4096, 920)),
    ((3, 16), (8, 16), (16, 26), (32, 20), (64, 18), (128, 21), (256, 36), (512, 110), (1024, 283)),
)
QR_EACH: tuple[Steps, Steps] = (
    ((3, 9), (16, 9), (32, 12), (64, 10), (128, 11), (256, 26), (512, 104), (1024, 244)),
    ((3, 9), (8, 9), (16, 10), (32, 12), (64, 14), (128, 17), (256, 32), (512, 106), (1024, 279)),
)
QR_BESIDE = 6.0  # copies, triangles and zeros
R_TOGETHER, R_SHARE = 5.0, 0.5  # R alone: kernels of a batch in one go, and the share of QR's where there is none
EIGENVECTORS: Steps = ((8, 20), (32, 32), (128, 295), (512, 136), (2048, 477))
EIGENVALUES: Steps = ((8, 17), (32, 28), (128, 38), (512, 96), (2048, 306))
EIGEN_BESIDE = 5.0
JACOBI_ALONE, JACOBI_TOGETHER, TURNED = 9.0, 8.0, 2.0  # kernels of singular values in a block; more where a matrix is not square
SINGULAR_VECTORS: tuple[Steps, Steps] = (((128, 285), (512, 1561), (2048, 7123)), ((8, 78), (16, 110), (32, 142), (64, 264)))
SINGULAR_VALUES: Steps = ((64, 139), (128, 251), (256, 601), (512, 1304), (1024, 3058))
EXP_ALONE: Steps = ((3, 23), (8, 23), (16, 63), (4096, 66))
EXP_TOGETHER = 57.0


# Seconds of a decomposition or solve: kernels · floor + columns one after the other · step + FLOPs / rate + matrices · row. From the device
# times of opened models of benchmarks/sealed_sets, less what the rest of each is predicted to take, so from a few shapes each:
# - Cholesky: of one matrix of 3,000 in gaussian_process, of small ones in the Kalman filters; and the times on an H100 of
#   github.com/pytorch/pytorch/pull/173515, from 512 to 2,048, one or up to 64 of them; half of those are within 30%;
# - LU, solves and inverses: items_explained_by_items (2,048), ensemble_of_weathers (192), bundle_adjustment_step (3 and 48);
# - triangular solves: the gradient in gaussian_process, and targets_that_change_their_ways (24,576 matrices of 2);
# - QR: matrix_sketched (tall, 256 columns) and doubt_as_square_roots (small ones);
# - eigenvalues: crowds_parted_by_spectra (1,024), where step and rate can't be told apart; singular values: the same, and kernels as
#   long as in iterative_closest_points (3).
# Rows of `decompose` replace all of this.
SURE = {"p": 1, "sd": 0.5}
CHOLESKY = {"floor": 1.6e-6, "step": 0.55e-6, "rate": 16e12, "row": 1.5e-9, **SURE}
LU = CHOLESKY | {"step": 2.6e-6}
TRIANGULAR = CHOLESKY | {"step": 0.05e-6, "row": 10e-9}
QR = {"floor": 2e-6, "step": 2.5e-6, "rate": 2.4e12, "row": 5e-9, **SURE}
EIGEN = {"floor": 2e-6, "step": 6.9e-6, "rate": 4e12, **SURE}
SINGULAR = EIGEN | {"floor": 12e-6}
FAMILIES: dict[str, tuple[dict[str, float], tuple[str, ...]]] = {
    "cholesky": (CHOLESKY, ("cholesky",)), "lu": (LU, ("lu", "inverse", "solve", "det")),
    "triangular": (TRIANGULAR, ("triangular", "cholesky_solve", "matrix_exp")), "qr": (QR, ("qr",)),
    "eigenvalues": (EIGEN, ("eigh", "eigvalsh")), "singular values": (SINGULAR, ("svd", "svdvals")),
}  # fmt: skip
ESTIMATES = {f"solver_{how}": constants for constants, ways in FAMILIES.values() for how in ways}


def launches(steps: Steps, size: Number) -> float:
    """How many kernels a table says for a size; of swept ones, for the largest."""
    n = most(size)
    (a, low), (b, high) = next((pair for pair in pairwise(steps) if n <= pair[1][0]), steps[-2:])
    return float(low * (n / a) ** (math.log(high / low) / math.log(b / a)))


def most(size: Number) -> float:
    return float(largest(points(size)))


def alone_or(of: Matrices, alone: Number, together: Number) -> Number:
    return where(of.matrices == 1, alone, together)


def in_a_block(of: Matrices) -> bool:
    return most(of.longer) <= IN_A_BLOCK


def tall(of: Matrices) -> bool:
    return most(of.longer / of.shorter) > TALL


def cholesky(of: Matrices, dtype: str) -> Number:
    return alone_or(of, 6.0, 3.0 + 3.0 * ceil(of.shorter / 16.0))


def lu(of: Matrices, dtype: str) -> Number:
    """A batch of small matrices goes in one go, larger ones block by block."""
    n = most(of.shorter)
    blocks = launches(LU_TOGETHER, n) * (LU_FP64 if dtype == "fp64" else 1.0)
    at_once = where(of.matrices <= LU_FEW, 3.0, blocks) if n <= LU_FEW_AT_ONCE else blocks
    return alone_or(of, launches(LU_ALONE, n), 3.0 if n <= LU_AT_ONCE else at_once)


def solved(how: str, of: Matrices) -> Number:
    """A solve with what is decomposed."""
    one = most(of.sides) == 1
    return alone_or(of, *(launches(SOLVED[how][alone, one], of.shorter) for alone in (True, False)))


def inverted(of: Matrices, dtype: str) -> Number:
    return lu(of, dtype) + solved("lu_solve", of) + WITH_INVERSE


def orthogonal(of: Matrices, dtype: str) -> Number:
    if most(of.longer) > LONG_ROWS:
        return EACH_COLUMN * of.shorter * of.matrices
    alone, each = launches(QR_ALONE[tall(of)], of.shorter), launches(QR_EACH[tall(of)], of.shorter)
    return alone_or(of, alone, QR_BESIDE + each * of.matrices)


def triangle(of: Matrices, dtype: str) -> Number:
    whole = R_SHARE * orthogonal(of, dtype)
    return alone_or(of, whole, R_TOGETHER) if most(of.longer) <= BLOCKED_ROWS else whole


def eigen(steps: Steps, of: Matrices) -> Number:
    alone = launches(steps, of.shorter)
    return alone_or(of, alone, alone + 1.0 if in_a_block(of) else EIGEN_BESIDE + (alone - EIGEN_BESIDE) * of.matrices)


def singular(steps: Steps, of: Matrices) -> Number:
    if in_a_block(of):
        return alone_or(of, JACOBI_ALONE, JACOBI_TOGETHER) + TURNED * tall(of)
    return launches(steps, of.shorter) * of.matrices


WAYS: dict[str, Callable[[Matrices, str], Number]] = {
    "cholesky": cholesky, "lu": lu, "inverse": inverted, "qr": orthogonal, "triangle": triangle, "lstsq": orthogonal,
    "det": lambda of, dtype: lu(of, dtype) + WITH_DET,
    "solve": lambda of, dtype: lu(of, dtype) + solved("lu_solve", of),
    "lu_solve": lambda of, dtype: solved("lu_solve", of),
    "triangular": lambda of, dtype: solved("triangular", of),
    "cholesky_solve": lambda of, dtype: solved("cholesky_solve", of),
    "matrix_exp": lambda of, dtype: alone_or(of, launches(EXP_ALONE, of.shorter), EXP_TOGETHER),
    "eigh": lambda of, dtype: eigen(EIGENVECTORS, of), "eigvalsh": lambda of, dtype: eigen(EIGENVALUES, of),
    "svd": lambda of, dtype: singular(SINGULAR_VECTORS[tall(of)], of),
    "svdvals": lambda of, dtype: singular(SINGULAR_VECTORS[True] if tall(of) else SINGULAR_VALUES, of),
    # no batched routine, and no row
    **dict.fromkeys(("eig", "eigvals"), lambda of, dtype: launches(SINGULAR_VECTORS[False], of.shorter) * of.matrices),
}  # fmt: skip
ONE_BY_ONE = ("qr", "eigh", "eigvalsh", "svd", "svdvals", "lstsq", "eig", "eigvals")  # a batch, unless a block holds each matrix


def solver(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """So many kernels, each with its share of the bytes, the arithmetic, the matrices and the columns that go one after the other."""
    how = op.attrs["how"]
    of = sizes(op.inputs, how)
    kernels = WAYS[how](of, op.dtype) * where(of.matrices > MOST, AGAIN.get(how, 1.0), 1.0)
    columns = of.shorter * (of.matrices if how in ONE_BY_ONE and not in_a_block(of) else 1.0)
    return (
        Kernel(
            f"solver_{ALIKE.get(how, how)}", op.work.bytes / kernels, op.work.vector_flops / kernels,
            rows=of.matrices / kernels, depth=columns / kernels, count=kernels,
        ),
    )  # fmt: skip


def solver_samples(row: Row, machine: Hardware) -> Iterator[Sample]:
    """The mean kernel of a row, by as many as were launched."""
    (kernel,) = solver(OPS[row.op](row.params), machine)
    if row.busy_s:
        yield Sample(replace(kernel, count=1.0), row.busy_s / kernel.count)


EAGER = {"solver": solver}
ROWS = {"decompose": solver_samples}
