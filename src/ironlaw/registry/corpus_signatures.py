"""registry/corpus/signatures.json.xz: what the operators of several hundred models look like. Written by benchmarks/corpus/collect.py.

Each signature is an op without a name: kind, shapes, formats, layout and strides, groups, dilation. `weight` says how much rests on it:
the sum, over the runs that have it, of how often it occurs there divided by the seconds that the run was predicted to take on an H200.
So weight × seconds adds up to the number of runs, and every run counts the same, however long it takes.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ironlaw.engine.device.types import Op, Tensor
from ironlaw.engine.device.work import op
from ironlaw.errors import unknown
from ironlaw.registry.loader import folder
from ironlaw.worker.json_values import decode

RUNS = ("eager", "training")


@dataclass(frozen=True, slots=True)
class Seen:
    """An operator of the corpus: how often it occurs, in how many runs, and how much rests on it."""

    op: Op
    count: int
    runs: int
    weight: float


@dataclass(frozen=True)
class Corpus:
    """All signatures of one kind of run, the heaviest first. `models`: library -> how many were captured."""

    seen: tuple[Seen, ...]
    models: Mapping[str, int]
    versions: Mapping[str, str]
    kept: float  # share of the predicted time that the stored signatures hold; the rest is in very many light ones


def path() -> Path:
    return folder("corpus") / "signatures.json.xz"


@cache
def corpus(run: str = "eager", most: int | None = None) -> Corpus:
    """`most`: only that many signatures, the heaviest."""
    if run not in RUNS:
        raise unknown("kind of run", run, RUNS)
    data = json.loads(lzma.decompress(path().read_bytes()))
    return Corpus(tuple(read(data, run, most)), data["models"], data["versions"], data["kept"][run])


def read(data: Mapping[str, Any], run: str, most: int | None = None) -> list[Seen]:
    tensors = [(tuple(shape), dtype, role) for shape, dtype, role in data["tensors"]]
    attrs = [decode(one) for one in data["attrs"]]
    memo: dict[Any, Any] = {}

    @cache
    def tensor(name: str, number: int) -> Tensor:
        return Tensor(name, *tensors[number])

    @cache  # a training step updates hundreds of tensors in one operator, and the same ones in the next
    def named(side: str, numbers: tuple[int, ...]) -> tuple[Tensor, ...]:
        """An op's tensors by their places: two of one name would be one tensor."""
        return tuple(tensor(f"{side}{i}", number) for i, number in enumerate(numbers))

    return [
        Seen(op(kind, kind, named("x", tuple(ins)), named("y", tuple(outs)), memo, **attrs[settings]), count, runs, weight)
        for kind, ins, outs, settings, count, runs, weight in data[run][:most]
    ]
