"""A decoder by its sizes: what it weighs, what it keeps of a token, and the share of it that one of several devices has."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ironlaw.engine.decoders.parts import Block, Experts, kept_numbers, matrices, parameters, sharded
from ironlaw.engine.device.types import bytes_per_element
from ironlaw.engine.serving.llm.cache import CacheShape, grouped, whole
from ironlaw.errors import BadValue


@dataclass(frozen=True, slots=True)
class BlockCache:
    """What blocks keep of a sequence: windows end, and states do not grow, so a token's share follows from how many there are."""

    blocks: tuple[Block, ...]
    dtype: str
    tokens: int

    def sequence_bytes(self, tokens: int) -> float:
        return sum(kept_numbers(block, tokens) for block in self.blocks) * bytes_per_element(self.dtype)

    @property
    def token_bytes(self) -> float:
        return self.sequence_bytes(self.tokens) / self.tokens

    def shard(self, devices: int) -> BlockCache:
        if devices == 1:
            return self
        return replace(self, blocks=tuple(sharded(block, devices, "the model") for block in self.blocks))


@dataclass(frozen=True, slots=True)
class Decoder:
    """A Llama or one of its kin; with `experts`, each token's feed-forward goes through `top_k` of them.

    Any other architecture has `blocks`, and `heads` to `top_k` then only describe its first attention and its experts.
    """

    name: str
    vocab: int
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    tied: bool = False
    qkv_bias: bool = False
    experts: int = 0
    top_k: int = 0
    qk_norm: bool = False  # queries and keys are normalised head by head
    blocks: tuple[Block, ...] = ()
    before: Block = ()  # between the embedding and the blocks
    after: Block = ()  # between the blocks and the head's matrix
    embedding: int = 0  # numbers of a word, where they are not `hidden`
    positions: int = 0  # tokens that a sequence may have; 0: not said
    stored: str = ""  # the format of the blocks' matrices in the checkpoint, where it is quantised
    stored_experts: bool = False  # only the experts' matrices are
    scaled: int = 0  # numbers of a row that have a scale in common, where products are narrow; 0: all
    products: str = ""  # the format that a quantised checkpoint is multiplied in, where it is not the machine's 16 bits

    def __post_init__(self) -> None:
        for field in ("vocab", "layers", "hidden", "heads", "kv_heads", "head_dim", "ffn"):
            whole(f"{self.name}: {field}", getattr(self, field))
        if self.heads % self.kv_heads:
            raise BadValue(f"{self.name}: {self.heads} heads can't share {self.kv_heads} key-value heads evenly; give a divisor")
        if not self.top_k <= self.experts:
            raise BadValue(f"{self.name}: top_k is {self.top_k} of {self.experts} experts; give at most {self.experts}")

    @property
    def words(self) -> int:
        """Numbers in the embedding."""
        return self.vocab * (self.embedding or self.hidden)

    @property
    def matrices(self) -> int:
        """Weights of the layers' products and the head: what may be stored in a narrower format."""
        if self.blocks:
            return self.block_matrices + matrices((*self.before, *self.after)) + (0 if self.tied else self.words)
        query = self.heads * self.head_dim
        attention = self.hidden * (2 * query + 2 * self.kv_heads * self.head_dim)
        mlp = 3 * self.hidden * self.ffn * max(self.experts, 1) + self.hidden * self.experts
        return self.layers * (attention + mlp) + (0 if self.tied else self.vocab * self.hidden)

    @property
    def block_matrices(self) -> int:
        """The layers' matrices alone."""
        return sum(map(matrices, self.blocks)) if self.blocks else self.matrices - (0 if self.tied else self.vocab * self.hidden)

    @property
    def narrow_matrices(self) -> int:
        """Weights that the checkpoint holds in its `stored` format."""
        if not self.stored_experts:
            return self.block_matrices
        return sum(part.weights for block in self.blocks for part in block if isinstance(part, Experts))

    @property
    def parameters(self) -> int:
        if self.blocks:
            inside = sum(map(parameters, (*self.blocks, self.before, self.after)))
            return inside + self.words * (1 if self.tied else 2)
        biases = (self.heads + 2 * self.kv_heads) * self.head_dim if self.qkv_bias else 0
        gains = 2 * self.head_dim if self.qk_norm else 0
        return self.matrices + self.vocab * self.hidden + self.layers * (2 * self.hidden + biases + gains) + self.hidden

    def cache(self, dtype: str = "fp16", tokens: int = 0) -> CacheShape | BlockCache:
        """`tokens` of a usual sequence, where what is kept of one depends on it; without them, as many as there may be."""
        if self.blocks:
            return BlockCache(self.blocks, dtype, tokens or self.positions or 4096)
        return grouped(self.layers, self.heads, self.kv_heads, self.head_dim, dtype)

    def shard(self, devices: int) -> Decoder:
        """What one of `devices` computes under tensor parallelism: its heads, its columns of the feed-forward, its words."""
        if whole("devices", devices) == 1:
            return self
        if self.blocks:
            each = tuple(sharded(block, devices, self.name) for block in self.blocks)
            return replace(self, vocab=-(-self.vocab // devices), blocks=each)
        for what, count in (("heads", self.heads), ("columns of the feed-forward", self.ffn)):
            if count % devices:
                raise BadValue(f"{self.name} has {count} {what}, which {devices} devices can't share evenly; give a divisor", "devices")
        kv_heads = max(1, self.kv_heads // devices)
        if self.kv_heads % devices and devices % self.kv_heads:
            raise BadValue(f"{self.name} has {self.kv_heads} key-value heads, which {devices} devices can't share evenly", "devices")
        return replace(
            self, vocab=-(-self.vocab // devices), heads=self.heads // devices, kv_heads=kv_heads, ffn=self.ffn // devices
        )  # fmt: skip
