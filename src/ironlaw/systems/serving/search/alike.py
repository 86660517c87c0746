"""Steps of machines of which only some were measured, on the same grounds: as if none had been, or by their datasheets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ironlaw.systems.serving.deployments import PLAN, Deployment


def alike(rigs: Sequence[Deployment]) -> list[float | None]:
    """Seconds of a typical step of each, all estimated alike; None of each where they rest on the same grounds anyway."""
    if len({rig.basis for rig in rigs}) < 2:
        return [None] * len(rigs)
    known = all(rig.hardware.taught is not None for rig in rigs)
    plan = replace(PLAN, transferred=True) if known else replace(PLAN, calibrated=False)
    return [float(rig.typical(plan).seconds) for rig in rigs]
