"""Act I: the bandwidth of two devices."""

from ironlaw.labs.predict.act1 import instrument, slots

__all__ = ["instrument", "slots"]
