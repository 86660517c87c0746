"""Act I as it happens: both algorithms on one clock, on as many ranks as have room."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.labs.lab_v2_06_collectives.act1.playback import playback
from ironlaw.labs.lab_v2_06_collectives.act1.setting import NAMES, Setting, setting_of
from ironlaw.labs.lab_v2_06_collectives.wires_of_context import wires_of
from ironlaw.pictures.moving.chunks import Played, chunks
from ironlaw.widget.motion import Motion


def motion(lab: kit.Lab, values: Mapping[str, Any]) -> list[Motion]:
    setting = setting_of(wires_of(lab), values)
    names = dict.fromkeys((setting.first, setting.second))
    return [chunks([played(setting, name) for name in names], setting.size)] if setting.wires.ranks > 1 else []


def played(setting: Setting, name: str) -> Played:
    found = playback(setting, name)
    return Played(NAMES[name], found.ranks, found.schedule, found.ends, name == "in_network")
