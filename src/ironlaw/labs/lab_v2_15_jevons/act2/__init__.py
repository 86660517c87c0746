"""Act II: a year within a budget of carbon."""

from ironlaw.labs.lab_v2_15_jevons.act2 import instrument, slots

__all__ = ["instrument", "slots"]
