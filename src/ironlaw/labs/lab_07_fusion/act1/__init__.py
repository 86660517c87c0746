"""Act I: what launches cost, pass by pass."""

from ironlaw.labs.lab_07_fusion.act1 import instrument, local_runs, slots

__all__ = ["instrument", "local_runs", "slots"]
