"""What a training step holds in memory, and whether a device holds it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ironlaw.engine.device.types import Graph
from ironlaw.engine.training.recipes import OPTIMISERS, RECIPES
from ironlaw.engine.training.setup import ATTENTION, Setup, ledger
from ironlaw.engine.training.training_layers import layers
from ironlaw.engine.training.training_ledger import Ledger
from ironlaw.registry.machines import registered
from ironlaw.registry.workloads import workload
from ironlaw.systems.fields import one_of, switch, whole
from ironlaw.systems.question import Question, result
from ironlaw.systems.registry_names import machine, model


@dataclass(frozen=True, repr=False)
class TrainingMemory(Question):
    model: str = model()
    machine: str = machine()
    recipe: str = one_of(lambda: RECIPES, "fp32", "Training recipe", about="number formats of weights and gradients")
    optimiser: str = one_of(lambda: OPTIMISERS, "adamw", "Optimiser", about="the optimiser, by how much state it keeps")
    batch: int = whole(1, about="samples per microbatch")
    seq: int | None = whole(None, about="tokens per sequence (default: the model's)")
    accumulate: int = whole(1, about="microbatches per update")
    checkpoint: str = one_of(lambda: ("none", "all"), "none", about="which layers are recomputed")
    loss_chunks: int = whole(1, about="chunks that the loss is computed in")
    attention: str = one_of(lambda: ATTENTION, "fused", about="fused into one kernel, or three kernels that store the scores")
    zero: int = whole(0, least=0, about="ZeRO stage")
    devices: int = whole(1, about="number of devices that ZeRO shards over")
    offload: bool = switch(False, about="keep optimiser state and master copy in the host's memory")

    def build(self, batch: int, dtype: str) -> Graph:
        """The forward pass."""
        settings = {} if self.seq is None else {"seq": self.seq}
        return workload(self.model, batch=batch, dtype=dtype, **settings)

    @cached_property
    def ledger(self) -> Ledger:
        segments = len(layers(self.build(self.batch, RECIPES[self.recipe].dtype))) if self.checkpoint == "all" else 0
        return ledger(
            self.build,
            Setup(
                self.recipe, self.optimiser, self.batch, self.accumulate, segments, self.loss_chunks, self.attention, self.zero,
                self.devices, self.offload,
            ),
        )  # fmt: skip

    @property
    def usable(self) -> float:
        """Bytes of the device."""
        return float(registered(self.machine).usable)

    @result("the most that is held at once", "B", "low")
    def peak_bytes(self) -> float:
        return float(self.ledger.peak)

    @result("weights, gradients, optimiser", "B", "low")
    def static_bytes(self) -> float:
        return float(self.ledger.static.total)

    @result("activations kept for the backward pass", "B", "low")
    def kept_bytes(self) -> float:
        return float(self.ledger.kept)

    @result("what the device has left", "B", "high")
    def headroom_bytes(self) -> float:
        return self.usable - self.peak_bytes

    @result("whether the device holds it", column="bool")
    def fits(self) -> bool:
        return bool(self.ledger.fits(self.usable))

    @result("when the peak is", column="string")
    def peak_phase(self) -> str:
        return self.ledger.peak_at.phase
