"""The builder that families share: ops go in one by one, in the order in which PyTorch runs them; a Graph comes out.

An op's output bears the op's name, so `layer1.0.conv2` is both; its weight is `layer1.0.conv2.weight`. A view (a reshape,
a transpose, a slice) is not an op: it is the same tensor under the same name with another shape. Sizes such as the batch may
be NumPy arrays: shapes hold them as they are, unmultiplied, and nothing here branches on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ironlaw.engine.arrays import Number, largest
from ironlaw.engine.device.types import Graph, Op, Tensor, check_positive
from ironlaw.engine.device.work import conv2d_shape, op
from ironlaw.errors import BadValue

PHASES = ("prefill", "decode")


class Builder:
    """Collects ops. Activations and weights are in `dtype` unless said otherwise."""

    def __init__(self, family: str, dtype: str, **sizes: Number) -> None:
        for what, size in sizes.items():
            check_positive(f"{family}: {what}", size)
        self.family, self.dtype = family, dtype
        self.ops: list[Op] = []
        self.names: set[str] = set()
        self.memo: dict[Any, Any] = {}

    # ---- tensors that no op makes

    def input(self, name: str, *shape: Number, dtype: str = "") -> Tensor:
        return Tensor(name, shape, dtype or self.dtype, "input")

    def weight(self, name: str, *shape: Number) -> Tensor:
        return Tensor(name, shape, self.dtype, "weight")

    def buffer(self, name: str, *shape: Number, dtype: str = "") -> Tensor:
        return Tensor(name, shape, dtype or self.dtype, "buffer")

    def cache(self, name: str, *shape: Number) -> Tensor:
        return Tensor(name, shape, self.dtype, "cache")

    # ---- ops

    def emit(
        self,
        kind: str,
        name: str,
        *inputs: Tensor,
        shape: Sequence[Number] = (),
        dtype: str = "",
        also: Sequence[Tensor] = (),
        **attrs: Any,
    ) -> Tensor:
        """One op; its output has the first input's shape and format unless said otherwise. `also`: further outputs."""
        if name in self.names:
            raise BadValue(f"family {self.family} names two ops {name!r}; give the second another name")
        self.names.add(name)
        out = Tensor(name, tuple(shape) or inputs[0].shape, dtype or inputs[0].dtype)
        if not inputs:
            attrs["dtype"] = out.dtype  # an op's format is its first input's; a fill has none
        self.ops.append(op(kind, name, inputs, (out, *also), self.memo, **attrs))
        return out

    def linear(self, name: str, x: Tensor, out: int, bias: bool = True, weight: Tensor | None = None) -> Tensor:
        """x·Wᵀ (+ b). `weight` is given where it is tied to another op's."""
        w = weight or self.weight(f"{name}.weight", out, x.shape[-1])
        parts = (x, w, self.weight(f"{name}.bias", out)) if bias else (x, w)
        return self.emit("linear", name, *parts, shape=(*x.shape[:-1], out))

    def conv(
        self,
        name: str,
        x: Tensor,
        out: int,
        kernel: tuple[int, int],
        stride: int = 1,
        padding: tuple[int, int] = (0, 0),
        groups: int = 1,
        bias: bool = False,
    ) -> Tensor:
        w = self.weight(f"{name}.weight", out, x.shape[1] // groups, *kernel)
        parts = (x, w, self.weight(f"{name}.bias", out)) if bias else (x, w)
        shape = conv2d_shape(x.shape, out, kernel, stride, padding)
        return self.emit("conv2d", name, *parts, shape=shape, stride=stride, padding=padding, groups=groups)

    def batch_norm(self, name: str, x: Tensor) -> Tensor:
        """Inference: the statistics are buffers, not computed."""
        channels = x.shape[1]
        trained = (self.weight(f"{name}.{part}", channels) for part in ("weight", "bias"))
        kept = (self.buffer(f"{name}.{part}", channels) for part in ("running_mean", "running_var"))
        return self.emit("batch_norm", name, x, *trained, *kept)

    def layer_norm(self, name: str, x: Tensor) -> Tensor:
        width = x.shape[-1]
        return self.emit("layer_norm", name, x, self.weight(f"{name}.weight", width), self.weight(f"{name}.bias", width))

    def embedding(self, name: str, table: Tensor, ids: Tensor, batch: Number | None = None) -> Tensor:
        """Rows of a table; ids of one row serve a whole `batch` where one is given."""
        rows = ids.shape if batch is None else (batch, *ids.shape[1:])
        return self.emit("embedding", name, table, ids, shape=(*rows, table.shape[-1]), dtype=table.dtype)

    def attention(self, name: str, q: Tensor, k: Tensor, v: Tensor, causal: bool, mask: str = "") -> Tensor:
        """q [b, h, s, d], k and v [b, h_kv, t, d] -> [b, s, h·d]; one tiled (flash) kernel."""
        out = self.emit("attention", name, q, k, v, impl="flash", causal=causal, mask=mask)
        batch, heads, seq, width = q.shape
        return view(out, batch, seq, heads * width)

    def graph(self, outputs: Sequence[Tensor], **settings: Any) -> Graph:
        return Graph(self.family, tuple(self.ops), self.dtype, settings, tuple(t.name for t in outputs))


def view(x: Tensor, *shape: Number) -> Tensor:
    """The same bytes (or a slice of them) under another shape."""
    return replace(x, shape=shape)


def split_heads(x: Tensor, heads: int) -> Tensor:
    """[b, s, h·d] -> [b, h, s, d]."""
    batch, seq, width = x.shape
    return view(x, batch, heads, seq, width // heads)


def choose(family: str, setting: str, value: str, allowed: Sequence[str]) -> str:
    if value not in allowed:
        raise BadValue(f"{family}: {setting} is {value!r}; choose one of {', '.join(allowed)}", setting)
    return value


def check_positions(family: str, setting: str, tokens: Number, positions: int, what: str = "") -> None:
    """Learned position embeddings end somewhere."""
    if largest(tokens) > positions:
        raise BadValue(
            f"{family}: {what or setting} asks for {largest(tokens):,.0f} positions, but the model has learned {positions:,}; give at most"
            " that many",
            setting,
        )
