"""A training stack beside the device: its pace against fused kernels, what it hides of communication, what a step takes beside both."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ironlaw.engine.cluster.layouts import Layout
from ironlaw.engine.cluster.shapes import Shape
from ironlaw.engine.cluster.working_memory import Working
from ironlaw.errors import unknown

MODES = ("eager", "compiled")
PARALLEL = ("tensor", "pipeline", "context", "expert")


@dataclass(frozen=True, slots=True)
class Pace:
    """`work`, `eight`: time of products, and of those in eight bits with their casts, over that of the machine's best; `scores`: FLOPs of
    scores that a multiprocessor does in a clock at most (0: its best kernel); `traffic`: bytes that a layer moves beside fused kernels, per
    token and element of the hidden size."""

    work: float = 1.0
    eight: float = 1.0
    scores: float = 0.0
    traffic: float = 0.0


FUSED = Pace()  # the machine's best kernels, chains of small operations fused


@dataclass(frozen=True, slots=True)
class Overlap:
    """Shares of a kind's collectives that the passes wait for; `beside`: how much of what is hidden of the gradients' and weights' comes
    back, because it takes multiprocessors and memory from the products."""

    tensor: float = 1.0
    context: float = 1.0
    expert: float = 1.0
    pipeline: float = 1.0
    beside: float = 0.0


KEPT = Working()  # nothing beside what `footprint` counts but gathers and layers that run again
SEEN = Overlap()  # nothing is hidden but what `overlaps` hides


@dataclass(frozen=True, slots=True)
class Stack:
    """`pace`: as MODES; `step`: seconds of each step; `asynchronous`: of the tensor collectives that are waited for, what is left where
    products run in pieces beside them; `pad`: the vocabulary is padded to a multiple of it."""

    slug: str
    name: str
    pace: tuple[Pace, Pace] = (FUSED, FUSED)
    step: float = 0.0
    overlap: Overlap = SEEN
    asynchronous: float = 1.0
    pad: int = 1
    dropout: bool = True
    spread: float = 1.0  # four of five single runs lie within this factor of the prediction
    mode: str = "compiled"  # the usual one
    zeros: tuple[int, ...] = (1, 2, 3)  # the usual one first
    recomputes: tuple[str, ...] = ("none", "selective", "full")
    parallel: tuple[str, ...] = ("tensor", "pipeline", "context", "expert")  # beside data parallelism
    hsdp: bool = False
    working: Working = KEPT
    offload: tuple[str, ...] = ()  # what its option to use the host's memory keeps there
    offload_zeros: tuple[int, ...] = ()  # ZeRO stages with which that works
    sources: tuple[str, ...] = ()
    starts: str = ""  # the stack whose options start it
    narrow: tuple[str, ...] = ("fp8", "int8")  # formats of products beside a model in 16 bits
    waits: tuple[str, ...] = ()  # formats of products beside which it hides no tensor-parallel collective

    def trains(self, shape: Shape, tensor: int = 1) -> Shape:
        """The model as it runs: the vocabulary padded, and without dropout where the stack leaves it out."""
        unit = self.pad * tensor
        vocab = -(-shape.vocab // unit) * unit if self.pad > 1 else shape.vocab
        return replace(shape, vocab=vocab, dropout=shape.dropout and self.dropout)

    def lacks(self, layout: Layout) -> tuple[str, str] | None:
        """(field, what it has instead) of the first thing in a layout that this stack does not have; None where it has all."""
        for name in PARALLEL:
            if getattr(layout, name) > 1 and name not in self.parallel:
                return name, " and ".join((*self.parallel, "data")) + " parallelism" + ("" if self.parallel else " alone")
        if layout.replicas > 1 and layout.zero not in self.zeros:
            return "zero", "ZeRO " + " or ".join(map(str, sorted(self.zeros)))
        if layout.offload and layout.offload != self.offload:
            return (
                "offload",
                "no option for that part of a step in the host's memory" if self.offload else "no option for the host's memory",
            )
        if layout.offload and layout.zero not in self.offload_zeros:
            return "offload", "the host's memory for ZeRO " + " or ".join(map(str, sorted(self.offload_zeros))) + " only"
        if layout.recompute not in self.recomputes:
            return "recompute", " or ".join(self.recomputes)
        return ("replicate", "one copy of its shards") if layout.replicate > 1 and not self.hsdp else None

    def choices(self, offload: bool = False) -> dict[str, tuple[object, ...]]:
        """What a search over layouts tries."""
        without: dict[str, tuple[object, ...]] = {name: (1,) for name in PARALLEL if name not in self.parallel}
        copies: dict[str, tuple[object, ...]] = {"replicate": (True,)} if self.hsdp else {}
        away: dict[str, tuple[object, ...]] = {"offload": (self.offload,)} if offload else {}
        zeros = self.offload_zeros if offload else self.zeros
        return {**without, **copies, **away, "zero": zeros, "recompute": tuple(one for one in self.recomputes if one != "layers")}

    def usual_zero(self, pipeline: int) -> int:
        """The stage of a layout that does not say it; the third would gather a pipeline's stage again for each microbatch."""
        return next((stage for stage in self.zeros if pipeline == 1 or stage < 3), self.zeros[0])

    def in_mode(self, mode: str) -> Pace:
        if mode not in MODES:
            raise unknown("mode", mode, MODES, field="mode")
        return self.pace[MODES.index(mode)]

    def hides(self, asynchronous: bool, products: str = "") -> Overlap:
        if products in self.waits:
            return replace(self.overlap, tensor=1.0)
        return replace(self.overlap, tensor=self.overlap.tensor * self.asynchronous) if asynchronous else self.overlap
