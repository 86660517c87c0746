"""Act I: one part of a pass gets faster."""

from ironlaw.labs.lab_12_amdahl.act1 import instrument, local_runs, slots

__all__ = ["instrument", "local_runs", "slots"]
