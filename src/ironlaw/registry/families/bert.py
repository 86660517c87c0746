"""BERT: word, position and (if any) token-type embeddings, encoder layers that normalise after each part, and (if any) a
pooler on the first token. DistilBERT is the same with neither token types nor pooler."""

from __future__ import annotations

from ironlaw.engine.arrays import Number
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.registry.families.family_build import Builder, check_positions, view
from ironlaw.registry.families.transformer import feed_forward, self_attention


def build(
    *,
    vocab: int,
    positions: int,
    token_types: int,
    layers: int,
    hidden: int,
    heads: int,
    ffn: int,
    pooler: bool,
    batch: Number = 1,
    seq: Number = 128,
    dtype: str = "fp16",
) -> Graph:
    b = Builder("bert", dtype, layers=layers, hidden=hidden, heads=heads, batch=batch, seq=seq)
    check_positions("bert", "seq", seq, positions)
    words = b.input("input_ids", batch, seq, dtype="int64")
    x = b.layer_norm("embeddings.norm", _embeddings(b, words, vocab, positions, token_types, hidden))
    for i in range(layers):
        name = f"layer.{i}"
        x = b.layer_norm(f"{name}.norm1", b.emit("add", f"{name}.add1", self_attention(b, f"{name}.attn", x, heads), x))
        x = b.layer_norm(f"{name}.norm2", b.emit("add", f"{name}.add2", feed_forward(b, f"{name}.mlp", x, ffn), x))
    outputs = [x]
    if pooler:
        outputs.append(b.emit("tanh", "pooler.tanh", b.linear("pooler.dense", view(x, batch, hidden), hidden)))
    return b.graph(outputs, batch=batch, seq=seq, dtype=dtype, wholes={"position_ids": (1, positions)})


def _embeddings(b: Builder, words: Tensor, vocab: int, positions: int, token_types: int, hidden: int) -> Tensor:
    batch, seq = words.shape
    order = view(b.buffer("position_ids", 1, positions, dtype="int64"), 1, seq)
    place = b.weight("embeddings.position.weight", positions, hidden)
    if not token_types:
        x = b.embedding("embeddings.word", b.weight("embeddings.word.weight", vocab, hidden), words)
        return b.emit("add", "embeddings.add_position", x, b.embedding("embeddings.position", place, order))
    zeros = b.buffer("token_type_ids", 1, positions, dtype="int64")
    types = b.emit("gather", "embeddings.token_type_ids", zeros, order, shape=(1, seq))
    x = b.embedding("embeddings.word", b.weight("embeddings.word.weight", vocab, hidden), words)
    kind = b.embedding("embeddings.token_type", b.weight("embeddings.token_type.weight", token_types, hidden), types, batch)
    x = b.emit("add", "embeddings.add_token_type", x, kind)
    return b.emit("add", "embeddings.add_position", x, b.embedding("embeddings.position", place, order))
