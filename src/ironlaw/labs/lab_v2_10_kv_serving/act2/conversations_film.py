"""Act II as it happens: who is in the cache of the first replica, from when to when."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.kit import settings
from ironlaw.labs.lab_v2_10_kv_serving.act2.figures import one_of_many
from ironlaw.labs.lab_v2_10_kv_serving.act2.server import WINDOW, Setting
from ironlaw.labs.lab_v2_10_kv_serving.machine_of_context import machine_of
from ironlaw.pictures.moving.conversations import conversations
from ironlaw.widget.motion import Motion


def motion(lab: kit.Lab, values: Mapping[str, Any]) -> list[Motion]:
    case = settings.read(Setting, values, machine=machine_of(lab)).case
    if case.rig is None or not case.parts[0].stays:
        return []  # the model does not fit
    return [conversations(case.parts[0], WINDOW, note=one_of_many(case))]
