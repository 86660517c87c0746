"""registry/calibration/*.json: the curves fitted to each measured machine. Written by `registry.refit`, never edited by hand."""

from __future__ import annotations

import json
from functools import cache

from ironlaw.calibration import local_machine
from ironlaw.calibration.calibration import Calibration
from ironlaw.calibration.stored_curves import host_json
from ironlaw.registry.hosts import measured_with
from ironlaw.registry.loader import folder


def calibration(slug: str) -> Calibration | None:
    """The curves of a machine; None where it was not measured."""
    return local_machine.calibration() if slug == local_machine.SLUG else _stored(slug)


@cache
def _stored(slug: str) -> Calibration | None:
    path = folder("calibration") / f"{slug}.json"
    if not path.exists():
        return None
    data, host = json.loads(path.read_text()), measured_with(slug)
    return Calibration.from_json(data | ({"host": host_json(host)} if host else {}))
