"""Act II: three jobs on switches that have to be paid for."""

from ironlaw.labs.lab_v2_03_fabric.act2 import instrument, slots

__all__ = ["instrument", "slots"]
