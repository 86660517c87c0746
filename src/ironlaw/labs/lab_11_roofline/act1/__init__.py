"""Act I: one matrix product under the roof."""

from ironlaw.labs.lab_11_roofline.act1 import instrument, local_runs, slots

__all__ = ["instrument", "local_runs", "slots"]
