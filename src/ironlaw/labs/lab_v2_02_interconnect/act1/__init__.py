"""Act I: a ring, and the edge that paces it."""

from ironlaw.labs.lab_v2_02_interconnect.act1 import instrument, local_runs, slots

__all__ = ["instrument", "local_runs", "slots"]
