"""Act I's words: the truth, the distance, and the slots of every section, H100 over Cortex-M7."""

from __future__ import annotations

import math
from collections.abc import Callable

from ironlaw import kit
from ironlaw.formats import rate_unit
from ironlaw.kit.context import pick
from ironlaw.labs.lab_01_magnitude.act1.instrument import COMMON, gap, orders, width
from ironlaw.labs.lab_01_magnitude.devices import CLOUD, PHONE, TINY
from ironlaw.pictures.ladder import QUANTITIES
from ironlaw.units import significant

STATES = {"message": ("act1",)}


def captions(lab: kit.Lab) -> dict[str, Callable[[kit.Measured], str]]:
    """No experiment of the act's own: this machine itself is offered."""
    return {}


def truth(lab: kit.Lab) -> str:
    return kit.times(float(lab.question("act1").answer), 6)


def distance(lab: kit.Lab) -> str:
    option = lab.choice("act1")
    return kit.off(kit.Distance(float(option.value), float(lab.question("act1").answer))) if option else ""


def message(lab: kit.Lab) -> dict[str, object]:
    """No device figure is on the page before the first prediction: the message keeps its own sealed until then."""
    memory = pick(lab.contexts, TINY).hardware.capacity
    return {"mcu_memory": kit.dress(kit.capacity(memory)) if lab.prediction("act1") else kit.SEALED}


def gaps(lab: kit.Lab, digits: int = 6) -> dict[str, object]:
    """`compute_gap`, `compute_orders` and so on, H100 over Cortex-M7. `digits` of the gap that was predicted; the others have three."""
    cloud, tiny = pick(lab.contexts, CLOUD), pick(lab.contexts, TINY)
    slots: dict[str, object] = {}
    for axis in QUANTITIES:
        ratio = gap(cloud, tiny, axis) or math.nan
        slots |= {f"{axis}_gap": kit.times(ratio, digits if axis == "compute" else 3), f"{axis}_orders": orders(ratio)}
    return slots


def peaks(lab: kit.Lab) -> dict[str, object]:
    cloud, tiny = pick(lab.contexts, CLOUD), pick(lab.contexts, TINY)
    return {"h100_peak": kit.amount(cloud.peak, rate_unit(cloud.format)), "m7_peak": kit.amount(tiny.peak, rate_unit(tiny.format))}


def reveal(lab: kit.Lab) -> dict[str, object]:
    return {**{k: v for k, v in gaps(lab).items() if k != "compute_gap"}, **peaks(lab), **width(lab)}


def reflection(lab: kit.Lab) -> dict[str, object]:
    cloud, phone = (pick(lab.contexts, slug).hardware.peak(COMMON) for slug in (CLOUD, PHONE))
    return {
        "phone_gap": kit.times(cloud / phone),
        "h100_int8": kit.dress(f"{significant(cloud / 1e12)} T{rate_unit(COMMON)}"),  # with the prefix of the phone's
        "phone_int8": kit.amount(phone, rate_unit(COMMON)), "compute_gap": gaps(lab)["compute_gap"],
    }  # fmt: skip


def peek(lab: kit.Lab) -> dict[str, object]:
    return {**peaks(lab), "compute_gap": gaps(lab)["compute_gap"], "compute_orders": gaps(lab)["compute_orders"]}
