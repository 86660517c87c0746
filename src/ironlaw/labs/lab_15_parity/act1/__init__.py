"""Act I: both sides of an argument are right."""

from ironlaw.labs.lab_15_parity.act1 import instrument, local_runs, slots

__all__ = ["instrument", "local_runs", "slots"]
