"""The usual halves of a block, from their sizes."""

from __future__ import annotations

from ironlaw.engine.decoders.parts import Block, Experts, Gate, Norm, Part, Product, Scores, State, Vector


def attention(
    hidden: int, heads: int, kv_heads: int, head_dim: int, *, value_dim: int = 0, window: int = 0, bias: bool = False,
    out_bias: bool = False, qk_norm: str = "", norm_vectors: int = 1, gate: int = 0, rotary: bool = True, kept: bool = True,
    sinks: bool = False,
) -> Block:  # fmt: skip
    """Grouped-query attention. `qk_norm`: "head" or "full"; `gate`: further columns that the queries' product makes."""
    value = value_dim or head_dim
    own = kv_heads * (head_dim + value) if kept else 0
    parts: list[Part] = [Product("qkv_proj", hidden, heads * head_dim + own + gate, bias)]
    if qk_norm == "head":
        parts.append(Norm(head_dim, norm_vectors, heads, "out"))
        parts += [Norm(head_dim, norm_vectors, kv_heads, "out")] if kept else []
    elif qk_norm:
        parts += [Norm(heads * head_dim, norm_vectors, 1, "out"), Norm(kv_heads * head_dim, norm_vectors, 1, "out")]
    if sinks:
        parts.append(Vector(heads))
    parts += [
        Scores(heads, kv_heads, head_dim, value, window, 0, kept, rotary), Product("o_proj", heads * value, hidden, out_bias, "in"),
    ]  # fmt: skip
    return tuple(parts)


def latent(
    hidden: int, heads: int, *, q_rank: int, kv_rank: int, nope: int, rope: int, value: int, bias: bool = False, gate: int = 0,
    query_norm: bool = True, window: int = 0,
) -> Block:  # fmt: skip
    """Latent attention (DeepSeek-V2, 2.1): keys and values of all heads are made from `kv_rank` numbers of a token."""
    wide = heads * (nope + rope)
    if q_rank:
        query: Block = (
            Product("q_a_proj", hidden, q_rank, bias, ""), *((Norm(q_rank),) if query_norm else ()),
            Product("q_b_proj", q_rank, wide + gate),
        )  # fmt: skip
    else:
        query = (Product("q_proj", hidden, wide + gate),)
    return (
        *query, Product("kv_a_proj", hidden, kv_rank + rope, bias, ""), Norm(kv_rank),
        Product("kv_b_proj", kv_rank, heads * (nope + value)), Scores(heads, heads, nope + rope, value, window, kv_rank + rope),
        Product("o_proj", heads * value, hidden, bias, "in"),
    )  # fmt: skip


def feed_forward(hidden: int, ffn: int, *, gated: bool = True, bias: bool = False, name: str = "") -> Block:
    """SwiGLU and its like with `gated`, else two matrices and an activation."""
    return (
        Product(f"{name}gate_up_proj" if gated else f"{name}up_proj", hidden, 2 * ffn if gated else ffn, bias), Gate(ffn, gated),
        Product(f"{name}down_proj", ffn, hidden, bias, "in"),
    )  # fmt: skip


def experts(
    hidden: int, count: int, top_k: int, ffn: int, *, shared: int = 0, gated: bool = True, biases: bool = False, router: int = 0,
    shared_gate: bool = False, shared_gated: bool = True,
) -> Block:  # fmt: skip
    """`shared`: columns of the feed-forward that every token takes beside its experts."""
    parts: Block = (Experts(hidden, count, top_k, ffn, gated, biases, router),)
    if shared:
        parts += feed_forward(hidden, shared, gated=shared_gated, name="shared_")
    if shared_gate:
        parts += (Product("shared_gate", hidden, 1, split=""),)
    return parts


def mamba1(hidden: int, inner: int, state: int, conv: int, rank: int, *, conv_bias: bool, bias: bool, norms: bool = False) -> Block:
    """A selective state space (Mamba); `norms`: on the step, B and C, as Jamba has them."""
    vectors = inner * conv + (inner if conv_bias else 0) + inner * state + inner
    return (
        Product("in_proj", hidden, 2 * inner, bias), Product("x_proj", inner, rank + 2 * state, split="in"),
        Product("dt_proj", rank, inner, True),
        *((Norm(rank), Norm(state), Norm(state)) if norms else ()),
        State(inner * (state + conv - 1), inner, 6 * inner * state + 2 * inner * conv, vectors),
        Product("out_proj", inner, hidden, bias, "in"),
    )  # fmt: skip


def mamba2(
    hidden: int, inner: int, heads: int, state: int, groups: int, conv: int, *, conv_bias: bool, bias: bool, norm: bool = True,
) -> Block:  # fmt: skip
    """A state space with one decay per head (Mamba-2)."""
    width = inner + 2 * groups * state
    vectors = width * conv + (width if conv_bias else 0) + 3 * heads
    return (
        Product("in_proj", hidden, inner + width + heads, bias),
        State(inner * state + width * (conv - 1), inner, 6 * inner * state, vectors),
        *((Norm(inner, split="out"),) if norm else ()), Product("out_proj", inner, hidden, bias, "in"),
    )  # fmt: skip


def delta(
    hidden: int, key_heads: int, value_heads: int, key: int, value: int, conv: int, *, small: int = 2,
) -> Block:  # fmt: skip
    """A gated delta rule (Qwen3-Next): `small` numbers of a token for each value head (step and decay)."""
    keys, values = key_heads * key, value_heads * value
    width = 2 * keys + values
    return (
        Product("in_proj_qkvz", hidden, width + values), Product("in_proj_ba", hidden, small * value_heads),
        State(value_heads * key * value + width * (conv - 1), values, 8 * value_heads * key * value, width * conv + 2 * value_heads),
        Norm(value, 1, value_heads, "out"), Product("out_proj", values, hidden, split="in"),
    )  # fmt: skip
