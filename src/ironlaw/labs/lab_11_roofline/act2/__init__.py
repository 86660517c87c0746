"""Act II: a whole transformer layer under the roof, and whether it fits."""

from ironlaw.labs.lab_11_roofline.act2 import budget_panel, instrument, slots, target_panel

__all__ = ["budget_panel", "instrument", "slots", "target_panel"]
