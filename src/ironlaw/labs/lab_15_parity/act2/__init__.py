"""Act II: choose a rule, and pay for it."""

from ironlaw.labs.lab_15_parity.act2 import instrument, slots

__all__ = ["instrument", "slots"]
