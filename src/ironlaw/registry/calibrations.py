"""registry/calibration/*.json: the curves fitted to each measured machine. Written by `systems.accuracy.refit`, never edited by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from ironlaw.calibration import local_machine
from ironlaw.registry.loader import folder

if TYPE_CHECKING:
    from ironlaw.calibration.machine_calibration import Calibration


def calibration(slug: str) -> Calibration | None:
    """The curves of a machine; None where it was not measured."""
    return local_machine.calibration() if slug == local_machine.SLUG else _stored(slug)


def with_scatter(own: Calibration) -> tuple[Calibration, str]:
    """The curves with how models scatter around them, and whose models: where none was measured here, those of a machine that runs the
    same library, or else of the one whose models came out worst."""
    if own.scatter:
        return own, ""
    known = {path.stem: _stored(path.stem) for path in sorted(folder("calibration").glob("*.json"))}
    judged = {slug: one for slug, one in known.items() if one and one.scatter}
    if not judged:
        return own, ""
    slug = max(judged, key=lambda slug: (judged[slug].backend == own.backend, max(s.sd for s in judged[slug].scatter.values())))
    return replace(own, scatter=judged[slug].scatter, common=judged[slug].common), slug


@cache
def _stored(slug: str) -> Calibration | None:
    path = folder("calibration") / f"{slug}.json"
    if not path.exists():
        return None
    from ironlaw.calibration.machine_calibration import Calibration
    from ironlaw.calibration.stored_curves import host_json
    from ironlaw.registry.hosts import measured_with

    data, host = json.loads(path.read_text()), measured_with(slug)
    return Calibration.from_json(data | ({"host": host_json(host)} if host else {}))
