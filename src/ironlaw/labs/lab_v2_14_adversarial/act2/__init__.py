"""Act II: a robust model, and what it costs to train and to run."""

from ironlaw.labs.lab_v2_14_adversarial.act2 import instrument, slots

__all__ = ["instrument", "slots"]
