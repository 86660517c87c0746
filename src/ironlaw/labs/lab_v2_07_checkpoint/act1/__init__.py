"""Act I: one place to save to, and how often."""

from ironlaw.labs.lab_v2_07_checkpoint.act1 import instrument, local_runs, slots

__all__ = ["instrument", "local_runs", "slots"]
