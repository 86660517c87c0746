"""Act I as it happens: a tile through the product that the dials give, and its intensity as it adds up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.engine.device.types import bytes_per_element
from ironlaw.formats import intensity_unit
from ironlaw.kit import settings
from ironlaw.labs.lab_11_roofline.act1.gemm import Setting
from ironlaw.labs.lab_11_roofline.machines import machine
from ironlaw.pictures.moving.tiles import Product, through
from ironlaw.widget.motion import Motion


def motion(lab: kit.Lab, values: Mapping[str, Any]) -> list[Motion]:
    case = settings.read(Setting, values, hardware=machine(lab, values["device"])).case
    element, rate = bytes_per_element(case.fmt), float(case.hardware.bandwidth)
    return [through(Product(case.m, case.n, case.k, element, float(case.at.peak), rate, intensity_unit(case.fmt)))]
