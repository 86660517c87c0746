"""Act I: one area, cut two ways."""

from ironlaw.labs.lab_13_line.act1 import instrument, local_runs, slots

__all__ = ["instrument", "local_runs", "slots"]
