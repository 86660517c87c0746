"""Act I: how far apart two devices are."""

from ironlaw.labs.lab_01_magnitude.act1 import instrument, slots

__all__ = ["instrument", "slots"]
