"""Act I: one run, and how much privacy each proof leaves of it."""

from ironlaw.labs.lab_v2_13_privacy.act1 import instrument, local_runs, slots

__all__ = ["instrument", "local_runs", "slots"]
