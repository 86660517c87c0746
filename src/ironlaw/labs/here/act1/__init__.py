"""Act I: the bandwidth of two devices."""

from ironlaw.labs.here.act1 import instrument, slots

__all__ = ["instrument", "slots"]
