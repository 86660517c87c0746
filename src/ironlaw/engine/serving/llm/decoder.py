"""A decoder by its sizes: what it weighs, what it keeps of a token, and the share of it that one of several devices has."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ironlaw.engine.serving.llm.cache import CacheShape, grouped, whole
from ironlaw.errors import BadValue


@dataclass(frozen=True, slots=True)
class Decoder:
    """A Llama or one of its kin; with `experts`, each token's feed-forward goes through `top_k` of them."""

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

    def __post_init__(self) -> None:
        for field in ("vocab", "layers", "hidden", "heads", "kv_heads", "head_dim", "ffn"):
            whole(f"{self.name}: {field}", getattr(self, field))
        if self.heads % self.kv_heads:
            raise BadValue(f"{self.name}: {self.heads} heads can't share {self.kv_heads} key-value heads evenly; give a divisor")
        if not self.top_k <= self.experts:
            raise BadValue(f"{self.name}: top_k is {self.top_k} of {self.experts} experts; give at most {self.experts}")

    @property
    def matrices(self) -> int:
        """Weights of the layers' products and the head: what may be stored in a narrower format."""
        query = self.heads * self.head_dim
        attention = self.hidden * (2 * query + 2 * self.kv_heads * self.head_dim)
        mlp = 3 * self.hidden * self.ffn * max(self.experts, 1) + self.hidden * self.experts
        return self.layers * (attention + mlp) + (0 if self.tied else self.vocab * self.hidden)

    @property
    def parameters(self) -> int:
        biases = (self.heads + 2 * self.kv_heads) * self.head_dim if self.qkv_bias else 0
        gains = 2 * self.head_dim if self.qk_norm else 0
        return self.matrices + self.vocab * self.hidden + self.layers * (2 * self.hidden + biases + gains) + self.hidden

    def cache(self, dtype: str = "fp16") -> CacheShape:
        return grouped(self.layers, self.heads, self.kv_heads, self.head_dim, dtype)

    def shard(self, devices: int) -> Decoder:
        """What one of `devices` computes under tensor parallelism: its heads, its columns of the feed-forward, its words."""
        if whole("devices", devices) == 1:
            return self
        for what, count in (("heads", self.heads), ("columns of the feed-forward", self.ffn)):
            if count % devices:
                raise BadValue(f"{self.name} has {count} {what}, which {devices} devices can't share evenly; give a divisor", "devices")
        kv_heads = max(1, self.kv_heads // devices)
        if self.kv_heads % devices and devices % self.kv_heads:
            raise BadValue(f"{self.name} has {self.kv_heads} key-value heads, which {devices} devices can't share evenly", "devices")
        return replace(
            self, vocab=-(-self.vocab // devices), heads=self.heads // devices, kv_heads=kv_heads, ffn=self.ffn // devices
        )  # fmt: skip
