"""Act I: the test that waited politely."""

from ironlaw.labs.lab_14_tail.act1 import instrument, local_runs, slots

__all__ = ["instrument", "local_runs", "slots"]
