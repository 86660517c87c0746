"""Act I as it happens: the day that the dials give, its work and its saves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.kit import settings
from ironlaw.labs.lab_v2_07_checkpoint.act1.interval import LAWS, Setting
from ironlaw.pictures.moving.sawtooth import sawtooth
from ironlaw.widget.motion import Motion
from ironlaw.widget.quantities import format_quantity


def motion(lab: kit.Lab, values: Mapping[str, Any]) -> list[Motion]:
    setting = settings.read(Setting, values)
    note = f"one draw, failures {LAWS[setting.law]}; saved every {format_quantity(setting.interval, 's')}"
    return [sawtooth(setting.day, setting.interval, note=note)]
