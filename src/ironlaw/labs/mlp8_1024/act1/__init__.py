"""Act I: the bandwidth of two devices."""

from ironlaw.labs.mlp8_1024.act1 import instrument, slots

__all__ = ["instrument", "slots"]
