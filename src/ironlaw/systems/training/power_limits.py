"""How far power holds back products that last, where the machine's own figures and laws do not say it yet."""

from __future__ import annotations

from ironlaw.engine.device.machine import Hardware

FALL = 1.0 / 3.0  # power goes with the cube of the clock: torchtitan's runs at 500 W, beside those on H200s at 700 W
LASTING = {
    "4NP": 1.2
}  # by process: Blackwell's products in a step that lasts, over the law's (Megatron Bridge's open runs on B200 and GB200)


def held_back(machine: Hardware) -> float:
    """How much longer products take in a step that lasts than by themselves at the watts that the chip is rated for (`rated_watts` of its
    units, where it is limited to less)."""
    rated = machine.units.get("rated_watts", 0.0)
    known = next((factor for process, factor in LASTING.items() if process in machine.process), 1.0)
    return float(known * max(1.0, rated / float(machine.power)) ** FALL)
