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
    """The name of an op; for a fused one its part, `input norm`, or the parts it begins and ends in, `output projection → second norm`."""
    pieces = short(name).split(" … ")
    return _step(pieces[0]) if len(pieces) == 1 else " → ".join(dict.fromkeys(_part(piece) for piece in pieces))


def _part(name: str) -> str:
    part = name.partition(".")[0]
    return PARTS.get(part, part.replace("_", " "))


def _step(name: str) -> str:
    step = name.partition(".")[2]
    return f"{_part(name)}, {STEPS.get(step, step.replace('_', ' '))}" if step else _part(name)
