"""Graphs and rows of evidence that claims, keys and cards name in a word."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ironlaw.backends.rows import Row
from ironlaw.engine.device.chains import chain as engine_chain
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.work import op
from ironlaw.errors import BadRegistry
from ironlaw.registry import evidence


def chain(*kinds: str, shape: tuple[float, float] = (1024, 768), dtype: str = "fp16") -> Graph:
    """Ops in a row, all of one shape: `chain("layer_norm", "dropout", "relu")`."""
    return engine_chain(kinds, shape, dtype)


def attention(seq: float, head_dim: float, impl: str = "flash", *, batch: float = 4, heads: float = 32, dtype: str = "fp16") -> Graph:
    """One attention op over `seq` queries and keys; impl is "flash" (tiled) or "naive" (the scores go through memory)."""
    q, k, v = (Tensor(name, (batch, heads, seq, head_dim), dtype, "input") for name in "qkv")
    return Graph("attention", (op("attention", "attention", (q, k, v), (replace(q, name="out", role="activation"),), impl=impl),), dtype)


def row(file: str, /, **wanted: Any) -> Row:
    """The one row of an evidence file (`"h200_sxm/micro"`) whose fields or params are as wanted; None means: not there."""
    rows = evidence.file(file).rows
    matches = [r for r in rows if all(r.get(key) == value for key, value in wanted.items())]
    if len(matches) != 1:
        raise BadRegistry(f"evidence {file} has {len(matches)} rows of {len(rows)} with {wanted}; name one")
    return matches[0]
