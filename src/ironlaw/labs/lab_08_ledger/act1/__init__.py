"""Act I: where the bytes of one training step go."""

from ironlaw.labs.lab_08_ledger.act1 import instrument, local_runs, slots

__all__ = ["instrument", "local_runs", "slots"]
