"""Act II as it happens: the pass's bytes on their way to the multipliers, with the three terms that the dials give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.kit import settings
from ironlaw.kit.context import pick
from ironlaw.labs.lab_01_magnitude.act2.case import Case
from ironlaw.pictures.moving.bytes_way import bytes_way
from ironlaw.widget.motion import Motion
from ironlaw.widget.quantities import format_quantity


def motion(lab: kit.Lab, values: Mapping[str, Any]) -> list[Motion]:
    case = settings.read(Case, values, hardware=pick(lab.contexts, values["device"]).hardware)
    terms = case.seconds
    rate = format_quantity(float(case.hardware.bandwidth), "B/s")
    return [bytes_way(terms["memory"], terms["compute"], terms["overhead"], float(case.work.bytes), rate)]
