"""How far power holds back products that last, where the machine's own figures and laws do not say it yet."""

from __future__ import annotations

from ironlaw.engine.device.machine import Hardware

LASTING = {
    "4NP": 1.2
}  # by process: Blackwell's products in a step that lasts, over the law's (Megatron Bridge's open runs on B200 and GB200)


def held_back(machine: Hardware) -> float:
    """How much longer products take in a step that lasts than by themselves. A chip that is held to fewer watts than it is rated for needs
    nothing here: the law of products has what its watts sustain (calibration/transfer/power.py)."""
    return next((factor for process, factor in LASTING.items() if process in machine.process), 1.0)
