"""Graphs of operators, and what they ask of a machine. All frozen: ask again with `dataclasses.replace`.

Sizes may be floats or NumPy arrays (a batch of 1, or a sweep over ten thousand batches).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ironlaw.engine.arrays import SCALARS, Number, is_positive, ratio, total
from ironlaw.engine.device.sweep import Line, points
from ironlaw.errors import BadValue, unknown
from ironlaw.formats import BYTES

FORMATS: dict[str, float] = BYTES  # bytes per element of each number format
TERMS = ("memory", "compute", "overhead")
BEFORE = "before"  # among what a graph remembers: one that it differs from in the optimiser alone
STORED = ("weight", "buffer")  # roles of what a model is stored with; the rest comes and goes with each run


def bytes_per_element(fmt: str) -> float:
    if fmt not in FORMATS:
        raise unknown("number format", fmt, FORMATS)
    return FORMATS[fmt]


@dataclass(frozen=True, slots=True)
class Work:
    """What an op asks of a machine. Adds with `+`."""

    flops: Number = 0.0  # all arithmetic; a multiply and an add are two
    matmul_flops: Number = 0.0  # the part in matmuls, convolutions and attention, as PyTorch's counter counts
    read: Number = 0.0  # bytes
    written: Number = 0.0  # bytes
    launches: Number = 0.0

    @property
    def bytes(self) -> Number:
        return self.read + self.written

    @property
    def vector_flops(self) -> Number:
        """The part outside matrix products: element by element, along a row."""
        return self.flops - self.matmul_flops

    @property
    def kind(self) -> str:
        """Which peak it is judged by: "matrix" as soon as it holds a product, else "vector"."""
        return "matrix" if is_positive(self.matmul_flops) else "vector"

    @property
    def intensity(self) -> Number:
        """Arithmetic intensity, FLOP per byte."""
        return ratio(self.flops, self.bytes)

    def __add__(self, other: Work) -> Work:
        return Work(
            self.flops + other.flops,
            self.matmul_flops + other.matmul_flops,
            self.read + other.read,
            self.written + other.written,
            self.launches + other.launches,
        )


@dataclass(frozen=True, slots=True)
class Tensor:
    """A named array. `role`: activation, input, weight, buffer (not trained) or cache (keys and values)."""

    name: str
    shape: tuple[Number, ...]
    dtype: str = "fp16"
    role: str = "activation"

    @property
    def size(self) -> Number:
        """How many elements."""
        return _product(self.shape, 1)

    @property
    def bytes(self) -> Number:
        return _product(self.shape, FORMATS[self.dtype])


def _product(shape: tuple[Number, ...], factor: Number) -> Number:
    """All sizes and the factor multiplied; a line where one of them is swept."""
    swept: Number = None
    for d in shape:
        if isinstance(d, SCALARS):
            factor = factor * d
        else:
            swept = d if swept is None else swept * d
    return factor if swept is None else Line(swept, factor)


@dataclass(frozen=True, slots=True)
class Op:
    """One operator: what it reads and writes, tensor by tensor, and its work. Made by `engine.work.op`."""

    name: str
    kind: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    attrs: Mapping[str, Any]
    work: Work
    reads: tuple[Number, ...]  # bytes of each input that cross memory
    writes: tuple[Number, ...]  # bytes of each output
    key: tuple[Any, ...]  # ops with equal keys cost the same

    @property
    def dtype(self) -> str:
        """The format the arithmetic is done in."""
        return str(self.attrs.get("dtype") or (self.inputs or self.outputs)[0].dtype)

    @property
    def stored_bytes(self) -> Number:
        """The part of its bytes that are weights and buffers."""
        tensors = zip((*self.inputs, *self.outputs), (*self.reads, *self.writes), strict=True)
        return total(count for t, count in tensors if t.role in STORED)


@dataclass(frozen=True)
class Graph:
    """Operators in the order in which they run."""

    name: str
    ops: tuple[Op, ...]
    dtype: str = "fp16"
    settings: Mapping[str, Any] = field(default_factory=dict)  # the workload's parameters: batch, seq, …
    outputs: tuple[str, ...] = ()  # names of the tensors handed back; the last op's if empty
    plans: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)  # fusion plans, training outlines

    def __post_init__(self) -> None:
        if not self.ops:
            raise BadValue(f"graph {self.name!r} has no ops; give it at least one")
        if not self.outputs:
            object.__setattr__(self, "outputs", tuple(t.name for t in self.ops[-1].outputs))
        for name in self.outputs:
            if name not in self.tensors:
                raise unknown(f"output of graph {self.name!r}", name, self.tensors)

    def __repr__(self) -> str:
        """One line; every op is in `ops`."""
        return f"<Graph {self.name}: {len(self.ops)} ops, {self.dtype}>"

    @cached_property
    def work(self) -> Work:
        """Every op's work, added: all arithmetic, and every tensor once per op that touches it."""
        work = Work()
        for op in self.ops:
            work = work + op.work
        return Work(*map(points, (work.flops, work.matmul_flops, work.read, work.written, work.launches)))

    @property
    def flops(self) -> Number:
        """Matmuls, convolutions and attention, as PyTorch's counter counts. All arithmetic: `graph.work.flops`."""
        return self.work.matmul_flops

    @property
    def bytes(self) -> Number:
        """Bytes that cross memory when every op reads and writes its tensors (eager)."""
        return self.work.bytes

    @property
    def kernels(self) -> Number:
        return self.work.launches

    @cached_property
    def tensors(self) -> dict[str, Tensor]:
        """Each tensor once, as first seen (a later view keeps the name); tied weights share a name and so count once. What a
        capture saw in parts is whole."""
        tensors: dict[str, Tensor] = {}
        for op in self.ops:
            for t in (*op.inputs, *op.outputs):
                tensors.setdefault(t.name, t)
        for name, shape in self.settings.get("wholes", {}).items():
            if name in tensors:
                tensors[name] = replace(tensors[name], shape=tuple(shape))
        return tensors

    def total(self, *roles: str) -> tuple[Number, Number]:
        """Elements and bytes of all tensors with these roles."""
        chosen = [t for t in self.tensors.values() if t.role in roles]
        return points(sum(t.size for t in chosen)), points(sum(t.bytes for t in chosen))

    @cached_property
    def params(self) -> Number:
        """Trained parameters; tied weights once."""
        return self.total("weight")[0]

    @cached_property
    def weight_bytes(self) -> Number:
        """Parameters and buffers (running statistics), in bytes."""
        return self.total(*STORED)[1]

    @cached_property
    def cache_bytes(self) -> Number:
        return self.total("cache")[1]


def check_positive(what: str, value: Number, zero: bool = False) -> Number:
    """Refuse NaN, infinities, negatives and (unless allowed) zero, in a float or anywhere in an array."""
    if isinstance(value, SCALARS):
        good = 0 < value < float("inf") or (zero and value == 0)
    else:
        try:
            good = bool(((value > 0) | ((value == 0) & zero)).all()) and bool((value < float("inf")).all())
        except (AttributeError, TypeError):
            good = False
    if not good:
        raise BadValue(f"{what} is {value!r}; give a finite number {'of at least 0' if zero else 'above 0'}")
    return value
