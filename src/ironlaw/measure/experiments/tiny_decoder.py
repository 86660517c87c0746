"""A decoder of the Llama family in NumPy, small enough for a laptop, that counts what its products and its cache touch.

Tokens go in one after the other with a cache of keys and values, or all anew for each next token without one; both give the same
logits. Products are counted as they are called: two operations for each multiply-add, and every array that goes in or comes out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SIZES = {"vocab": 512, "layers": 2, "hidden": 128, "heads": 4, "kv_heads": 2, "head_dim": 32, "ffn": 256}
SEED = 10
THETA, EPSILON = 10_000.0, 1e-6


@dataclass
class Count:
    flops: int = 0
    bytes: int = 0

    def add(self, flops: int, *arrays: Any) -> None:
        self.flops += flops
        self.bytes += sum(array.nbytes for array in arrays)


class Cache:
    """Keys and values of every layer, [kv_heads, longest, head_dim] each, of which the first `length` are there."""

    def __init__(self, longest: int) -> None:
        import numpy as np

        shape = SIZES["layers"], 2, SIZES["kv_heads"], longest, SIZES["head_dim"]
        self.held = np.zeros(shape, np.float32)
        self.length = 0

    @property
    def bytes(self) -> int:
        """The bytes of what the cache holds."""
        return int(self.held[:, :, :, : self.length].nbytes)


class TinyDecoder:
    """`weights`: name -> matrix [out, in], the embedding [vocab, hidden], gains [hidden]."""

    def __init__(self) -> None:
        import numpy as np

        draw = np.random.default_rng(SEED)
        wide, kept = SIZES["heads"] * SIZES["head_dim"], SIZES["kv_heads"] * SIZES["head_dim"]
        shapes = {"embed": (SIZES["vocab"], SIZES["hidden"]), "head": (SIZES["vocab"], SIZES["hidden"])}
        for i in range(SIZES["layers"]):
            shapes |= {
                f"{i}.q": (wide, SIZES["hidden"]), f"{i}.k": (kept, SIZES["hidden"]), f"{i}.v": (kept, SIZES["hidden"]),
                f"{i}.o": (SIZES["hidden"], wide), f"{i}.gate": (SIZES["ffn"], SIZES["hidden"]), f"{i}.up": (SIZES["ffn"], SIZES["hidden"]),
                f"{i}.down": (SIZES["hidden"], SIZES["ffn"]),
            }  # fmt: skip
        self.weights = {name: draw.standard_normal(shape, np.float32) / np.float32(shape[1] ** 0.5) for name, shape in shapes.items()}
        self.frequencies = THETA ** -(np.arange(0, SIZES["head_dim"], 2, dtype=np.float32) / SIZES["head_dim"])
        self.count = Count()

    def logits(self, ids: list[int], cache: Cache | None = None) -> Any:
        """The logits of the token after `ids`; with a cache, after the tokens in it and `ids`."""
        import numpy as np

        past = cache.length if cache else 0
        x = self.weights["embed"][ids]
        turn = np.outer(np.arange(past, past + len(ids), dtype=np.float32), self.frequencies)
        turns = np.cos(turn), np.sin(turn)
        for i in range(SIZES["layers"]):
            x = x + self._attend(i, _normalised(x), turns, cache, past)
            y = _normalised(x)
            gate = self._linear(y, f"{i}.gate")
            x = x + self._linear(gate / (1 + np.exp(-gate)) * self._linear(y, f"{i}.up"), f"{i}.down")
        if cache:
            cache.length = past + len(ids)
        return self._linear(_normalised(x[-1:]), "head")[0]

    def generate(self, prompt: list[int], tokens: int, cached: bool) -> list[int]:
        """The likeliest next token, so many times."""
        ids, cache = list(prompt), Cache(len(prompt) + tokens) if cached else None
        new = ids
        for _ in range(tokens):
            new = [int(self.logits(new, cache).argmax())]
            ids += new
            new = new if cached else ids
        return ids[len(prompt) :]

    def _attend(self, i: int, y: Any, turns: Any, cache: Cache | None, past: int) -> Any:
        import numpy as np

        groups, width, new = SIZES["kv_heads"], SIZES["head_dim"], len(y)
        q, k, v = (self._linear(y, f"{i}.{part}").reshape(new, -1, width).swapaxes(0, 1) for part in "qkv")
        q, k = _turned(q, *turns), _turned(k, *turns)
        if cache:
            held = cache.held[i, :, :, past : past + new]
            held[0], held[1] = k, v
            self.count.add(0, k, v, held)
            k, v = cache.held[i, :, :, : past + new]
        # heads that share keys and values are rows of one product
        scores = self._product(q.reshape(groups, -1, width), k.swapaxes(1, 2)) / np.float32(width**0.5)
        if new > 1:
            scores = np.where(np.tri(new, past + new, past, dtype=bool), scores.reshape(-1, new, past + new), np.float32(-1e30))
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        scores = (scores / scores.sum(-1, keepdims=True)).reshape(groups, -1, past + new)
        out = self._product(scores, v).reshape(-1, new, width).swapaxes(0, 1).reshape(new, -1)
        return self._linear(out, f"{i}.o")

    def _linear(self, x: Any, name: str) -> Any:
        return self._product(x, self.weights[name].T)

    def _product(self, a: Any, b: Any) -> Any:
        out = a @ b
        self.count.add(2 * out.size * a.shape[-1], a, b, out)
        return out


def _normalised(x: Any) -> Any:
    """RMS norm; the gains are ones."""
    import numpy as np

    return x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(EPSILON))


def _turned(x: Any, cos: Any, sin: Any) -> Any:
    """[heads, tokens, width]: the first half of the width against the second."""
    import numpy as np

    a, b = np.split(x, 2, axis=-1)
    return np.concatenate((a * cos - b * sin, b * cos + a * sin), -1)
