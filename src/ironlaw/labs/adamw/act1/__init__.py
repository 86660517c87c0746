"""Act I: the bandwidth of two devices."""

from ironlaw.labs.adamw.act1 import instrument, slots

__all__ = ["instrument", "slots"]
