"""Where the dials of Act I stand, and what that does to the net: rows of the stored tables."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ironlaw.engine.numerics.decay import decay
from ironlaw.engine.numerics.storage import stored_bits
from ironlaw.registry.compression_tables import BITS, SPREADS, Squeezed, at_bits
from ironlaw.registry.trained_nets import trained
from ironlaw.systems.fields import among

NETS = {"mlp": "fully connected", "ds_cnn": "depthwise convolutions"}
SCALES = {"tensor": "tensor", "channel": "channel", "64": "64 weights", "32": "32", "16": "16"}
CLIPS = {"max": "the largest weight", "best": "where the error is least", "percentile": "99.5% of the weights"}
ZEROS = {False: "symmetric", True: "with a zero point"}
FORMATS = {16: "FP16", 32: "FP32"}
ROW = {"mlp": 256, "ds_cnn": 32}  # weights in a row of the layer that is drawn
FIRST, LAST = 8, 4  # bits between which the factor a bit is taken
SCALE_BITS = 16


@dataclass(frozen=True)
class Setting:
    net: str = among(NETS, "mlp", "Network")
    bits: int = among({bits: str(bits) for bits in BITS} | FORMATS, 8, "Bits per weight")
    scale: str = among(SCALES, "channel", "One scale per")
    clip: str = among(CLIPS, "max", "Levels reach to")
    zero: bool = among(ZEROS, False, "Levels")
    spread: int = among(SPREADS, 1, "Channels rescaled by up to", shown="×{}")

    @property
    def narrow(self) -> bool:
        """Whether the weights are on a grid at all."""
        return self.bits in BITS

    @property
    def format(self) -> str:
        return FORMATS.get(self.bits, f"{self.bits} bits")

    @property
    def answers(self) -> Squeezed:
        return at_bits(self.net, self.spread, self.bits, self.scale, self.clip, self.zero)

    def at(self, bits: int) -> Squeezed:
        return replace(self, bits=bits).answers

    def curve(self) -> list[tuple[float, float]]:
        """Divergence by bits, as the other dials stand."""
        return [(float(bits), self.at(bits).kl) for bits in BITS]

    @property
    def factor(self) -> float:
        """What one bit less multiplies the divergence by, over 8 to 4 bits."""
        bits = [b for b in BITS if LAST <= b <= FIRST]
        return decay(bits, [self.at(b).kl for b in bits]).factor

    @property
    def stored(self) -> float:
        """Bits that a weight of the drawn layer takes with its share of the scales."""
        if not self.narrow:
            return float(self.bits)
        group = {"tensor": 0, "channel": ROW[self.net]}.get(self.scale, 0) or (int(self.scale) if self.scale.isdigit() else 0)
        return stored_bits(self.bits, min(group, ROW[self.net]), SCALE_BITS, SCALE_BITS / 2 if self.zero else 0)


ASKED = Setting(scale="tensor", spread=100)  # the question's own case


def tested() -> int:
    return trained("digits").tested
