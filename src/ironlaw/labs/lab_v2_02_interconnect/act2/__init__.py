"""Act II: groups of devices on the wires."""

from ironlaw.labs.lab_v2_02_interconnect.act2 import instrument, slots

__all__ = ["instrument", "slots"]
