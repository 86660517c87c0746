"""Act I as it happens: the same run as the staircases, each request a dot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.kit import settings
from ironlaw.labs.lab_13_line.act1.instrument import shown_seconds
from ironlaw.labs.lab_13_line.act1.system import TICK, System
from ironlaw.pictures.moving.waiting_line import waiting_line
from ironlaw.widget.motion import Motion


def motion(lab: kit.Lab, values: Mapping[str, Any]) -> list[Motion]:
    system = settings.read(System, values)
    return [waiting_line(system.run, system.servers, shown_seconds(system), tick=TICK)]
