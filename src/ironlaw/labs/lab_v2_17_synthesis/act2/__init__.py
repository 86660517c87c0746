"""Act II: one system, its constraints, and what one more of each thing would bring."""

from ironlaw.labs.lab_v2_17_synthesis.act2 import instrument, slots, verdict

__all__ = ["instrument", "slots", "verdict"]
