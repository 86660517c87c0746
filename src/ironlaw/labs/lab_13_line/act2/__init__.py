"""Act II: a server that batches, always busy and hardly loaded."""

from ironlaw.labs.lab_13_line.act2 import instrument, local_runs, slots

__all__ = ["instrument", "local_runs", "slots"]
