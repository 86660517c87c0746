"""Act II: a layout for a given run."""

from ironlaw.labs.lab_v2_05_parallelism.act2 import instrument, slots

__all__ = ["instrument", "slots"]
