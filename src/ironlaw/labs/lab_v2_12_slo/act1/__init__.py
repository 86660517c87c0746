"""Act I: services in a row and calls at once, and what a user sees of them."""

from ironlaw.labs.lab_v2_12_slo.act1 import instrument, local_runs, slots

__all__ = ["instrument", "local_runs", "slots"]
