"""How a model is spread over the devices of one replica, and what one of them has of it.

`tensor` devices share every product. `stages` follow each other: each has its layers, and as many batches are under way as there are
stages. `groups` each attend to requests of their own and keep the attention's weights whole, while the experts of all layers are shared by
all `tensor` · `groups` devices. `whole`: an expert lies on one device, and tokens go where theirs are; else all of its columns are shared.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ironlaw.engine.decoders.parts import Block, Experts, Gate, Scores, State, parameters
from ironlaw.engine.serving.llm.cache import whole
from ironlaw.engine.serving.llm.decoder import Decoder
from ironlaw.errors import BadValue


@dataclass(frozen=True, slots=True)
class Layout:
    tensor: int = 1
    stages: int = 1
    groups: int = 1
    whole: bool = False  # experts are dealt out whole

    def __post_init__(self) -> None:
        for name in ("tensor", "stages", "groups"):
            whole(name, getattr(self, name))
        if self.groups > 1 and not self.whole:
            raise BadValue("attention data parallelism needs `experts` too, because whole experts are all that its groups share", "groups")

    @property
    def devices(self) -> int:
        return self.tensor * self.stages * self.groups

    @property
    def stage_devices(self) -> int:
        """Devices of one stage, which exchange sums, and tokens on their way to experts."""
        return self.tensor * self.groups

    @property
    def ways(self) -> int:
        """Parts that the sequences of a replica are dealt to."""
        return self.stages * self.groups


def share(model: Decoder, layout: Layout) -> Decoder:
    """What one device computes of a step, all stages together."""
    if layout.whole and not mixed(model):
        raise BadValue(f"{model.name} has no experts, so they can't be spread over devices; leave `experts` out", "experts")
    if layout.stages > model.layers:
        raise BadValue(f"{model.name} has {model.layers} layers, too few for {layout.stages} stages", "pp")
    if not layout.whole:
        return model.shard(layout.tensor)
    if not model.blocks:
        count, each = model.experts // layout.stage_devices, model.top_k // layout.tensor
        if model.experts % layout.stage_devices or model.top_k % layout.tensor or each > count:
            raise _uneven(model, model.experts, layout)
        return replace(replace(model, ffn=model.ffn * layout.tensor).shard(layout.tensor), experts=count, top_k=each)
    shards = model.shard(layout.tensor) if layout.tensor > 1 else model
    blocks = tuple(
        tuple(_dealt(model, part, layout) if isinstance(part, Experts) else split for part, split in zip(block, shard, strict=True))
        for block, shard in zip(model.blocks, shards.blocks, strict=True)
    )
    return replace(shards, blocks=blocks)


def _dealt(model: Decoder, part: Experts, layout: Layout) -> Experts:
    devices = layout.stage_devices
    if part.count % devices or part.active % layout.tensor or part.active // layout.tensor > part.count // devices:
        raise _uneven(model, part.count, layout)
    return replace(part, count=part.count // devices, active=part.active // layout.tensor, router=part.router or part.hidden * part.count)


def _uneven(model: Decoder, count: int, layout: Layout) -> BadValue:
    return BadValue(
        f"{model.name} has {count} experts, which {layout.stage_devices} devices can't take whole and evenly; take another number",
        "devices",
    )


def stage(model: Decoder, stages: int) -> Decoder:
    """The largest of so many parts of a share that follow each other, with embedding and head as if it had both."""
    if stages == 1:
        return model
    each = -(-model.layers // stages)
    if not model.blocks:
        return replace(model, layers=each)
    parts = [model.blocks[at : at + each] for at in range(0, model.layers, each)]
    return replace(model, blocks=max(parts, key=lambda blocks: sum(map(parameters, blocks))), layers=each)


def mixed(model: Decoder) -> bool:
    return bool(model.experts) if not model.blocks else any(isinstance(part, Experts) for block in model.blocks for part in block)


def sums(model: Decoder, layout: Layout) -> float:
    """All-reduces of a step among `tensor` devices: one after each half of a block, but not after experts that tokens are sent to."""
    if layout.tensor == 1:
        return 0.0
    if not model.blocks:
        return model.layers * (1.0 if layout.groups > 1 else 2.0)
    return float(sum(_halves(block, layout.groups > 1) for block in model.blocks))


def _halves(block: Block, sent: bool) -> int:
    mixes = any(isinstance(part, Scores | State) for part in block)
    experts = any(isinstance(part, Experts) for part in block)
    feeds = experts or any(isinstance(part, Gate) for part in block)
    return mixes + (feeds and not (sent and experts))


def sendings(model: Decoder, layout: Layout) -> int:
    """Layers in which tokens are sent to their experts and back, over all groups."""
    if layout.groups == 1:
        return 0
    return sum(any(isinstance(part, Experts) for part in block) for block in model.blocks) if model.blocks else model.layers


def active(model: Decoder) -> int:
    """Experts that a token goes through."""
    if not model.blocks:
        return model.top_k
    return max((part.active for block in model.blocks for part in block if isinstance(part, Experts)), default=0)
