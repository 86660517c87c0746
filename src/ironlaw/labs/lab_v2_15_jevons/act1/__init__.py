"""Act I: half the joules, and what demand makes of them."""

from ironlaw.labs.lab_v2_15_jevons.act1 import instrument, local_runs, slots

__all__ = ["instrument", "local_runs", "slots"]
