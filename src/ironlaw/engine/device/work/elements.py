"""What is computed element by element or along a row: activations, norms, softmax, reductions."""

from __future__ import annotations

from ironlaw.engine.device.work.count import Attrs, Count, Kinds, Tensors, per_element

# One block reduces this many elements by itself; beyond, a reduction over the whole tensor is split over kernels.
# Measured: x / x.sum() is one compiled kernel at 4,096 elements and three at 786,432 (evidence h200_sxm/micro).
SMALL_REDUCTION = 8192.0

kind = Kinds()


# ---- normalisation and softmax: a reduction along the row, then element-wise

kind("rowwise", "layer_norm", "group_norm")(per_element(7.0))
kind("rowwise", "rms_norm")(per_element(4.0))  # square, sum, scale, gain
kind("rowwise", "softmax", "log_softmax")(per_element(5.0))
kind("elementwise", "batch_norm")(per_element(4.0))  # inference: subtract, scale, gain, shift; no statistics


# ---- element-wise, with broadcasting: each input is read once at its own size

for _flops, _names in (
    (0.0, ("cast", "fill")),
    (1.0, ("relu", "neg", "abs", "sqrt", "rsqrt", "exp", "log", "tanh", "erf", "cos", "sin", "square", "cube", "scale", "shift")),
    (1.0, ("add", "sub", "mul", "div", "greatest", "least", "compare", "select", "power")),
    (2.0, ("relu6", "hardtanh")),
    (4.0, ("sigmoid",)),  # negate, exp, add, divide
    (5.0, ("silu", "gelu")),  # gelu: scale, erf, add, multiply, halve
    (8.0, ("gelu_tanh",)),  # cube, scale, add, scale, tanh, add, multiply, halve
):
    kind("elementwise", *_names)(per_element(_flops))


@kind("elementwise")
def dropout(x: Tensors, y: Tensors, a: Attrs) -> Count:
    """Compare-and-zero, scale. In training a second output, the mask of one byte an element, is written too."""
    return Count(vector=2.0 * y[0].size)


# ---- reductions: attr `over` is "row" (the last axis, or any axes that leave rows apart) or "all"


@kind("reduction", "sum", "mean", "amax", "cumsum", "argmax")
def reduce(x: Tensors, y: Tensors, a: Attrs) -> Count:
    """One operation per element that goes in."""
    return Count(vector=1.0 * x[0].size)


@kind("reduction")
def var(x: Tensors, y: Tensors, a: Attrs) -> Count:
    """Sum for the mean, subtract, square, sum."""
    return Count(vector=4.0 * x[0].size)


@kind("reduction")
def cross_entropy(x: Tensors, y: Tensors, a: Attrs) -> Count:
    """log-softmax over the classes (5 an element), then one pick per row."""
    return Count(vector=5.0 * x[0].size + x[1].size)
