"""Act II: a whole transformer layer under the roof, and whether it fits."""

from ironlaw.labs.lab_11_roofline.act2 import instrument, slots

__all__ = ["instrument", "slots"]
