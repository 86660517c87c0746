"""What the terms are called and how they are marked, and when a readout is good, middling or bad."""

from __future__ import annotations

from ironlaw.errors import unknown
from ironlaw.widget.colours import CONTEXTS

TERM_NAMES = {"memory": "memory", "compute": "compute", "overhead": "overhead"}
SYMBOLS = {"memory": "D/BW", "compute": "O/R", "overhead": "L"}
# what lies in a device's memory has one colour in every lab; a copy of it is hatched
HELD = {"weights": "ridge", "optimiser": "overhead", "gradients": "compute", "activations": "memory", "cache": "memory"}
# a binding term also has a shape, for those who do not see the colour
SHAPES = {"memory": "circle", "compute": "square", "overhead": "triangle"}

# quantity -> (good from, middling from); a value at the limit counts as reaching it, for MFU it does not
THRESHOLDS = {"utilization": (0.70, 0.40), "mfu": (0.50, 0.20), "fusion_speedup": (3.0, 1.5), "gap": (1e6, 1e4)}
STRICT = ("mfu",)
NEARLY_FULL = 0.8


def tone(quantity: str, value: float) -> str:
    """good, middling or bad. For "memory" the value is the share of the capacity in use: bad where it does not fit."""
    if quantity == "memory":
        return "bad" if value > 1.0 else "middling" if value > NEARLY_FULL else "good"
    if quantity not in THRESHOLDS:
        raise unknown("threshold", quantity, [*THRESHOLDS, "memory"])
    for name, limit in zip(("good", "middling"), THRESHOLDS[quantity], strict=True):
        if value > limit or (value == limit and quantity not in STRICT):
            return name
    return "bad"


def context_colour(regime: str) -> str:
    """A context's own hue; machines outside the labs' contexts are neutral."""
    return regime if regime in CONTEXTS else "ridge"
