"""Act I: what the next bit costs, and where the cliff is."""

from ironlaw.labs.lab_10_frontier.act1 import figures, instrument, local_runs, slots

__all__ = ["figures", "instrument", "local_runs", "slots"]
