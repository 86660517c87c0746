"""Act II: a hundred leaves."""

from ironlaw.labs.lab_14_tail.act2 import instrument, local_runs, slots

__all__ = ["instrument", "local_runs", "slots"]
