"""Act II: a classifier within a budget."""

from ironlaw.labs.lab_v2_13_privacy.act2 import instrument, slots

__all__ = ["instrument", "slots"]
