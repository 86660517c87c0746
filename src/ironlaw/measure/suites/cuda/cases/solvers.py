"""Decompositions and solves of dense matrices, alone and in batches: a few sizes of each way that PyTorch has."""

from __future__ import annotations

from collections.abc import Iterator

from ironlaw.measure.suites.cuda.cases.shapes import OpSpec

EACH = -1  # as many right-hand sides as columns
SQUARE, TALL = 1, 8  # rows for each column
ALONE, SMALL, LARGER = ((1, 16), (1, 128), (1, 1024)), ((256, 8), (256, 16), (4096, 16)), ((256, 64), (16, 128))  # matrices, columns
AT_ONCE = (*SMALL, (16, 32))
WAYS = (  # how, rows for each column, right-hand sides, matrices and columns
    ("cholesky", SQUARE, 0, (*ALONE, *SMALL, *LARGER)), ("lu", SQUARE, 0, (*ALONE, *SMALL, *LARGER)),
    ("solve", SQUARE, 1, (*ALONE, *SMALL, *LARGER)), ("solve", SQUARE, EACH, (*SMALL, (1, 128), (256, 64))),
    ("inverse", SQUARE, 0, (*ALONE, *SMALL, *LARGER)), ("det", SQUARE, 0, (*ALONE, *SMALL, *LARGER)),
    ("triangular", SQUARE, 1, (*ALONE, *SMALL)), ("triangular", SQUARE, EACH, (*ALONE, *SMALL, *LARGER)),
    ("cholesky_solve", SQUARE, 1, (*ALONE, *SMALL)), ("cholesky_solve", SQUARE, EACH, (*ALONE, *SMALL)),
    ("qr", SQUARE, 0, (*ALONE, (16, 8), (16, 16), (16, 32))), ("qr", TALL, 0, ((1, 16), (1, 64), (16, 8), (256, 32))),
    ("eigh", SQUARE, 0, (*ALONE, *AT_ONCE, (1, 8), (1, 32), (1, 2048))),
    ("eigvalsh", SQUARE, 0, ((1, 16), (1, 32), (1, 128), (1, 1024), *AT_ONCE)),
    ("svd", SQUARE, 0, ((1, 16), (1, 64), (1, 128), *AT_ONCE)), ("svdvals", SQUARE, 0, ((1, 32), (256, 8), (256, 16))),
    ("matrix_exp", SQUARE, 0, ((1, 64), (256, 16), (16, 128))),
)  # fmt: skip


def decompositions() -> Iterator[OpSpec]:
    for how, tallness, sides, shapes in WAYS:
        for matrices, n in shapes:
            columns = n if sides == EACH else sides
            yield "decompose", dict(how=how, matrices=matrices, longer=tallness * n, shorter=n, sides=columns, dtype="fp32")
