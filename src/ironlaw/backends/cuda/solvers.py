"""Decompositions and solves of dense matrices as PyTorch runs them through cuSOLVER, cuBLAS and MAGMA: how many kernels there are.

A blocked algorithm launches some for each block of columns, so their number grows with the shorter side; matrices of a batch go together
where the library has a batched routine, and one after the other where it has none. The tables are the kernels of profiles on an H200
(evidence h200_sxm/decompositions); between their sizes, and beyond, a number goes on as a power of the size. How long a kernel takes on
average follows a curve for each routine that a library has for a way (`routine`), and the rows near it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from ironlaw.backends.cuda.chip import processors
from ironlaw.backends.cuda.evidence import seconds_of
from ironlaw.backends.evidence_ops import OPS
from ironlaw.backends.kernel import Kernel, Sample
from ironlaw.backends.rows import Row
from ironlaw.backends.signatures import APART, DOUBLE, Signature
from ironlaw.engine.arrays import Number, ceil, largest, maximum, where
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.sweep import points
from ironlaw.engine.device.types import Op
from ironlaw.engine.device.work.solver_work import FLOPS, Matrices, sizes

Steps = tuple[tuple[int, float], ...]  # the shorter side, and how many kernels there are then
LU_ALONE: Steps = ((3, 8), (512, 8), (1024, 22), (2048, 103), (4096, 375))
LU_TOGETHER: Steps = ((64, 41), (128, 99), (256, 231), (512, 495), (1024, 2175))
LU_FP64 = 0.6  # of the kernels of a batch in FP32
LU_AT_ONCE, LU_FEW, LU_FEW_AT_ONCE = 32, 64, 128  # a side that one kernel factorises; of so few matrices, a longer one
IN_A_BLOCK = 32  # the longer side up to which Jacobi's method keeps a matrix in one block
TALL = math.sqrt(8.0)  # rows for each column: halfway between the square and the tall matrices that were measured
LONG_ROWS, EACH_COLUMN = 8192, 2.0625  # from which on QR has no kernel for a block of columns, and how many it has for each column then
BLOCKED_ROWS, ROWS_OF_ONE = 256, 16  # rows up to which a batch has its R found by one kernel, if it has a matrix for each 16 of them
AT_A_TIME = 512  # elements that such a block turns in the time of a step
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
LSTSQ: Steps = ((3, 18), (8, 33), (16, 58), (32, 82), (64, 145), (128, 28), (256, 39), (512, 105), (1024, 262))
LSTSQ_TOGETHER, LSTSQ_BESIDE = 12.0, 11.0
EIGENVECTORS: Steps = ((3, 20), (8, 20), (16, 27), (32, 32), (128, 295), (512, 136), (1024, 262), (2048, 485), (4096, 823))
EIGENVALUES: Steps = ((3, 17), (8, 17), (16, 23), (32, 28), (128, 38), (512, 96), (1024, 165), (2048, 308), (4096, 464))
EIGEN_BESIDE = 5.0
ROTATED: Steps = ((32, 72), (64, 124), (128, 251), (256, 601), (512, 1431))  # of eigenvalues by Jacobi's method, in FP32 and these sizes
JACOBI_ALONE, JACOBI_TOGETHER, TURNED = 9.0, 8.0, 2.0  # kernels of singular values in a block; more where a matrix is not square
SINGULAR: tuple[Steps, Steps] = (  # square and tall; whether vectors are asked for or not
    ((64, 142), (128, 254), (256, 604), (512, 1434), (1024, 3061), (2048, 6388)),
    ((8, 78), (16, 110), (32, 142), (64, 264), (128, 274), (256, 572), (512, 1277), (1024, 3060), (2048, 9529)),
)
IN_A_MULTIPROCESSOR = 2  # blocks with a matrix each; one of larger numbers
BEFORE_COLUMNS = 6.0  # as many columns' time goes by before a matrix in a block is turned
EXP_ALONE: Steps = ((3, 23), (8, 23), (16, 63), (4096, 66))
EXP_TOGETHER = 57.0


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


def together(of: Matrices) -> bool:
    """Whether the R of all of a batch is found by one kernel (ATen, BatchLinearAlgebra.cpp, `geqrf` and `gels`)."""
    return most(of.longer) <= BLOCKED_ROWS and most(of.matrices) >= max(2.0, most(of.longer) / ROWS_OF_ONE)


def orthogonal(of: Matrices, dtype: str) -> Number:
    if most(of.longer) > LONG_ROWS:
        return EACH_COLUMN * of.shorter * of.matrices
    alone, each = launches(QR_ALONE[tall(of)], of.shorter), launches(QR_EACH[tall(of)], of.shorter)
    return alone_or(of, alone, QR_BESIDE + each * of.matrices)


def triangle(of: Matrices, dtype: str) -> Number:
    return R_TOGETHER if together(of) else R_SHARE * orthogonal(of, dtype)


def least_squares(of: Matrices, dtype: str) -> Number:
    if most(of.longer) > LONG_ROWS:
        return EACH_COLUMN * of.shorter * of.matrices
    alone = launches(LSTSQ, of.shorter)
    return LSTSQ_TOGETHER if together(of) else alone_or(of, alone, LSTSQ_BESIDE + (alone - LSTSQ_BESIDE) * of.matrices)


def rotated(of: Matrices, dtype: str) -> bool:
    """Whether eigenvalues are found by Jacobi's method (ATen, BatchLinearAlgebraLib.cpp, `linalg_eigh_cusolver`)."""
    low, high = ROTATED[0][0], ROTATED[-1][0]
    return dtype not in DOUBLE and low <= most(of.shorter) <= high and not (most(of.matrices) > 1 and in_a_block(of))


def eigen(steps: Steps, of: Matrices, dtype: str) -> Number:
    alone = launches(ROTATED if rotated(of, dtype) else steps, of.shorter)
    return alone_or(of, alone, alone + 1.0 if in_a_block(of) else EIGEN_BESIDE + (alone - EIGEN_BESIDE) * of.matrices)


def singular(of: Matrices, dtype: str) -> Number:
    if in_a_block(of):
        return alone_or(of, JACOBI_ALONE, JACOBI_TOGETHER) + TURNED * tall(of)
    return launches(SINGULAR[tall(of)], of.shorter) * of.matrices


WAYS: dict[str, Callable[[Matrices, str], Number]] = {
    "cholesky": cholesky, "lu": lu, "inverse": inverted, "qr": orthogonal, "triangle": triangle, "lstsq": least_squares,
    "det": lambda of, dtype: lu(of, dtype) + WITH_DET,
    "solve": lambda of, dtype: lu(of, dtype) + solved("lu_solve", of),
    "lu_solve": lambda of, dtype: solved("lu_solve", of),
    "triangular": lambda of, dtype: solved("triangular", of),
    "cholesky_solve": lambda of, dtype: solved("cholesky_solve", of),
    "matrix_exp": lambda of, dtype: alone_or(of, launches(EXP_ALONE, of.shorter), EXP_TOGETHER),
    "eigh": lambda of, dtype: eigen(EIGENVECTORS, of, dtype), "eigvalsh": lambda of, dtype: eigen(EIGENVALUES, of, dtype),
    "svd": singular, "svdvals": singular,
    # no batched routine, and no row
    **dict.fromkeys(("eig", "eigvals"), lambda of, dtype: launches(SINGULAR[False], of.shorter) * of.matrices),
}  # fmt: skip
ONE_BY_ONE = ("qr", "triangle", "eigh", "eigvalsh", "svd", "svdvals", "lstsq", "eig", "eigvals")  # a batch, unless it goes at once
# ways that have no rows of their own, or the same kernels -> whose they go by
ALIKE = {"lu_solve": "triangular", "triangle": "qr", "svdvals": "svd", "eig": "svd", "eigvals": "svd"}
ROUTINES = ("", "at once", "in blocks", "by rotations", "one vector", "batch", "batch of vectors")


def routine(how: str, of: Matrices, dtype: str) -> tuple[str, str]:
    """Whose rows and curves tell of a way, and which of ROUTINES is chosen for these sizes."""
    like, alone = ALIKE.get(how, how), most(of.matrices) == 1
    if like in ("lu", "inverse", "solve", "det") and not alone:
        n = most(of.shorter)
        return like, "at once" if n <= LU_AT_ONCE or (n <= LU_FEW_AT_ONCE and most(of.matrices) <= LU_FEW) else "in blocks"
    if like in ("triangular", "cholesky_solve") and most(of.sides) == 1:
        return like, "one vector" if alone else "batch of vectors"
    if like in ("cholesky", "triangular", "cholesky_solve"):
        return like, "" if alone else "batch"
    if like in ("qr", "lstsq"):
        return like, "at once" if together(of) else ""
    if like in ("eigh", "eigvalsh"):
        return ("eigh", "by rotations") if rotated(of, dtype) else (like, "at once" if in_a_block(of) and not alone else "")
    return like, "at once" if how in ("svd", "svdvals") and in_a_block(of) else ""


def curve(like: str, way: str) -> str:
    return "_".join(["solver", like, *way.split()])


def columns(how: str, of: Matrices, dtype: str, way: str, machine: Hardware) -> Number:
    """Steps that go one after the other: columns, of all matrices where they do; where a block has a matrix, by how much a block turns
    in a step, and by how many matrices it has one after the other."""
    if way == "at once" and how in ("svd", "svdvals"):
        held = processors(machine) * (1.0 if dtype in DOUBLE else IN_A_MULTIPROCESSOR)
        return (of.shorter + BEFORE_COLUMNS) * maximum(of.matrices / held, 1.0)
    if way == "at once" and how in ("qr", "triangle", "lstsq"):
        return of.shorter * (1.0 + of.longer * of.shorter / AT_A_TIME)
    return of.shorter * (of.matrices if how in ONE_BY_ONE and way != "at once" else 1.0)


def solver(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """So many kernels, each with its share of the bytes, the arithmetic, the matrices and the columns that go one after the other."""
    how = op.attrs["how"]
    of = sizes(op.inputs, how)
    count = WAYS[how](of, op.dtype) * where(of.matrices > MOST, AGAIN.get(how, 1.0), 1.0)
    like, way = routine(how, of, op.dtype)
    if way == "at once" and like == "qr":
        return r_and_q(how, op, of, count, columns(how, of, op.dtype, way, machine))
    steps = columns(how, of, op.dtype, way, machine)
    return (
        Kernel(curve(like, way), op.work.bytes / count, op.work.vector_flops / count,
               rows=of.matrices / count, depth=steps / count, count=count),
    )  # fmt: skip


def r_and_q(how: str, op: Op, of: Matrices, count: Number, steps: Number) -> Sequence[Kernel]:
    """R of all matrices by one kernel; then, where it is asked for, Q of one after the other."""
    flops = of.matrices * FLOPS["triangle"](of.longer, of.shorter, 0.0)
    r = Kernel(R_AT_ONCE, op.inputs[0].bytes, depth=steps)  # a block waits for its columns, however many blocks there are
    if how == "triangle":
        return r, Kernel("tiny", 0.0, count=count - 1.0)
    rest = count - 1.0
    q = Kernel(Q_EACH, (op.work.bytes - op.inputs[0].bytes) / rest, flops / rest, depth=of.shorter * of.matrices / rest, count=rest)
    return r, q


R_AT_ONCE, Q_EACH = curve("qr", "at once"), curve("qr", "each q")
R_NAME = "geqr2_batch"  # in the name of a kernel that finds the R of all of a batch


def solver_samples(row: Row, machine: Hardware) -> Iterator[Sample]:
    """The mean kernel of a row, by as many as were launched; R of a batch by its name."""
    kernels = solver(OPS[row.op](row.params), machine)
    if not row.busy_s:
        return
    if len(kernels) == 1:
        yield Sample(replace(kernels[0], count=1.0), row.busy_s / kernels[0].count)
        return
    r, rest = kernels
    seconds = seconds_of(row, (R_NAME,))
    if seconds:
        yield Sample(r, seconds)
        yield Sample(replace(rest, count=1.0), (row.busy_s - seconds) / rest.count)


def by_routine(op: Op, signature: Signature) -> Signature:
    """Among the rows of its like, apart from those of other routines."""
    how = op.attrs["how"]
    like, way = routine(how, sizes(op.inputs, how), op.dtype)
    return Signature(f"solver {like}", (*signature.place, APART * ROUTINES.index(way)))


EAGER = {"solver": solver}
ROWS = {"decompose": solver_samples}
