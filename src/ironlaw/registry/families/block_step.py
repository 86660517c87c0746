"""One step of a serving engine through a decoder of any blocks: what `served` does for a Llama, part by part.

Latent attention decodes in the compressed space: a token reads its kept numbers once for all heads, and the product that makes keys and
values is absorbed into queries and outputs at the same cost. A state is read and written once per sequence.
"""

from __future__ import annotations

from ironlaw.engine.decoders.parts import Block, Experts, Gate, Norm, Product, Scores, State, kinds
from ironlaw.engine.device.deployment import serving
from ironlaw.engine.device.narrow_products import narrow_products
from ironlaw.engine.device.types import Graph, Op, Tensor
from ironlaw.engine.device.work import op as make_op
from ironlaw.engine.serving.llm.decoder import Decoder
from ironlaw.registry.families.family_build import Builder, view
from ironlaw.registry.families.moe_family import served_mixture

Sizes = tuple[int, int, int, int]  # batch, context, chunk, past
SCAN = 4  # tensors of inner width that a scan over a prompt reads and writes


def block_step(
    model: Decoder, sizes: Sizes, *, dtype: str, weights: str = "", cache: str = "", layers: int = 0, products: str = ""
) -> Graph:
    """`layers`: one of each kind only, as `kind_counts` counts them; 0 for all."""
    batch, _, chunk, _ = sizes
    tokens = batch + chunk
    b = Builder("served", dtype)
    words = b.weight("embed_tokens.weight", model.vocab, model.hidden)
    stream = b.embedding("embed_tokens", words, b.input("input_ids", tokens, dtype="int64"))
    for i, part in enumerate(model.before):
        stream = _flat(b, f"opening.{i}", part, stream, tokens)
    chosen = tuple(kinds(model.blocks))[:layers] if layers else model.blocks
    for i, block in enumerate(chosen):
        stream = _block(b, f"layers.{i}", block, stream, tokens, sizes)
    for i, part in enumerate(model.after):
        stream = _flat(b, f"closing.{i}", part, stream, tokens)
    rows = batch + (1 if chunk else 0)
    logits = b.linear("lm_head", view(stream, rows, model.hidden), model.vocab, bias=False, weight=words if model.tied else None)
    graph = b.graph([logits], batch=batch, context=sizes[1], chunk=chunk, past=sizes[3], dtype=dtype)
    if weights and weights == model.stored:
        return narrow_products(serving(stored_as(graph, weights, model.stored_experts), "", cache), products, model.scaled)
    return narrow_products(serving(graph, weights, cache), products, model.scaled)


def kind_counts(model: Decoder) -> tuple[int, ...]:
    return tuple(kinds(model.blocks).values())


def stored_as(graph: Graph, weights: str, experts: bool) -> Graph:
    """The layers' matrices in a quantised checkpoint's format, embedding and head as they are; `experts`: the experts' alone."""
    return Graph(graph.name, tuple(_stored(op, weights, experts) for op in graph.ops), graph.dtype, graph.settings, graph.outputs)


def _stored(op: Op, weights: str, experts: bool) -> Op:
    if not op.name.startswith("layers.") or op.kind not in ("linear", "grouped_matmul") or (experts and op.kind == "linear"):
        return op
    inputs = tuple(Tensor(t.name, t.shape, weights, t.role) if t.role == "weight" and len(t.shape) > 1 else t for t in op.inputs)
    return make_op(op.kind, op.name, inputs, op.outputs, **{**op.attrs, "dtype": op.dtype})


def _block(b: Builder, name: str, block: Block, stream: Tensor, tokens: int, sizes: Sizes) -> Tensor:
    """The residual stream with what the block adds; its last product's output stands for the sum that the next norm takes with it."""
    x, started = stream, False
    for i, part in enumerate(block):
        here = f"{name}.{i}"
        if isinstance(part, Scores):
            x = _scores(b, here, part, x, sizes)
        elif isinstance(part, State):
            x = _state(b, here, part, x, sizes)
        elif isinstance(part, Experts):
            x = served_mixture(b, f"{here}.experts", view(x, tokens, part.hidden), part.count, part.active, part.ffn, part.gated)
        elif isinstance(part, Norm) and part.rows == 1 and part.width == stream.shape[-1]:
            total = Tensor(f"{here}.residual", stream.shape, stream.dtype)
            given = (stream, x) if started else (stream,)
            x = b.emit("rms_norm", here, *given, b.weight(f"{here}.weight", part.width), also=(total,) if started else ())
        else:
            x = _flat(b, here, part, x, tokens)
        started = started or isinstance(part, Product | Experts)
    return view(x, *stream.shape) if x.size == stream.size else stream


def _flat(b: Builder, name: str, part: object, x: Tensor, tokens: int) -> Tensor:
    if isinstance(part, Product):
        return b.linear(f"{name}.{part.name}", view(x, tokens, part.into), part.out, bias=part.bias)
    if isinstance(part, Gate):
        return b.emit("mul", f"{name}.act", view(x, tokens, (2 if part.halves else 1) * part.width), shape=(tokens, part.width))
    if isinstance(part, Norm):
        gain = b.weight(f"{name}.weight", part.width)
        b.emit("rms_norm", f"{name}.norm", view(x, tokens, part.rows, part.width), gain, inplace=True)
    return x


def _scores(b: Builder, name: str, s: Scores, x: Tensor, sizes: Sizes) -> Tensor:
    batch, context, chunk, past = sizes
    tokens = batch + chunk
    if s.rotary:
        turned = (s.heads + s.kv_heads) * s.key
        b.emit("mul", f"{name}.rotary", view(x, tokens, turned), b.input("rotary", tokens, s.key))
    if s.token_numbers:
        b.emit("copy", f"{name}.write_cache", view(x, tokens, s.token_numbers))
    last = x
    if batch:
        seen = int(s.seen(context + 1))
        if s.latent:  # one vector is key and value at once: half of it each, for twice the heads
            half = -(-s.latent // 2)
            keys, values = (b.cache(f"{name}.cache_{part}", batch, 1, seen, half) for part in "kv")
            last = b.attention(f"{name}.decode", view(x, batch, 2 * s.heads, 1, half), keys, values, causal=False)
        else:
            keys = b.cache(f"{name}.cache_k", batch, s.kv_heads, seen, s.key)
            values = b.cache(f"{name}.cache_v", batch, s.kv_heads, seen, s.value)
            last = b.attention(f"{name}.decode", view(x, batch, s.heads, 1, s.key), keys, values, causal=False)
    if chunk:
        whole = past + -(-chunk // 2) if past else chunk
        seen = int(s.seen(whole))
        keys = b.cache(f"{name}.prompt_k", 1, s.kv_heads, seen, s.key)
        values = b.cache(f"{name}.prompt_v", 1, s.kv_heads, seen, s.value)
        last = b.attention(f"{name}.chunk", view(x, 1, s.heads, chunk, s.key), keys, values, causal=not past and seen == chunk)
    return view(last, tokens, s.heads * s.value)


def _state(b: Builder, name: str, s: State, x: Tensor, sizes: Sizes) -> Tensor:
    batch, _, chunk, _ = sizes
    if batch:
        b.emit("mul", f"{name}.decode", b.cache(f"{name}.state", batch, s.numbers))
    if chunk:
        b.emit("mul", f"{name}.chunk", view(x, chunk, SCAN * s.inner))
    return view(x, batch + chunk, s.inner)
