"""What attention keeps of each token, and how many requests that leaves room for.

    token bytes = layers · heads kept · numbers per head · bytes of a number

Multi-head attention keeps a key and a value for every query head, grouped-query attention for every group, multi-query attention one
pair for all. Latent attention keeps one compressed vector and one rotary key, which all heads share.
"""

from __future__ import annotations

from dataclasses import dataclass

from ironlaw.engine.device.types import bytes_per_element
from ironlaw.errors import BadValue


@dataclass(frozen=True, slots=True)
class CacheShape:
    """What every layer keeps of one token: `heads` times `width` numbers."""

    layers: int
    heads: int
    width: int
    dtype: str = "fp16"

    def __post_init__(self) -> None:
        for name in ("layers", "heads", "width"):
            whole(name, getattr(self, name))
        bytes_per_element(self.dtype)

    @property
    def token_bytes(self) -> float:
        return self.layers * self.heads * self.width * bytes_per_element(self.dtype)

    def shard(self, devices: int) -> CacheShape:
        """What one of several devices keeps under tensor parallelism: heads are dealt out, and one that is left alone is copied."""
        return CacheShape(self.layers, -(-self.heads // whole("devices", devices)), self.width, self.dtype)


def multi_head(layers: int, heads: int, head_dim: int, dtype: str = "fp16") -> CacheShape:
    return CacheShape(layers, heads, 2 * head_dim, dtype)


def grouped(layers: int, heads: int, groups: int, head_dim: int, dtype: str = "fp16") -> CacheShape:
    """`groups` pairs of keys and values, each shared by heads / groups query heads."""
    if whole("heads", heads) % whole("groups", groups):
        raise BadValue(f"{heads} heads can't share {groups} key-value heads evenly; give a divisor of {heads}", "groups")
    return CacheShape(layers, groups, 2 * head_dim, dtype)


def multi_query(layers: int, head_dim: int, dtype: str = "fp16") -> CacheShape:
    return CacheShape(layers, 1, 2 * head_dim, dtype)


def latent(layers: int, rank: int, rotary: int, dtype: str = "fp16") -> CacheShape:
    """`rank` numbers from which all heads' keys and values are made, and a rotary key of `rotary` numbers (DeepSeek-V2, 2.1)."""
    return CacheShape(layers, 1, rank + rotary, dtype)


@dataclass(frozen=True, slots=True)
class Paging:
    """Tokens in use, and tokens that no other request can use while these are there."""

    used: int
    waste: int

    @property
    def share_used(self) -> float:
        return self.used / (self.used + self.waste) if self.used else 1.0


def blocks(tokens: int, block: int) -> int:
    """How many blocks a request of `tokens` holds; the last is rarely full."""
    return -(-tokens // block)


def paged(lengths: list[int] | tuple[int, ...], block: int) -> Paging:
    """Requests of these lengths in blocks: each wastes less than one."""
    whole("block", block)
    used = sum(whole("length", n) for n in lengths)
    return Paging(used, sum(blocks(n, block) for n in lengths) * block - used)


def contiguous(lengths: list[int] | tuple[int, ...], longest: int) -> Paging:
    """Each request keeps room for the longest that there may be."""
    if max(lengths, default=0) > longest:
        raise BadValue(f"a request of {max(lengths):,} tokens where at most {longest:,} are kept; raise the longest", "longest")
    used = sum(whole("length", n) for n in lengths)
    return Paging(used, len(lengths) * longest - used)


def pool_blocks(room: float, shape: CacheShape, block: int = 1) -> int:
    """Blocks that `room` bytes hold."""
    return max(0, int(room // (shape.token_bytes * whole("block", block))))


def slots(room: float, shape: CacheShape, tokens: int, block: int = 1) -> int:
    """Requests of `tokens` each that `room` bytes hold at once."""
    return pool_blocks(room, shape, block) // blocks(whole("tokens", tokens), block)


def whole(name: str, value: int) -> int:
    """A count that must be at least 1."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BadValue(f"{name} is {value!r}; give a whole number of at least 1", name)
    return value
