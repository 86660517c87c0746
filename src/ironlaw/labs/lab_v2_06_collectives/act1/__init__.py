"""Act I: steps against bytes."""

from ironlaw.labs.lab_v2_06_collectives.act1 import instrument, local_runs, slots

__all__ = ["instrument", "local_runs", "slots"]
