"""registry/transfer/constants.json -> what a machine that nobody measured is predicted by. Written by `benchmarks/transfer.py`."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache

from ironlaw.calibration.transfer.chip_traits import missing
from ironlaw.calibration.transfer.model import Taught, Transfer
from ironlaw.calibration.transfer.transfer_laws import Laws
from ironlaw.engine.device.machine import Hardware
from ironlaw.errors import BadRegistry
from ironlaw.registry.calibrations import calibration
from ironlaw.registry.loader import folder

CARRIED_FROM = "h200_sxm"  # the measured GPU whose curves stand for kinds of kernels that no published row covers


@cache
def laws() -> Laws:
    return Laws.from_json(json.loads((folder("transfer") / "constants.json").read_text()))


def transfer(machine: Hardware, load: Callable[[str], Hardware]) -> Transfer | None:
    """What predicts a machine from others; None where its file lacks what that takes. Nothing is read before the first prediction."""
    if missing(machine):
        return None

    def taught() -> Taught:
        pattern = calibration(CARRIED_FROM)
        if pattern is None:
            raise BadRegistry(f"no curves are stored for {CARRIED_FROM}; run: python scripts/calibrate.py {CARRIED_FROM}")
        return Taught(laws(), pattern, load(CARRIED_FROM))

    return Transfer(taught, machine.typical_host, machine)
