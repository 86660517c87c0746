"""registry/transfer/constants.json -> what a machine that nobody measured is predicted by. Written by `benchmarks/transfer.py`."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from ironlaw.calibration.transfer.chip_traits import missing
from ironlaw.engine.device.machine import Hardware
from ironlaw.errors import BadRegistry
from ironlaw.registry.calibrations import calibration
from ironlaw.registry.loader import folder

if TYPE_CHECKING:
    from ironlaw.calibration.transfer.model import Transfer
    from ironlaw.calibration.transfer.transfer_laws import Laws

CARRIED_FROM = "h200_sxm"  # the measured GPU whose curves stand for kinds of kernels that no published row covers


@cache
def laws() -> Laws:
    from ironlaw.calibration.transfer.transfer_laws import Laws

    return Laws.from_json(json.loads((folder("transfer") / "constants.json").read_text()))


def taught(machine: Hardware, load: Callable[[str], Hardware]) -> Callable[[], Transfer] | None:
    """What predicts a machine from others, for `Hardware.taught`; None where its file lacks what that takes."""
    if missing(machine):
        return None

    @cache  # the machine's copies share what was computed
    def transfer() -> Transfer:
        from ironlaw.calibration.transfer.model import Taught, Transfer

        pattern = calibration(CARRIED_FROM)
        if pattern is None:
            raise BadRegistry(f"no curves are stored for {CARRIED_FROM}; run: python scripts/calibrate.py {CARRIED_FROM}")
        return Transfer(Taught(laws(), pattern, load(CARRIED_FROM)), machine.typical_host, machine)

    return transfer
