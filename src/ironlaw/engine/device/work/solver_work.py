"""Decompositions of dense matrices and solves with them, one after the other or in batches.

inputs: the matrices, [..., rows, columns], then what they are solved for, [..., rows, right-hand sides]. Attr `how`: which of FLOPS.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ironlaw.engine.arrays import Number, maximum, minimum
from ironlaw.engine.device.work.op_count import Attrs, Count, Kinds, Tensors

kind = Kinds()


class Matrices(NamedTuple):
    """How many there are, their longer and their shorter side, and how many right-hand sides each is solved for."""

    matrices: Number
    longer: Number
    shorter: Number
    sides: Number


# FLOPs of one matrix of m rows and n columns, m ≥ n, with k right-hand sides (Golub and Van Loan 2013: 3.1 and 3.2 for LU, 4.2 for
# Cholesky, 5.2 for QR, 5.3 for least squares, 7.5 for eigenvalues, 8.3 for symmetric ones, 8.6 for singular values)
FLOPS: dict[str, Callable[[Number, Number, Number], Number]] = {
    "cholesky": lambda m, n, k: n**3 / 3.0,
    "lu": lambda m, n, k: n**2 * (m - n / 3.0),
    "inverse": lambda m, n, k: 2.0 * n**3,
    "solve": lambda m, n, k: 2.0 / 3.0 * n**3 + 2.0 * n**2 * k,
    "triangular": lambda m, n, k: n**2 * k,
    "lu_solve": lambda m, n, k: 2.0 * n**2 * k,
    "cholesky_solve": lambda m, n, k: 2.0 * n**2 * k,
    "det": lambda m, n, k: 2.0 / 3.0 * n**3,
    "qr": lambda m, n, k: 4.0 * n**2 * (m - n / 3.0),
    "triangle": lambda m, n, k: 2.0 * n**2 * (m - n / 3.0),  # QR of which only R is asked for
    "lstsq": lambda m, n, k: 2.0 * n**2 * (m - n / 3.0) + (4.0 * m * n - n**2) * k,
    "eigh": lambda m, n, k: 9.0 * n**3,
    "eigvalsh": lambda m, n, k: 4.0 / 3.0 * n**3,
    "eig": lambda m, n, k: 25.0 * n**3,
    "eigvals": lambda m, n, k: 10.0 * n**3,
    "svd": lambda m, n, k: 14.0 * m * n**2 + 8.0 * n**3,
    "svdvals": lambda m, n, k: 4.0 * m * n**2 - 4.0 / 3.0 * n**3,
    "matrix_exp": lambda m, n, k: 10.0 * n**3,  # five products: a polynomial of degree 18 in x (Bader, Blanes and Casas 2019)
}  # fmt: skip
# after these the host reads whether the method converged, which matrices had full rank, or how large they were: it waits, and no CUDA
# graph holds them (PyTorch: "synchronizes that device with the CPU")
WAITED_FOR = ("eigh", "eigvalsh", "eig", "eigvals", "svd", "svdvals", "lstsq", "matrix_exp")
SOLVED_FOR = ("solve", "triangular", "lu_solve", "cholesky_solve", "lstsq")  # what comes with right-hand sides


def sizes(x: Tensors, how: str) -> Matrices:
    """What a solver's time depends on."""
    rows, columns = x[0].shape[-2:]
    matrices, sides = x[0].size / (rows * columns), 0.0
    if how in SOLVED_FOR:  # one matrix may serve a batch of right-hand sides
        sides = x[-1].shape[-1]
        matrices = maximum(matrices, x[-1].size / (x[-1].shape[-2] * sides))
    return Matrices(matrices, maximum(rows, columns), minimum(rows, columns), sides)


@kind("opaque")
def solver(x: Tensors, y: Tensors, a: Attrs) -> Count:
    """Each tensor once, and the arithmetic of the usual algorithm."""
    matrices, longer, shorter, sides = sizes(x, a["how"])
    return Count(vector=matrices * FLOPS[a["how"]](longer, shorter, sides))
