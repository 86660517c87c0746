"""LayerNorm → Dropout → ReLU in one kernel that reads its tensor once and writes it once.

x is [rows, n] in a two-byte format. What crosses memory: 2·rows·n bytes in and as many out, no more. The mask is not kept but drawn, so a
backward pass can draw it again from the same seed. Eager PyTorch makes three round trips and writes a mask.

A program walks over many rows and keeps the weights in registers: they are read once per program, not once per row. While it works on
one row the next ones are already on their way (STAGES).

Random numbers are the expensive part: integer work beside a kernel that should do nothing but wait for memory. Philox 2×32 with 7 rounds
(Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC 2011: the fewest that pass BigCrush) gives 64 bits per call, 8 for each of
the eight elements that a thread loads at once. 8 bits are too coarse for p = 0.1, which lies between 25/256 and 26/256, so the threshold
is drawn too, one for each group of eight: 26 as often as makes p exact. Each element is dropped with probability p; two of one group
agree a little more often than chance: their covariance is below (1/256)²/4.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

ROUNDS = 7
GROUP = 8  # elements of a thread's 16-byte load: one call of Philox
STAGES = 4  # rows on their way
PROGRAMS = 2  # for each multiprocessor
LEVELS = 256  # what 8 bits can distinguish
PARTS = 65536  # into which a level is divided by drawing the threshold


@triton.jit
def draw(counter, seed, ROUNDS: tl.constexpr):
    """Philox 2×32: 64 random bits for each counter."""
    left = counter
    right = tl.zeros_like(counter)
    key = seed
    for _ in tl.static_range(ROUNDS):
        high = tl.umulhi(left, 0xD256D193)
        low = left * 0xD256D193
        left = high ^ key ^ right
        right = low
        key = key + 0x9E3779B9
    return left, right


@triton.jit(do_not_specialize=["seed", "threshold", "above", "rows"])
def kernel(
    x, weight, bias, y, rows, n, eps, seed, threshold, above, scale,
    GROUPS: tl.constexpr, EACH: tl.constexpr, WHOLE: tl.constexpr, DROP: tl.constexpr, ROUNDS: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    groups = tl.arange(0, GROUPS)[:, None]
    within = tl.arange(0, EACH)[None, :]
    columns = groups * EACH + within
    inside = columns < n
    w = tl.load(weight + columns, mask=inside, other=0.0)
    b = tl.load(bias + columns, mask=inside, other=0.0)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=STAGES):
        start = (tl.full([], 0, tl.int64) + row) * n
        if WHOLE:  # no column is beyond the row's end: plain loads
            value = tl.load(x + start + columns, eviction_policy="evict_first").to(tl.float32)
            centred = value - tl.sum(value) / n
        else:
            value = tl.load(x + start + columns, mask=inside, other=0.0).to(tl.float32)
            centred = tl.where(inside, value - tl.sum(value) / n, 0.0)
        deviation = tl.rsqrt(tl.sum(centred * centred) / n + eps)
        out = centred * deviation * w.to(tl.float32) + b.to(tl.float32)
        out = tl.maximum(out, 0.0)  # dropping and scaling leave the sign alone, so ReLU may come first
        if DROP:
            left, right = draw((row * GROUPS + groups).to(tl.uint32), seed.to(tl.uint32), ROUNDS)
            dither = ((left ^ (right >> 7)) * 0x9E3779B1) >> 16
            limit = threshold.to(tl.uint32) + (dither < above.to(tl.uint32)).to(tl.uint32)
            word = tl.where(within < 4, left, right)
            byte = (word >> ((within & 3) * 8).to(tl.uint32)) & 0xFF
            out = tl.where(byte >= limit, out * scale, 0.0)
        if WHOLE:
            tl.store(y + start + columns, out.to(y.dtype.element_ty))
        else:
            tl.store(y + start + columns, out.to(y.dtype.element_ty), mask=inside)


def norm_dropout_relu(x: Any, weight: Any, bias: Any, p: float = 0.1, seed: int = 0, eps: float = 1e-5) -> Any:
    """relu(dropout(layer_norm(x), p)) over the last axis, dropped as the seed says; p = 0 keeps all."""
    if not 0 <= p < 1:
        raise ValueError(f"p is {p}; give the share to drop, from 0 to below 1")
    n = x.shape[-1]
    rows = x.numel() // n
    x, y = x.contiguous(), torch.empty_like(x, memory_format=torch.contiguous_format)
    groups = triton.next_power_of_2(triton.cdiv(n, GROUP))
    level = p * LEVELS
    kernel[(min(rows, PROGRAMS * processors(x.device)),)](
        x, weight, bias, y, rows, n, eps, seed, int(level), round((level - int(level)) * PARTS), 1.0 / (1.0 - p),
        GROUPS=groups, EACH=GROUP, WHOLE=groups * GROUP == n, DROP=p > 0, ROUNDS=ROUNDS, STAGES=STAGES,
        num_warps=max(1, min(8, groups // 256)),
    )  # fmt: skip
    return y


def processors(device: Any) -> int:
    """Multiprocessors of the device; one where Triton's interpreter stands in for it."""
    return int(torch.cuda.get_device_properties(device).multi_processor_count) if device.type == "cuda" else 1
