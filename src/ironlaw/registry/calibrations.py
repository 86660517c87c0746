"""registry/calibration/*.json: the curves fitted to each measured machine. Written by `registry.refit`, never edited by hand."""

from __future__ import annotations

import json
from functools import cache

from ironlaw.calibration import local_machine
from ironlaw.calibration.calibration import Calibration
from ironlaw.registry.loader import folder


def calibration(slug: str) -> Calibration | None:
    """The curves of a machine; None where it was not measured."""
    return local_machine.calibration() if slug == local_machine.SLUG else _stored(slug)


@cache
def _stored(slug: str) -> Calibration | None:
    path = folder("calibration") / f"{slug}.json"
    return Calibration.from_json(json.loads(path.read_text())) if path.exists() else None
