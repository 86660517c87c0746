"""Act I: what launches cost, pass by pass."""

from ironlaw.labs.lab_07_fusion.act1 import curve, instrument, local_runs, slots

__all__ = ["curve", "instrument", "local_runs", "slots"]
