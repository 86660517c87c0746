"""How a model is spread over devices: tensor, pipeline, context, expert and data parallelism; and which layouts there are.

tensor × pipeline × context × data = devices. Experts are spread over devices of the data-parallel group.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from ironlaw.engine.cluster.shapes import RECOMPUTE, Shape
from ironlaw.engine.decoders.parts import sharded
from ironlaw.errors import BadValue, unknown

ON_HOST = ("optimiser", "gradients", "weights")  # what the host's memory can hold in place of the device's
MICRO = [1, 2, 4, 8, 16, 32, 64]  # sequences of a microbatch that a search tries


@dataclass(frozen=True, slots=True)
class Layout:
    """`virtual`: pieces of each pipeline stage; `micro`: sequences of a microbatch; `zero`: ZeRO's stage over data × context."""

    tensor: int = 1
    pipeline: int = 1
    context: int = 1
    data: int = 1
    expert: int = 1
    virtual: int = 1
    micro: int = 1
    recompute: str = "none"
    sequence_parallel: bool = True
    zero: int = 1
    gradient_bytes: float = 4.0  # gradients are summed up in FP32; 2: in the weights' format
    replicate: int = 1  # copies of what ZeRO shards: each group of replicas / replicate devices holds one (HSDP)
    offload: tuple[str, ...] = ()  # of ON_HOST

    def __post_init__(self) -> None:
        for name in ("tensor", "pipeline", "context", "data", "expert", "virtual", "micro", "replicate"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 1:
                raise BadValue(f"{name} is {getattr(self, name)!r}; give a whole number of at least 1", name)
        if self.recompute not in RECOMPUTE:
            raise unknown("recomputation", self.recompute, RECOMPUTE, field="recompute")
        if any(part not in ON_HOST for part in self.offload):
            raise unknown(
                "part of a step that the host can hold", next(p for p in self.offload if p not in ON_HOST), ON_HOST, field="offload"
            )
        if self.zero not in range(4):
            raise BadValue(f"{self.zero!r} is not a valid ZeRO stage; give 0, 1, 2 or 3", "zero")

    @property
    def devices(self) -> int:
        return self.tensor * self.pipeline * self.context * self.data

    @property
    def replicas(self) -> int:
        """Devices that hold the same weights, and sum up their gradients."""
        return self.data * self.context

    @property
    def sharing(self) -> int:
        """Devices over which ZeRO shards."""
        return self.replicas // self.replicate

    def __str__(self) -> str:
        parts = (("TP", self.tensor), ("CP", self.context), ("PP", self.pipeline), ("DP", self.data), ("EP", self.expert))
        text = " · ".join(f"{name} {size}" for name, size in parts if size > 1 or name in ("TP", "PP", "DP"))
        return (
            text
            + (f" · ZeRO-{self.zero}" if self.zero > 1 else "")
            + (f" in {self.sharing}" if self.replicate > 1 else "")
            + (" · offload" if self.offload else "")
        )


def stage_layers(shape: Shape, layout: Layout) -> tuple[int, ...]:
    """Layers of each stage. Where they don't divide, the first and last may have one fewer: those hold embedding and head."""
    pieces = layout.pipeline * layout.virtual
    if shape.layers % pieces == 0:
        return (shape.layers // layout.pipeline,) * layout.pipeline
    if layout.pipeline > 1 and (shape.layers + 2) % pieces == 0:
        full = (shape.layers + 2) // layout.pipeline
        return (full - 1, *(full,) * (layout.pipeline - 2), full - 1)
    raise BadValue(
        f"{shape.name}: {shape.layers} layers do not divide into {layout.pipeline} stages of {layout.virtual} chunks, nor with one fewer in"
        f" the first and last; give a pipeline that divides {shape.layers} or {shape.layers + 2}", "pipeline",
    )  # fmt: skip


def micro_batches(layout: Layout, batch: int) -> int:
    """How many go through each pipeline in a step of `batch` sequences."""
    each = layout.data * layout.micro
    if batch % each:
        near = f"give a multiple of {each:,} sequences, such as {-(-batch // each) * each:,}, or smaller microbatches"
        raise BadValue(
            f"{batch:,} sequences do not divide into {layout.data:,} replicas with microbatches of {layout.micro}; {near}", "batch"
        )
    return batch // each


def check(shape: Shape, layout: Layout, batch: int, seq: int) -> None:
    """Refuse what does not divide, naming the first thing that does not."""
    stage_layers(shape, layout)
    for what, count, by, name in (
        ("heads", shape.heads, layout.tensor, "tensor"),
        ("key-value heads", max(shape.kv_heads, layout.tensor), min(layout.tensor, shape.kv_heads), "tensor"),
        ("columns of the feed-forward", shape.ffn, layout.tensor, "tensor"),
        ("tokens of a sequence", seq, layout.context * (2 if layout.context > 1 else 1), "context"),
        ("experts", max(1, shape.experts), layout.expert, "expert"),
        ("replicas", layout.replicas, layout.replicate, "replicated"),
        ("replicas", layout.sharing, layout.expert, "expert"),
    ):
        if count % by:
            raise BadValue(f"{shape.name}: {count:,} {what} do not divide by {by}; {name} parallelism has to divide them", name)
    for block, _ in shape.blocks.kinds if shape.blocks else ():
        sharded(block, layout.tensor, shape.name)
    if "weights" in layout.offload and (layout.zero < 2 or layout.sharing == 1):
        raise BadValue(
            f"only shards of gradients and weights can lie in the host's memory, and {layout} has none; give ZeRO-2 or ZeRO-3 over at least"
            " two replicas", "offload",
        )  # fmt: skip
    count = micro_batches(layout, batch)
    if layout.virtual > 1 and (layout.pipeline == 1 or count % layout.pipeline):
        raise BadValue(
            f"interleaving needs a pipeline, and a multiple of {layout.pipeline} microbatches in it; this layout leaves {count}",
            "virtual",
        )


def divisors(n: int) -> list[int]:
    return [i for i in range(1, n + 1) if n % i == 0]


def layouts(shape: Shape, devices: int, batch: int, seq: int, per_box: int, **choices: tuple[object, ...]) -> Iterator[Layout]:
    """Every layout of so many devices that divides; tensor parallelism stays inside a box. `choices` narrows a field: micro=(1, 2).
    The format of gradients, sequence parallelism and what the host holds are not searched: `choices` has one of each, or they are as a
    layout has them."""
    fixed: dict[str, Any] = {name: choices[name][0] for name in ("sequence_parallel", "gradient_bytes", "offload") if name in choices}

    def allowed(name: str, values: list[int]) -> list[int]:
        return [value for value in values if name not in choices or value in choices[name]]

    tried = choices.get("recompute", ("none", "selective", "full"))
    recomputes: list[Any] = [one for one in tried if one != "selective" or not shape.fused_attention]
    unsharded = [0] if 0 in choices.get("zero", ()) else []
    whole = [t for t in divisors(devices) if t <= per_box and (devices <= per_box or per_box % t == 0)]
    for tensor in allowed("tensor", [t for t in whole if shape.heads % t == 0]):
        for context in allowed("context", [c for c in divisors(devices // tensor) if c <= max(1, seq // 8192)]):
            for pipeline in allowed("pipeline", [p for p in divisors(devices // tensor // context) if p <= shape.layers]):
                data = devices // tensor // context // pipeline
                if data not in allowed("data", [data]):
                    continue
                for expert in allowed("expert", [e for e in divisors(max(1, shape.experts)) if data * context % e == 0]):
                    for virtual in allowed("virtual", [1, 2, 3, 4, 6, 8] if pipeline > 1 else [1]):
                        for micro in allowed("micro", MICRO):
                            for recompute in recomputes:
                                for zero in allowed("zero", [*unsharded, *_stages(data, pipeline)]) if data > 1 else [1]:
                                    one = Layout(tensor, pipeline, context, data, expert, virtual, micro, recompute, zero=zero, **fixed)
                                    copied = _copied(one, per_box) if "replicate" in choices else None
                                    yield from (each for each in (one, copied) if each and _divides(shape, each, batch, seq))


def _copied(one: Layout, per_box: int) -> Layout | None:
    """The same with its shards inside boxes, and copies between them (HSDP); None where that is not a layout."""
    copies, rest = divmod(one.tensor * one.replicas, per_box)
    return replace(one, replicate=copies) if one.zero == 3 and copies > 1 and not rest and one.replicas % copies == 0 else None


def _stages(data: int, pipeline: int) -> list[int]:
    """ZeRO's stages worth a try; the third would gather a pipeline stage's weights for each microbatch."""
    if data == 1:
        return [1]
    return [1, 2] if pipeline > 1 else [1, 2, 3]


def _divides(shape: Shape, layout: Layout, batch: int, seq: int) -> bool:
    try:
        check(shape, layout, batch, seq)
    except BadValue:
        return False
    return True
