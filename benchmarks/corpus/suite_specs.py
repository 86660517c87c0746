"""An op of the corpus as a case of the sweep on a GPU: (name, params); None where the sweep has no such case."""

from ironlaw.engine.device.work import traits


def spec_of(op):
    known = traits(op.kind)
    make = MAKERS.get(op.kind) or (None if known.like else UNITS.get(known.unit))
    try:
        return make(op) if make else None
    except (IndexError, TypeError, ValueError, ZeroDivisionError):
        return None


def linear(op):
    x, w = op.inputs[0], op.inputs[1]
    if len(w.shape) > 2:
        return bmm(op)
    n, k = op.outputs[0].shape[-1], x.shape[-1]
    return "linear", dict(m=round(op.outputs[0].size / n), n=n, k=k, bias=int(len(op.inputs) > 2), dtype=op.dtype)


def bmm(op):
    x, y = op.inputs[0], op.outputs[0]
    m, n = y.shape[-2:]
    return "bmm", dict(b=round(y.size / (m * n)), m=m, n=n, k=x.shape[-1], dtype=op.dtype)


def convolution(op):
    x, w, y = op.inputs[0], op.inputs[1], op.outputs[0]
    n, c, h, wide = x.shape
    kh, kw = w.shape[2:]
    stride, dilation = (pair(op.attrs.get(name, 1))[0] for name in ("stride", "dilation"))
    pads = [
        max(0, -(-((o - 1) * stride + dilation * (k - 1) + 1 - i) // 2)) for o, k, i in zip(y.shape[2:], (kh, kw), (h, wide), strict=True)
    ]
    if op.attrs.get("dims") == 3:
        return None  # frames and rows are one number here
    if op.attrs.get("dims") == 1 and dilation == 1:
        step = pair(op.attrs.get("stride", 1))[-1]
        return "conv1d", dict(
            n=n, c=c, length=wide, out=y.shape[1], k=kw, stride=step, pad=max(0, -(-((y.shape[3] - 1) * step + kw - wide) // 2)),
            groups=round(c / w.shape[1]), dtype=op.dtype,
        )  # fmt: skip
    layout = "nhwc" if op.attrs.get("layout") == "nhwc" else "nchw"
    return "conv2d", dict(
        n=n, c=c, h=h, w=wide, out=y.shape[1], kh=kh, kw=kw, stride=stride, ph=pads[0], pw=pads[1], groups=round(c / w.shape[1]),
        dilation=dilation, bias=int(len(op.inputs) > 2), layout=layout, dtype=op.dtype,
    )  # fmt: skip


def pair(value):
    return (value, value) if isinstance(value, (int, float)) else tuple(value)


def attention(op):
    q, k = op.inputs[0], op.inputs[1]
    b, h, sq, d = q.shape
    mask = {"mask": 1, "heads": op.inputs[3].shape[1] if len(op.inputs[3].shape) == 4 else 1} if len(op.inputs) > 3 else {}
    return "sdpa", dict(
        b=b, h=h, hkv=k.shape[1], sq=sq, sk=k.shape[2], d=d, causal=int(bool(op.attrs.get("causal"))), **mask, dtype=op.dtype
    )


def rows(op):
    x = op.inputs[0]
    row = op.attrs.get("row", x.shape[-1])
    return op.kind, dict(rows=round(x.size / row), cols=int(row), dtype=op.dtype)


def planes(op):
    n, c, h, w = op.inputs[0].shape
    groups = {"groups": int(op.attrs["groups"])} if "groups" in op.attrs else {}
    return op.kind, dict(n=n, c=c, h=h, w=w, **groups, dtype=op.dtype)


FLAT = {
    "add": "add", "mul": "mul", "relu": "relu", "gelu": "gelu", "gelu_tanh": "gelu_tanh", "silu": "silu", "tanh": "tanh",
    "sigmoid": "sigmoid", "power": "pow2", "neg": "neg", "scale": "mul_scalar", "shift": "add_scalar", "hardtanh": "hardtanh",
    "copy": "copy", "rsqrt": "rsqrt",
}  # fmt: skip


def flat(op):
    if any(op.attrs.get(name) for name in ("strided", "rolled")) or any(t.size != op.outputs[0].size for t in op.inputs):
        return None
    return FLAT[op.kind], dict(numel=op.outputs[0].size, dtype=op.dtype)


UNITS = {"row": rows, "plane": planes}
MAKERS = {
    **dict.fromkeys(("linear", "matmul"), linear), "bmm": bmm, "conv2d": convolution, "attention": attention,
    **dict.fromkeys(FLAT, flat),
}  # fmt: skip
