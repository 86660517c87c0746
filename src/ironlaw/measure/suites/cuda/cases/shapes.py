"""How a case is written down: an op and its params, as rows of evidence name them."""

from __future__ import annotations

from typing import Any

OpSpec = tuple[str, dict[str, Any]]  # an op and its params


def conv(n: int, shape: tuple[int, ...], layout: str, dtype: str = "fp16", bias: int = 0) -> OpSpec:
    """One convolution; shape is (c, h, w, out, kh, kw, stride, ph, pw, groups)."""
    names = ("c", "h", "w", "out", "kh", "kw", "stride", "ph", "pw", "groups")
    return "conv2d", {"n": n, **dict(zip(names, shape, strict=True)), "dilation": 1, "bias": bias, "layout": layout, "dtype": dtype}


def square(c: int, h: int, out: int, k: int, stride: int, pad: int, groups: int = 1) -> tuple[int, ...]:
    return c, h, h, out, k, k, stride, pad, pad, groups


def linear(m: int, n: int, k: int, bias: int, dtype: str) -> OpSpec:
    return "linear", dict(m=m, n=n, k=k, bias=bias, dtype=dtype)


def planes(n: int, c: int, h: int, **more: Any) -> dict[str, Any]:
    return {"n": n, "c": c, "h": h, "w": h, **more, "dtype": "fp16"}


def sdpa(b: int, h: int, sq: int, sk: int, d: int, causal: int = 0, op: str = "sdpa", **more: int) -> OpSpec:
    return op, {"b": b, "h": h, "hkv": h, "sq": sq, "sk": sk, "d": d, "causal": causal, **more, "dtype": "fp16"}
