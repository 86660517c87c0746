"""Several ops as one: what still crosses memory, what is computed again, and a key that says which of them share which tensor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from ironlaw.engine.arrays import SCALARS, Number, maximum, minimum
from ironlaw.engine.device.fusion_rules import FUSED
from ironlaw.engine.device.recompute import Expression
from ironlaw.engine.device.types import Op, Tensor, Work
from ironlaw.engine.device.work import category

NOTHING: Mapping[str, Expression] = MappingProxyType({})


def merge(ops: tuple[Op, ...], escaping: set[str], whole: Mapping[str, Tensor], again: Mapping[str, Expression] = NOTHING) -> Op:
    """One op for a group: outside inputs read once, only escaping outputs written, one launch.

    Two ops may read different parts of one tensor; together they read no more than the `whole` of it. What was not stored is computed
    `again`, from what it was computed from.
    """
    inner = {t.name for op in ops for t in op.outputs}
    reads: dict[str, tuple[Tensor, Number]] = {}
    writes: dict[str, tuple[Tensor, Number]] = {}
    repeats: dict[str, tuple[Op, Number]] = {}  # ops, each once however many read it, and for how many elements
    for op in ops:
        for t, count in zip(op.inputs, op.reads, strict=True):
            if t.name in inner:
                continue
            sources: Iterable[tuple[Tensor, Number]] = ((t, count),)
            if t.name in again:
                sources = again[t.name].leaves.values()
                for one in again[t.name].ops:
                    known = repeats[one.name][1] if one.name in repeats else 0.0
                    repeats[one.name] = one, maximum(known, maximum(op.outputs[0].size, t.size))
            for source, part in sources:
                if source.name not in inner:
                    full, seen = whole[source.name].bytes, reads.get(source.name)
                    reads[source.name] = (source, part if seen is None else minimum(seen[1] + part, maximum(full, part)))
    repeated = list(repeats.values())
    if len(ops) == 1 and not repeated:
        return ops[0]
    for op in ops:
        for t, count in zip(op.outputs, op.writes, strict=True):
            if t.name in escaping:
                writes[t.name] = (t, count)
    flops = sum(op.work.flops for op in ops) + sum(one.work.flops / one.outputs[0].size * size for one, size in repeated)
    matmul = sum(op.work.matmul_flops for op in ops)
    read_bytes, write_bytes = tuple(c for _, c in reads.values()), tuple(c for _, c in writes.values())
    work = Work(flops, matmul, sum(read_bytes), sum(write_bytes), 1.0)
    inputs, outputs = tuple(t for t, _ in reads.values()), tuple(t for t, _ in writes.values())
    dtype = next((op.dtype for op in ops if category(op.kind) == "contraction"), ops[0].dtype)
    name = f"{ops[0].name}…{ops[-1].name}" if len(ops) > 1 else ops[0].name
    number: dict[str, int] = {}  # tensors by first appearance: which ops share which tensor decides the traffic
    wiring = tuple(tuple((number.setdefault(t.name, len(number)), t.name in escaping) for t in (*op.inputs, *op.outputs)) for op in ops)
    key: tuple[Any, ...] = (FUSED, tuple(op.key for op in ops), wiring)
    attrs: dict[str, Any] = {"parts": ops, "dtype": dtype}
    if repeated:
        attrs["again"] = tuple(repeated)
        key = (*key, tuple(one.key for one, _ in repeated), tuple(c if isinstance(c, SCALARS) else id(c) for c in read_bytes))
    return Op(name, FUSED, inputs, outputs, attrs, work, read_bytes, write_bytes, key)
