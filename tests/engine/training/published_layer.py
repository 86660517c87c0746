"""A transformer layer as Korthikanti et al. draw it (arXiv 2205.05198, figure 2), op by op."""

from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.work import op
from ironlaw.engine.training.autograd import kept


def layer(s, h, heads, *, stored=False, dropout=True, b=1, dtype="fp16"):
    """`stored`: attention's scores go through memory. A trained gain stands before the layer, so that its input has a gradient."""
    ops = []

    def emit(kind, name, *inputs, shape=None, more=()):
        out = Tensor(name, shape or inputs[0].shape, dtype)
        ops.append(op(kind, name, inputs, (out, *more)))
        return out

    def weight(name, *shape):
        return Tensor(f"{name}.weight", shape, dtype, "weight")

    def linear(name, x, width):
        return emit("linear", name, x, weight(name, width, x.shape[-1]), shape=(*x.shape[:-1], width))

    def norm(name, x):
        return emit("layer_norm", name, x, weight(name, h))

    def drop(name, x):
        return emit("dropout", name, x, more=(Tensor(f"{name}.mask", x.shape, "bool"),)) if dropout else x

    x = emit("mul", "before", Tensor("x0", (b, s, h), dtype, "input"), weight("before", h))
    y = norm("norm1", x)
    q, k, v = (Tensor(linear(name, y, h).name, (b, heads, s, h // heads), dtype) for name in "qkv")
    if stored:
        turned = Tensor("k", (b, heads, h // heads, s), dtype)
        shares = emit("softmax", "softmax", emit("matmul", "scores", q, turned, shape=(b, heads, s, s)))
        y = emit("matmul", "context", drop("drop_shares", shares), v, shape=q.shape)
    else:
        y = emit("attention", "context", q, k, v)
    y = linear("projection", Tensor(y.name, (b, s, h), dtype), h)
    x = emit("add", "add1", x, drop("drop1", y))
    y = linear("down", emit("gelu", "gelu", linear("up", norm("norm2", x), 4 * h)), h)
    emit("add", "add2", x, drop("drop2", y))
    return Graph("layer", tuple(ops), dtype)


def published_bytes(graph):
    """What the paper counts: neither the few numbers a row that norms and attention keep, nor what stands before the layer."""
    return sum(t.bytes for t in kept(graph).tensors if "statistics" not in t.name and t.name != "x0")
