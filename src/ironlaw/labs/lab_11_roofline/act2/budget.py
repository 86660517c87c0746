"""What one change to the whole model would bring: tokens per second with a perfect GEMM, fused, tiled, or in a larger batch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from ironlaw.engine.device.memory import Memory
from ironlaw.labs.lab_11_roofline.act2.layer import Case
from ironlaw.registry.machines import hardware

FACTOR = 8  # how many times the batch; the option says so in words
WAYS = {"gemm": "a perfect GEMM", "fuse": "element-wise ops fused", "tile": "tiled attention", "batch": f"{FACTOR}× the batch"}
DEVICE, BATCH, CONTEXT = "h200_sxm", 8, 512  # the premises; questions.toml states the same


@dataclass(frozen=True)
class Budget:
    """A model as it is served now, and after each of the four."""

    now: Case

    @cached_property
    def larger(self) -> Case:
        return replace(self.now, batch=FACTOR * self.now.batch)

    @cached_property
    def rates(self) -> dict[str, float]:
        """Tokens per second of the whole model; 0 where it can't be loaded."""
        now = self.now
        if not now.footprint.fits:
            return dict.fromkeys(WAYS, 0.0)
        return {
            "gemm": now.tokens / now.seconds_at_the_roof,
            "fuse": replace(now, fusion="all").rate,
            "tile": replace(now, tiled=True).rate,
            "batch": self.larger.rate if self.larger.footprint.fits else 0.0,
        }

    def gain(self, way: str) -> float:
        return self.rates[way] / self.now.rate

    def saved(self, way: str) -> float:
        """The share of one pass that a change saves; none where the pass does more."""
        return 1.0 - self.now.rate / self.rates[way] if self.rates[way] else 0.0

    @property
    def best(self) -> str:
        return max(self.rates, key=lambda way: self.rates[way])

    @property
    def needs(self) -> Memory:
        """What the larger batch needs."""
        return self.larger.footprint


@lru_cache(maxsize=2)
def premise(phase: str = "decode") -> Budget:
    """The lead's own case; in a prefill of the same prompts it comes out otherwise."""
    return Budget(Case(hardware(DEVICE), phase=phase, batch=BATCH, context=CONTEXT, measured=True))
