"""What a block of a decoder is made of. Every architecture is a list of such blocks, and everything that is priced follows from the parts:
parameters, the products of a token, what is kept of it, and what one of several devices has of all that.

A product's `split` says what tensor parallelism divides: the rows of the matrix that goes in first ("out"), the columns of the one that
follows ("in"), or nothing (""): every device then has the whole matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from ironlaw.errors import BadValue

Share = Callable[[str, int], int]  # what is divided, its size -> the size on one device


@dataclass(frozen=True, slots=True)
class Norm:
    """A norm of `width` numbers per row; `vectors`: gains (1), gains and biases (2), or neither (0). `rows` of them per token."""

    width: int
    vectors: int = 1
    rows: int = 1
    split: str = ""  # "out": its rows, or its width where there is one row, are dealt out

    @property
    def parameters(self) -> int:
        return self.vectors * self.width

    def shard(self, share: Share) -> Norm:
        if not self.split:
            return self
        if self.rows > 1:
            return replace(self, rows=max(1, self.rows // share("devices", 0)))
        return replace(self, width=share("columns of a norm", self.width))


@dataclass(frozen=True, slots=True)
class Product:
    """A matrix that every token is multiplied with."""

    name: str
    into: int
    out: int
    bias: bool = False
    split: str = "out"

    @property
    def weights(self) -> int:
        return self.into * self.out

    @property
    def parameters(self) -> int:
        return self.weights + (self.out if self.bias else 0)

    def shard(self, share: Share) -> Product:
        if self.split == "in":
            return replace(self, into=share(f"columns of {self.name}", self.into))
        return replace(self, out=share(f"columns of {self.name}", self.out)) if self.split else self


@dataclass(frozen=True, slots=True)
class Scores:
    """Attention over what is kept of earlier tokens: `key` and `value` numbers for each of `kv_heads`.

    `latent`: only so many numbers are kept of a token, from which all heads' keys and values are made. `window`: so many tokens are
    seen and kept; 0: all. `kept` is False where a layer reads another's keys and values.
    """

    heads: int
    kv_heads: int
    key: int
    value: int
    window: int = 0
    latent: int = 0
    kept: bool = True
    rotary: bool = True

    parameters = 0

    @property
    def token_numbers(self) -> int:
        if not self.kept:
            return 0
        return self.latent or self.kv_heads * (self.key + self.value)

    def seen(self, tokens: float) -> float:
        return min(tokens, self.window) if self.window else tokens

    def shard(self, share: Share) -> Scores:
        devices = share("devices", 0)
        if self.kv_heads % devices and devices % self.kv_heads:
            raise BadValue(f"{self.kv_heads} key-value heads can't be shared by {devices} devices evenly", "devices")
        return replace(self, heads=share("heads", self.heads), kv_heads=max(1, self.kv_heads // devices))


@dataclass(frozen=True, slots=True)
class State:
    """A recurrence: `numbers` of a sequence are kept, whatever its length, and each token reads and writes them all.

    `inner`: channels that go in; `flops` of a token.
    """

    numbers: int
    inner: int
    flops: int
    parameters: int = 0

    def shard(self, share: Share) -> State:
        devices = share("devices", 0)
        each = {name: -(-getattr(self, name) // devices) for name in ("numbers", "inner", "flops", "parameters")}
        return replace(self, **each)


@dataclass(frozen=True, slots=True)
class Gate:
    """Element by element over `width` numbers of a token: an activation, or one times the other half."""

    width: int
    halves: bool = True

    parameters = 0

    def shard(self, share: Share) -> Gate:
        return replace(self, width=share("columns of the feed-forward", self.width))


@dataclass(frozen=True, slots=True)
class Experts:
    """`count` feed-forwards of `ffn` columns, of which a token goes through `active`, chosen by a router."""

    hidden: int
    count: int
    active: int
    ffn: int
    gated: bool = True
    biases: bool = False
    router: int = 0  # parameters of the router, where it is not one matrix; its own biases included

    @property
    def weights(self) -> int:
        """The number of weights in the experts' matrices."""
        return self.count * self.one

    @property
    def one(self) -> int:
        return (3 if self.gated else 2) * self.hidden * self.ffn

    @property
    def parameters(self) -> int:
        biases = self.count * ((2 if self.gated else 1) * self.ffn + self.hidden) if self.biases else 0
        return self.weights + biases + (self.router or self.hidden * self.count)

    def shard(self, share: Share) -> Experts:
        return replace(self, ffn=share("columns of an expert", self.ffn), router=self.router or self.hidden * self.count)


@dataclass(frozen=True, slots=True)
class Vector:
    """Parameters that no product reads: sinks, scales, convolutions of a few taps."""

    parameters: int

    def shard(self, share: Share) -> Vector:
        return self


Part = Norm | Product | Scores | State | Gate | Experts | Vector
Block = tuple[Part, ...]


def parameters(parts: Iterable[Part]) -> int:
    return sum(part.parameters for part in parts)


def matrices(parts: Iterable[Part]) -> int:
    """Weights that may be stored in a narrower format: products and experts."""
    return sum(part.weights for part in parts if isinstance(part, Product | Experts)) + sum(
        part.hidden * part.count for part in parts if isinstance(part, Experts)
    )


def active(parts: Iterable[Part]) -> int:
    """Weights that one token is multiplied with."""
    total = 0
    for part in parts:
        if isinstance(part, Product):
            total += part.weights
        elif isinstance(part, Experts):
            total += part.active * part.one + part.hidden * part.count
    return total


def kept_numbers(parts: Iterable[Part], tokens: float) -> float:
    """Numbers that a sequence of `tokens` keeps: keys and values as far as a window reaches, and states."""
    total = 0.0
    for part in parts:
        if isinstance(part, Scores):
            total += part.token_numbers * part.seen(tokens)
        elif isinstance(part, State):
            total += part.numbers
    return total


def sharded(block: Block, devices: int, name: str) -> Block:
    """What one of `devices` has of a block."""

    def share(what: str, count: int) -> int:
        if what == "devices":
            return devices
        if count % devices:
            raise BadValue(f"{name} has {count} {what}, which {devices} devices can't share evenly; give a divisor", "devices")
        return count // devices

    return tuple(part.shard(share) for part in block)


def kinds(blocks: Iterable[Any]) -> dict[Any, int]:
    """Blocks that differ, in the order in which they first come, and how many there are of each."""
    counts: dict[Any, int] = {}
    for block in blocks:
        counts[block] = counts.get(block, 0) + 1
    return counts
