"""Calls of torch.linalg on matrices that are well conditioned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ironlaw.formats import FORMATS
from ironlaw.measure.devices.device import Call
from ironlaw.measure.suites.cuda.calls.making import Make, Params, registrar
from ironlaw.measure.suites.cuda.inputs import SweepInputs

QUARTER = 0.25  # of a matrix whose exponential is asked for: its series is short
PLAIN: dict[str, Callable[[Any], Any]] = {
    "cholesky": torch.linalg.cholesky_ex, "lu": torch.linalg.lu_factor_ex, "inverse": torch.linalg.inv_ex, "det": torch.linalg.det,
    "qr": torch.linalg.qr, "eigh": torch.linalg.eigh, "eigvalsh": torch.linalg.eigvalsh,
    "svd": lambda a: torch.linalg.svd(a, full_matrices=False), "svdvals": torch.linalg.svdvals,
    "matrix_exp": lambda a: torch.linalg.matrix_exp(QUARTER * a),
}  # fmt: skip
WITH_SIDES: dict[str, Callable[[Any, Any], Any]] = {
    "solve": torch.linalg.solve_ex,
    "triangular": lambda a, b: torch.linalg.solve_triangular(a, b, upper=False), "cholesky_solve": lambda a, b: torch.cholesky_solve(b, a),
}  # fmt: skip
GENERAL, FACTORED = ("qr", "svd", "svdvals"), ("triangular", "cholesky_solve")
CALLS: dict[str, Make] = {}
makes = registrar(CALLS)


@makes("decompose")
def decompose(i: SweepInputs, p: Params) -> Call:
    b, m, n, how = p["matrices"], p["longer"], p["shorter"], p["how"]
    kind = FORMATS[p["dtype"]].in_torch(torch)
    a = torch.randn(b, m, n, device=i.device, dtype=kind)
    if how not in GENERAL:
        a = a @ a.mT / n + torch.eye(n, device=i.device, dtype=kind)
    if how in FACTORED:
        a = torch.linalg.cholesky_ex(a).L
    if how in PLAIN:
        return lambda: PLAIN[how](a)
    sides = torch.randn(b, m, p["sides"], device=i.device, dtype=kind)
    return lambda: WITH_SIDES[how](a, sides)
