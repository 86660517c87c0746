"""Act II: a step that must fit a card."""

from ironlaw.labs.lab_08_ledger.act2 import instrument, slots

__all__ = ["instrument", "slots"]
