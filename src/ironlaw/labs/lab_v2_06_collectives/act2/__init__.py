"""Act II: buckets behind a backward pass."""

from ironlaw.labs.lab_v2_06_collectives.act2 import instrument, slots

__all__ = ["instrument", "slots"]
