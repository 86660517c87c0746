"""A trained net in fewer bits, with fewer weights, or with its channels rescaled, and what that does to its answers. Needs NumPy.

reader = load("mlp")
damage(reader, with_weights(reader, lambda w: quantise(w, 4, "channel")))
"""

from ironlaw.measure.compression.changes import prune, rescale, to_half, with_weights
from ironlaw.measure.compression.damage import Damage, compare, damage
from ironlaw.measure.compression.nets import Layer, Net, images, load, logits
from ironlaw.measure.compression.rounding import quantise

__all__ = [
    "Damage", "Layer", "Net", "compare", "damage", "images", "load", "logits", "prune", "quantise", "rescale", "to_half", "with_weights",
]  # fmt: skip
