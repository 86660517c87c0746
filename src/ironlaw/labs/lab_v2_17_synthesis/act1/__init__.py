"""Act I: how far the learner's own hunches can be trusted."""

from ironlaw.labs.lab_v2_17_synthesis.act1 import instrument, slots

__all__ = ["instrument", "slots"]
