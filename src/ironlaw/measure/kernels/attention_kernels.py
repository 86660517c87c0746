"""Attention two ways: with the scores in memory, and tile by tile with the scores never leaving the chip.

q, k, v are [batch, heads, S, d] in a two-byte format. What crosses memory for each head:

    naive    q·kᵀ reads 2·S·d, writes S²; softmax reads and writes S²; times v reads S² + S·d, writes S·d      4·S² + 4·S·d elements
    tiled    q once, k and v once for each tile of queries (from the cache, if they fit there), the result once      4·S·d elements

The tiled kernel (FlashAttention: Dao et al. 2022, with the running maximum of Milakov and Gimelshein 2018) keeps for each query the
maximum so far, the sum of exponentials so far and the weighted values so far. A larger maximum rescales what was summed before.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import triton
import triton.language as tl

QUERIES, KEYS = 128, 64  # of a tile
LOG2E = math.log2(math.e)  # exponentials are taken to the base of 2, which the chip has an instruction for


@triton.jit
def kernel(
    q, k, v, out, size, scale,
    D: tl.constexpr, QUERIES: tl.constexpr, KEYS: tl.constexpr, CAUSAL: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    tile, head = tl.program_id(0), tl.program_id(1).to(tl.int64)
    base = head * size * D
    rows = tile * QUERIES + tl.arange(0, QUERIES)
    columns = tl.arange(0, D)
    places = rows[:, None] * D + columns[None, :]
    inside = rows[:, None] < size
    queries = tl.load(q + base + places, mask=inside, other=0.0)
    most = tl.full([QUERIES], -float("inf"), tl.float32)
    total = tl.zeros([QUERIES], tl.float32)
    gathered = tl.zeros([QUERIES, D], tl.float32)
    end = tl.minimum((tile + 1) * QUERIES, size) if CAUSAL else size
    for start in tl.range(0, end, KEYS, num_stages=STAGES):
        keys = start + tl.arange(0, KEYS)
        there = keys[:, None] < size
        key = tl.load(k + base + keys[:, None] * D + columns[None, :], mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(key)) * scale
        visible = keys[None, :] < size
        if CAUSAL:
            visible = visible & (keys[None, :] <= rows[:, None])
        scores = tl.where(visible, scores, -float("inf"))
        larger = tl.maximum(most, tl.max(scores, 1))
        shrink = tl.exp2(most - larger)
        raised = tl.exp2(scores - larger[:, None])
        value = tl.load(v + base + keys[:, None] * D + columns[None, :], mask=there, other=0.0)
        gathered = tl.dot(raised.to(value.dtype), value, gathered * shrink[:, None])
        total = total * shrink + tl.sum(raised, 1)
        most = larger
    tl.store(out + base + places, (gathered / total[:, None]).to(out.dtype.element_ty), mask=inside)


def tiled(q: Any, k: Any, v: Any, causal: bool = False) -> Any:
    """softmax(q·kᵀ/√d)·v without ever writing the scores."""
    batch, heads, size, d = q.shape
    if d & (d - 1) or not 16 <= d <= 128:
        raise ValueError(f"heads of {d} are not supported here; give a power of two from 16 to 128")
    q, k, v = (t.contiguous() for t in (q, k, v))
    out = torch.empty_like(q)
    kernel[(triton.cdiv(size, QUERIES), batch * heads)](
        q, k, v, out, size, LOG2E / math.sqrt(d), D=d, QUERIES=QUERIES, KEYS=KEYS, CAUSAL=causal, STAGES=3, num_warps=8 if d > 64 else 4,
    )  # fmt: skip
    return out


def naive(q: Any, k: Any, v: Any, causal: bool = False) -> Any:
    """The same with the scores in memory: two matrix products and a softmax between them."""
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        size = q.shape[-2]
        scores = scores.masked_fill(torch.ones(size, size, dtype=torch.bool, device=q.device).triu(1), -float("inf"))
    return scores.softmax(-1) @ v
