"""Act I: the bandwidth of two devices."""

from ironlaw.labs.mixed.act1 import instrument, slots

__all__ = ["instrument", "slots"]
