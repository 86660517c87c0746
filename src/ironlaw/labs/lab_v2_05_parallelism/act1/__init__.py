"""Act I: a pipeline, and the time in which its stages wait."""

from ironlaw.labs.lab_v2_05_parallelism.act1 import instrument, local_runs, slots

__all__ = ["instrument", "local_runs", "slots"]
