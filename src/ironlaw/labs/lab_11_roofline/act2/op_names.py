"""The names of a layer's ops, to read: `attn.o_proj` -> `output projection`, `input_norm.rsqrt` -> `input norm, reciprocal root`."""

from __future__ import annotations

from ironlaw.labs.lab_11_roofline.act2.layer import short

PARTS = {
    "input_norm": "input norm", "post_norm": "second norm", "q_proj": "query projection", "k_proj": "key projection",
    "v_proj": "value projection", "o_proj": "output projection", "gate_proj": "gate projection", "up_proj": "up projection",
    "down_proj": "down projection", "sdpa": "attention", "rotary_q": "rotary, query", "rotary_k": "rotary, key",
    "append_k": "keys to the cache", "append_v": "values to the cache", "silu": "SiLU", "mul": "gate × up", "add": "residual add",
}  # fmt: skip
STEPS = {
    "to_fp32": "to FP32", "from_fp32": "from FP32", "add_eps": "add epsilon", "rsqrt": "reciprocal root", "mul_cos": "× cosine",
    "mul_sin": "× sine", "neg": "negate", "cat": "join", "normalise": "scale", "qk_softmax": "softmax",
}  # fmt: skip


def plain(name: str) -> str:
    """Of an op, or of the first and the last op of a fused one."""
    return " … ".join(dict.fromkeys(_plain(piece) for piece in short(name).split(" … ")))


def _plain(name: str) -> str:
    part, _, step = name.partition(".")
    head = PARTS.get(part, part.replace("_", " "))
    return f"{head}, {STEPS.get(step, step.replace('_', ' '))}" if step else head
