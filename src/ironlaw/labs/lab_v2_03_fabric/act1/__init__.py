"""Act I: one collective on a fabric."""

from ironlaw.labs.lab_v2_03_fabric.act1 import instrument, local_runs, slots

__all__ = ["instrument", "local_runs", "slots"]
