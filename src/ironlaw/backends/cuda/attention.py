"""What PyTorch launches on a CUDA device for attention: cuDNN's tiled kernel, or matrix products where that is not available.

A tiled kernel works on whole tiles: 128 queries by 128 keys, heads padded to 64, 128 or 256. Beside the two products an
exponential is taken for each score; on a multiprocessor of Hopper one takes as long as 256 FLOPs of its tensor cores
(`chip.exponential_flops`), so a head of 64 runs at half the arithmetic rate and one of 128 at two thirds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ironlaw.backends.cuda.chip import exponential_flops, processors
from ironlaw.backends.cuda.evidence import named, single
from ironlaw.backends.cuda.gemm import bmm_curve, fp32, gemm_curve
from ironlaw.backends.cuda.norm import softmax_kernels
from ironlaw.backends.evidence_ops import OPS
from ironlaw.backends.kernel import Kernel, Sample, multiple, padded
from ironlaw.backends.rows import Row
from ironlaw.engine.arrays import Number, is_array, minimum, where
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.types import FORMATS, Op, Tensor

TILE = 128  # queries, and keys, that a tiled kernel takes at a time


def head_width(d: Number) -> Number:
    """A head's size as the tiled kernels hold it."""
    return where(d <= 64, 64.0, where(d <= 128, 128.0, padded(d, 256)))


def attention(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """A tiled kernel skips what a causal mask hides; a mask tensor is read by each head, slowly where its rows are odd."""
    q, k = op.inputs[0], op.inputs[1]
    if op.attrs.get("impl", "flash") == "naive":
        return naive(op, machine)
    if op.attrs.get("path") == "math":
        return math_fallback(op, machine)
    if op.dtype == "fp32":  # no tensor-core kernel takes it: one that holds its tiles in registers does, masks and all
        return (tiled("attention_fp32", q, k, op.work.bytes, machine, bool(op.attrs.get("causal"))),)
    if not is_array(q.shape[-2]) and q.shape[-2] == 1:
        return (Kernel("attention_decode", op.work.bytes, op.work.matmul_flops, q.shape[0] * q.shape[1]), Kernel("tiny", 0.0))
    if len(op.inputs) > 3:
        return (masked(q, k, op.work.bytes, machine), Kernel("tiny", 0.0))
    return (tiled("attention", q, k, op.work.bytes, machine, bool(op.attrs.get("causal"))), Kernel("tiny", 0.0))


def tiled(curve: str, q: Tensor, k: Tensor, data: Number, machine: Hardware, causal: bool = False, products: float = 2.0) -> Kernel:
    """Tiles of queries go to the multiprocessors wave by wave, and a wave takes as long as one tile with all its keys. A causal
    mask spares what lies above the diagonal, but the tiles that see all keys come last, and the others wait for them.
    """
    tiles, keys = padded(q.shape[-2], TILE) / TILE, padded(k.shape[-2], TILE)
    blocks = q.shape[0] * q.shape[1] * tiles
    chip = int(processors(machine))
    waves = padded(blocks, chip) / chip
    if causal:
        waves = minimum(waves, 1.0 + blocks / chip * (tiles + 1) / (2 * tiles))
    flops = waves * chip * TILE * keys * (2.0 * products * head_width(q.shape[-1]) + exponential_flops(machine))
    return Kernel(curve, data, flops, depth=keys)


def masked(q: Tensor, k: Tensor, data: Number, machine: Hardware) -> Kernel:
    return tiled("attention_masked" if multiple(k.shape[-2], 2) else "attention_masked_odd", q, k, data, machine)


def naive(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """The parts of attention, with the scores stored in memory."""
    q, k = op.inputs[0], op.inputs[1]
    scores = q.size / q.shape[-1] * k.shape[-2] * FORMATS[q.dtype]
    heads, each = q.shape[0] * q.shape[1], op.work.matmul_flops / 2
    name = gemm_curve(q.dtype, (q.shape[-1], k.shape[-2]))
    return (
        Kernel(name, q.bytes + k.bytes + scores, each, depth=q.shape[-1]),
        *softmax_kernels(2 * scores, 5 * scores / FORMATS[q.dtype], heads * q.shape[-2], k.shape[-2], FORMATS[q.dtype]),
        Kernel(name, q.bytes + k.bytes + scores, each, depth=k.shape[-2]),
    )


def products_in_fp32(
    q: Tensor, k: Tensor, scored: Number, mixed: Number, flops: Number, machine: Hardware
) -> tuple[Sequence[Kernel], Sequence[Kernel]]:
    """Queries by keys, and scores by values; `scored` and `mixed`: the bytes that each moves."""
    heads, queries, keys, d = q.shape[0] * q.shape[1], q.shape[-2], k.shape[-2], q.shape[-1]
    name = bmm_curve("fp32", (d, keys))
    first = fp32(Kernel(name, scored, flops, depth=d), (queries, keys, d), heads, machine)
    return first, fp32(Kernel(name, mixed, flops, depth=keys), (queries, d, keys), heads, machine)


def math_fallback(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """Where no fused kernel takes the operands (a mask whose last axis is not contiguous): all in FP32. q, k and v are
    widened and, with more than one sequence, copied; q and k scaled; the mask is added to the scores; `_safe_softmax` looks
    for rows that are all minus infinity; probabilities and result are narrowed again.
    """
    q, k, v = op.inputs[:3]
    size = FORMATS[q.dtype]
    heads = q.shape[0] * q.shape[1]
    scores = heads * q.shape[-2] * k.shape[-2]
    copies = where(q.shape[0] > 1, 1.0, 0.0)
    each = op.work.matmul_flops / 2
    first, second = products_in_fp32(q, k, 4.0 * (q.size + k.size + scores), 4.0 * (q.size + v.size + scores), each, machine)
    return (
        *(Kernel("cast_up", t.size * (4.0 + size), rows=t.size) for t in (q, k, v)), *(Kernel("scale", 8.0 * t.size) for t in (q, k)),
        *(Kernel("strided", 8.0 * t.size, rows=t.size, count=copies) for t in (q, k, v)),
        *first,
        Kernel("strided", scores * (8.0 + size), rows=scores, count=1.0 if len(op.inputs) > 3 else 0.0),
        *softmax_kernels(8.0 * scores, 5.0 * scores, heads * q.shape[-2], k.shape[-2], FORMATS["fp32"]), Kernel("compare", 5.0 * scores),
        Kernel("amax", 1.0 * scores, rows=heads * q.shape[-2]), Kernel("tiny", 0.0), Kernel("select", 8.0 * scores),
        *second,
        Kernel("cast", scores * (4.0 + size)), Kernel("cast", q.size * (4.0 + size)),
    )  # fmt: skip


def attention_compiled(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """As models come out of torch.compile: a causal mask is passed as a tensor, so nothing is skipped, and shared keys and
    values are written out once per query head. A bidirectional mask of transformers is one column, expanded: it is not
    contiguous, so Inductor gets the fallback above and fuses all but the FP32 products. Where the model was given a mask of
    padding, it is written out, one for all heads.
    """
    q, k = op.inputs[0], op.inputs[1]
    if op.attrs.get("impl", "flash") == "naive":
        return naive(op, machine)
    wide = k.size * (q.shape[1] / k.shape[1]) * FORMATS[k.dtype]
    if op.attrs.get("mask") == "bidirectional" or op.attrs.get("path") == "math":
        scores = q.size / q.shape[-1] * k.shape[-2] * 4.0
        heads = q.shape[0] * q.shape[1]
        moved = 2 * q.bytes + 2 * wide + scores
        first, second = products_in_fp32(q, k, moved, moved, op.work.matmul_flops / 2, machine)
        return (
            Kernel("fused", 3 * q.bytes, count=2.0), Kernel("fused", 3 * wide, count=2.0),
            *first,
            Kernel("fused_rows", 2 * scores, 5 * scores / 4, heads * q.shape[-2]),
            *second,
        )  # fmt: skip
    spread = (Kernel("fused", k.bytes + wide, count=2.0 if q.shape[1] != k.shape[1] else 0.0),)
    if op.attrs.get("causal") or op.attrs.get("mask") == "padding":
        mask = q.shape[-2] * k.shape[-2] * FORMATS[q.dtype]
        return (masked(q, k, 2 * q.bytes + 2 * wide + mask, machine), Kernel("tiny", 0.0), *spread)
    return attention(op, machine)


def attention_backward(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """The sum of gradient × output per row, the tiled kernel, and the gradient of q, which it sums in FP32, narrowed."""
    q, k = op.inputs[1], op.inputs[2]
    main = tiled("attention_backward", q, k, op.work.bytes, machine, bool(op.attrs.get("causal")), products=5.0)
    return (
        Kernel("attention_dot", 2 * q.bytes), main,
        Kernel("attention_dq", q.bytes + 4.0 * q.size), Kernel("tiny", 0.0),
    )  # fmt: skip


def masked_samples(row: Row, machine: Hardware) -> Iterator[Sample]:
    """The longest kernel; the others bring the mask into shape."""
    if row.busy_s:
        heavy = [k for k in attention_compiled(OPS[row.op](row.params), machine) if single(k)]
        yield Sample(heavy[0], max(k.seconds for k in row.kernel_times))


EAGER = {"attention": attention, "attention_backward": attention_backward}
COMPILED = {"attention": attention_compiled}
ROWS = {
    "sdpa_masked": masked_samples,
    "sdpa_backward": named(attention_backward, {"bprop": "attention_backward", "dot_do_o": "attention_dot", "convert_dq": "attention_dq"}),
}
FALLBACK = {
    "attention_decode": "attention", "attention_masked": "attention", "attention_masked_odd": "attention_masked",
    "attention_backward": "attention", "attention_dot": "fused_rows", "attention_dq": "cast", "attention_fp32": "attention",
}  # fmt: skip
