"""Act I: what an attack leaves, of the table's models and of a reader of digits."""

from ironlaw.labs.lab_v2_14_adversarial.act1 import instrument, local_runs, slots

__all__ = ["instrument", "local_runs", "slots"]
