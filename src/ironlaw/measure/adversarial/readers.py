"""Three readers of digits: as trained, with hidden gradients, and trained on attacked images.

The second has the first one's weights and answers. Its scores are multiplied, so that in FP32 the shares of all other classes round to
zero, and with them the gradient that an attack on the loss would follow.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ironlaw.errors import unknown
from ironlaw.registry.adversarial_tables import HARDENED, MASKED, NETS, PLAIN
from ironlaw.registry.trained_nets import trained

Array = Any  # numpy.ndarray
GAIN = 1000.0  # of the masked reader's scores


@dataclass(frozen=True)
class Reader:
    """Linear layers as (weight, bias) with a ReLU between two; its scores are multiplied by `gain`."""

    layers: tuple[tuple[Array, Array], ...]
    gain: float = 1.0

    def scores(self, x: Array) -> Array:
        for i, (weight, bias) in enumerate(self.layers):
            x = x @ weight.T + bias
            x = np.maximum(x, 0.0) if i < len(self.layers) - 1 else x
        return x * np.asarray(self.gain, x.dtype)

    def back(self, x: Array, error: Any) -> Array:
        """Carries what `error` says of the scores back to what it means for the image; weights get none."""
        active, values = [], x
        for weight, bias in self.layers[:-1]:
            values = np.maximum(values @ weight.T + bias, 0.0)
            active.append(values > 0)
        weight, bias = self.layers[-1]
        slope = error((values @ weight.T + bias) * np.asarray(self.gain, x.dtype)) @ weight
        for (weight, _), on in zip(self.layers[-2::-1], active[::-1], strict=True):
            slope = (slope * on) @ weight
        return slope


@cache
def reader(name: str) -> Reader:
    if name not in NETS:
        raise unknown("reader", name, NETS)
    family, net = ("digits_hardened", "mlp") if name == HARDENED else ("digits", "mlp")
    with np.load(trained(family).weights_file()) as file:
        count = sum(key.startswith(f"{net}.") and key.endswith(".weight") for key in file.files)
        layers = tuple(tuple(file[f"{net}.{i}.{part}"].astype(np.float32) for part in ("weight", "bias")) for i in range(count))
    assert name in (PLAIN, MASKED, HARDENED)
    return Reader(layers, GAIN if name == MASKED else 1.0)
