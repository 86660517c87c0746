"""Act I: the bandwidth of two devices."""

from ironlaw.labs.layout.act1 import instrument, slots

__all__ = ["instrument", "slots"]
