"""What is computed element by element or along a row: activations, norms, softmax, reductions."""

from __future__ import annotations

from ironlaw.engine.device.work.keeping import INPUT, NORM, NOTHING, OUTPUT, PRODUCT, SECOND, per_channel, per_group, per_row
from ironlaw.engine.device.work.op_count import Attrs, Count, Kinds, Tensors, per_element

# One block reduces this many elements by itself; beyond, a reduction over the whole tensor is split over kernels.
# Measured: x / x.sum() is one compiled kernel at 4,096 elements and three at 786,432 (evidence h200_sxm/micro).
SMALL_REDUCTION = 8192.0

kind = Kinds()


# ---- normalisation and softmax: a reduction along the row, then element-wise

LAYER = dict(keeps=NORM, gathers=True, family="norm")
kind("rowwise", "layer_norm", **LAYER, statistics=per_row(2.0), widens=True, unit="row")(per_element(7.0))
kind("rowwise", "group_norm", **LAYER, statistics=per_group, widens=True, unit="plane", grouped=True)(per_element(7.0))
kind("rowwise", "rms_norm", **LAYER, statistics=per_row(1.0), unit="row")(per_element(4.0))  # square, sum, scale, gain
kind("rowwise", "softmax", "log_softmax", keeps=OUTPUT, gathers=True, widens=True, unit="row")(per_element(5.0))
# inference: subtract, scale, gain, shift; no statistics of the batch's own
kind("elementwise", "batch_norm", keeps=NORM, statistics=per_channel, mixed=True, family="norm", unit="plane", steps=10)(per_element(4.0))


# ---- element-wise, with broadcasting: each input is read once at its own size

kind("elementwise", "cast", "fill", keeps=NOTHING)(per_element(0.0))

one = per_element(1.0)
kind("elementwise", "relu", "tanh", "sqrt", keeps=OUTPUT)(one)
kind("elementwise", "exp", "rsqrt", keeps=OUTPUT, widens=True)(one)
kind("elementwise", "abs", "erf", "cos", "sin", keeps=INPUT)(one)
kind("elementwise", "log", "square", "cube", keeps=INPUT, widens=True)(one)
kind("elementwise", "neg", "scale", "shift", "add", "sub", "compare", keeps=NOTHING)(one)
kind("elementwise", "mul", keeps=PRODUCT)(one)
kind("elementwise", "div", keeps=((1, 0), (0, 1), (1, 1)))(one)
kind("elementwise", "power", keeps=((0, 0), (1, 0), (0, 1), (1, 1), ("out", 1)), widens=True)(one)
kind("elementwise", "select", keeps=((0, 1), (0, 2)))(one)
kind("elementwise", "greatest", "least")(one)

kind("elementwise", "relu6", "hardtanh", keeps=INPUT)(per_element(2.0))
kind("elementwise", "sigmoid", keeps=OUTPUT, steps=4)(per_element(4.0))  # negate, exp, add, divide
kind("elementwise", "silu", keeps=INPUT, steps=5)(per_element(5.0))
kind("elementwise", "gelu", keeps=INPUT, steps=7)(per_element(5.0))  # scale, erf, add, multiply, halve
kind("elementwise", "gelu_tanh", keeps=INPUT, steps=10)(per_element(8.0))  # cube, scale, add, scale, tanh, add, multiply, halve


@kind("elementwise", keeps=SECOND)
def dropout(x: Tensors, y: Tensors, a: Attrs) -> Count:
    """Compare-and-zero, scale. In training a second output, the mask of one byte per element, is written too."""
    return Count(vector=2.0 * y[0].size)


# ---- reductions: attr `over` is "row" (the last axis, or any axes that leave rows apart) or "all"


@kind("reduction", "sum", keeps=NOTHING, widens=True, unit="result")
@kind("reduction", "mean", "argmax", keeps=NOTHING, unit="result")
@kind("reduction", "amax", keeps=((0, 0), ("out", 0)), unit="result")
@kind("reduction", "cumsum", keeps=NOTHING, widens=True)
def reduce(x: Tensors, y: Tensors, a: Attrs) -> Count:
    """One operation per element that goes in."""
    return Count(vector=1.0 * x[0].size)


@kind("reduction", keeps=INPUT, unit="result")
def var(x: Tensors, y: Tensors, a: Attrs) -> Count:
    """Sum for the mean, subtract, square, sum."""
    return Count(vector=4.0 * x[0].size)


@kind("reduction", keeps=(("out", 0), (1, 0)))
def cross_entropy(x: Tensors, y: Tensors, a: Attrs) -> Count:
    """log-softmax over the classes (5 per element), then one pick per row."""
    return Count(vector=5.0 * x[0].size + x[1].size)
