"""A model as Megatron-LM's pretrain_gpt.py takes it: its own options for the sizes and the parts of a block."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import TypeVar

from ironlaw.engine.cluster.shapes import Shape
from ironlaw.engine.decoders.parts import Block, Experts, Gate, Norm, Part, Product, Scores, State

P = TypeVar("P")
GROUPED = "--moe-grouped-gemm --moe-token-dispatcher-type alltoall"


def model_options(shape: Shape) -> tuple[str, ...]:
    """Empty where pretrain_gpt.py has no options for such blocks (`lacks`)."""
    if lacks(shape):
        return ()
    return _mixed(shape) if shape.blocks else _plain(shape)


def lacks(shape: Shape) -> str:
    """What a block has that no option of pretrain_gpt.py makes, in words; empty where nothing is missing."""
    parts, blocks = _parts(shape), [block for block, _ in shape.blocks.kinds] if shape.blocks else []
    heads = {(one.heads, one.kv_heads, one.key, one.value) for one in parts if isinstance(one, Scores)}
    for missing, so in (
        ("blocks with a state instead of attention", any(isinstance(one, State) for one in parts)),
        ("blocks that are attention or a feed-forward alone", any(not _of(block, Scores) for block in blocks)),
        ("layers whose heads differ", len(heads) > 1),
        ("more than two norms of hidden width in a block", any(_norms(shape, block) > 2 for block in blocks)),
        ("attention and feed-forward side by side behind one norm", any(_norms(shape, block) == 1 for block in blocks)),
    ):
        if so:
            return missing
    return ""


def _plain(shape: Shape) -> tuple[str, ...]:
    gated = "--swiglu --normalization RMSNorm --disable-bias-linear --position-embedding-type rope" if shape.gated else ""
    return (
        *_sizes(shape, shape.ffn), gated, "--add-qkv-bias" if shape.qkv_bias else "", "--qk-layernorm" if shape.qk_norm else "",
        f"--num-experts {shape.experts} --moe-router-topk {shape.top_k} {GROUPED}" if shape.experts else "", _ends(shape),
    )  # fmt: skip


def _mixed(shape: Shape) -> tuple[str, ...]:
    parts = _parts(shape)
    norm = next((one for one in parts if isinstance(one, Norm) and one.width == shape.hidden), None)
    products = {one.name: one for one in parts if isinstance(one, Product)}
    dense = max((one.width for block in _blocks(shape) if not _of(block, Experts) for one in _of(block, Gate)), default=shape.ffn)
    gated = any(one.halves for one in parts if isinstance(one, Gate)) or any(one.gated for one in parts if isinstance(one, Experts))
    scores = _of(parts, Scores)
    turned = "rope" if any(one.rotary for one in scores) else "none" if not shape.positions else "learned_absolute"
    biased = products["o_proj"].bias
    return (
        *_sizes(shape, dense, latent=bool(scores[0].latent)), "--swiglu" if gated else "",
        "--normalization RMSNorm" if norm and norm.vectors == 1 else "",
        "" if biased else "--disable-bias-linear",
        "--add-qkv-bias" if not biased and "qkv_proj" in products and products["qkv_proj"].bias else "",
        f"--position-embedding-type {turned}", *_latent(scores[0], products),
        "--qk-layernorm" if any(one.width != shape.hidden for one in parts if isinstance(one, Norm)) else "",
        *_windows(shape), *_experts(shape), _ends(shape),
    )  # fmt: skip


def _sizes(shape: Shape, ffn: int, latent: bool = False) -> tuple[str, ...]:
    alone = latent or shape.kv_heads == shape.heads
    wide = not latent and shape.width != shape.hidden
    return (
        f"--num-layers {shape.layers} --hidden-size {shape.hidden} --ffn-hidden-size {ffn}", f"--num-attention-heads {shape.heads}",
        "" if alone else f"--group-query-attention --num-query-groups {shape.kv_heads}", f"--kv-channels {shape.head_dim}" if wide else "",
    )  # fmt: skip


def _latent(one: Scores, products: dict[str, Product]) -> tuple[str, ...]:
    if not one.latent:
        return ()
    rank = products["kv_b_proj"].into
    turned = one.latent - rank
    query = f"--q-lora-rank {products['q_a_proj'].out}" if "q_a_proj" in products else ""
    return (
        "--multi-latent-attention", query, f"--kv-lora-rank {rank} --qk-head-dim {one.key - turned} --qk-pos-emb-head-dim {turned}",
        f"--v-head-dim {one.value}",
    )  # fmt: skip


def _windows(shape: Shape) -> tuple[str, ...]:
    seen = [max((one.window for one in _of(block, Scores)), default=0) for block in _blocks(shape)]
    order = shape.blocks.order if shape.blocks else ()
    if not any(seen):
        return ()
    pattern = "" if all(seen) else f'--window-attn-skip-freq "{_pattern(bool(seen[i]) for i in order)}"'
    return f"--window-size {max(seen)},0", pattern


def _experts(shape: Shape) -> tuple[str, ...]:
    if not shape.experts or not shape.blocks:
        return ()
    first, sparse = next((one, block) for block in _blocks(shape) for one in _of(block, Experts))
    shared = sum(one.width for one in _of(sparse, Gate))
    where = [bool(_of(block, Experts)) for block in _blocks(shape)]
    return (
        f"--num-experts {first.count} --moe-router-topk {first.active} --moe-ffn-hidden-size {first.ffn}",
        f"--moe-shared-expert-intermediate-size {shared}" if shared else "",
        "" if all(where) else f'--moe-layer-freq "{_pattern(where[i] for i in shape.blocks.order)}"', GROUPED,
    )  # fmt: skip


def _pattern(layers: Iterable[bool]) -> str:
    """`[0]*3+[1]*58`, `[1,0]*18`: a list in Python's words, of whether each layer is so."""
    each = [int(one) for one in layers]
    period = next(n for n in range(1, len(each) + 1) if len(each) % n == 0 and each == each[:n] * (len(each) // n))
    if period <= len(each) // 2:
        return f"[{','.join(map(str, each[:period]))}]*{len(each) // period}"
    return "+".join(f"[{value}]*{len(list(group))}" for value, group in groupby(each))


def _ends(shape: Shape) -> str:
    return "" if shape.tied else "--untie-embeddings-and-output-weights"


def _blocks(shape: Shape) -> list[Block]:
    return [block for block, _ in shape.blocks.kinds] if shape.blocks else []


def _parts(shape: Shape) -> tuple[Part, ...]:
    return tuple(part for block in _blocks(shape) for part in block)


def _of(parts: Iterable[Part], kind: type[P]) -> list[P]:
    return [part for part in parts if isinstance(part, kind)]


def _norms(shape: Shape, block: Block) -> int:
    return sum(1 for one in _of(block, Norm) if one.width == shape.hidden and one.rows == 1)
