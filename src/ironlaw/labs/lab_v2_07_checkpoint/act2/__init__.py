"""Act II: two places to save to, and what is left of the time."""

from ironlaw.labs.lab_v2_07_checkpoint.act2 import instrument, slots

__all__ = ["instrument", "slots"]
