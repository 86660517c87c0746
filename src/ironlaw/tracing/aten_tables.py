"""ATen op -> engine op kind, where a name says it all. `inplace_` is listed as `inplace`."""

from __future__ import annotations

UNARY = {
    "relu": "relu", "neg": "neg", "abs": "abs", "sqrt": "sqrt", "rsqrt": "rsqrt", "exp": "exp", "log": "log", "tanh": "tanh",
    "erf": "erf", "cos": "cos", "sin": "sin", "sigmoid": "sigmoid", "silu": "silu", "square": "square", "hardtanh": "hardtanh",
    "relu6": "relu6", "clamp": "hardtanh", "clamp_min": "relu", "clamp_max": "relu", "hardswish": "silu", "hardsigmoid": "sigmoid",
    "mish": "silu", "elu": "silu", "leaky_relu": "relu6", "softplus": "silu", "log_sigmoid_forward": "sigmoid", "celu": "silu",
    "reciprocal": "rsqrt", "floor": "abs", "ceil": "abs", "round": "abs", "trunc": "abs", "sign": "abs", "log1p": "log", "expm1": "exp",
    "log2": "log", "exp2": "exp", "atan": "tanh", "erfinv": "erf", "isnan": "compare", "isinf": "compare", "isfinite": "compare",
    "logical_not": "compare", "bitwise_not": "compare", "tril": "select", "triu": "select", "nan_to_num": "select", "threshold": "relu",
    "glu": "silu", "polar": "cos", "view_as_complex_copy": "copy", "sinc": "sin", "frac": "abs", "sgn": "abs",
    "log10": "log", "acos": "tanh", "asin": "tanh", "sinh": "tanh", "cosh": "tanh", "tan": "sin",
    "acosh": "log", "asinh": "log", "atanh": "log", "xlogy": "log", "special_xlog1py": "log", "digamma": "log", "lgamma": "log",
    "logit": "log", "erfc": "erf", "softshrink": "select",
}  # fmt: skip
# two tensors, or a tensor and a number; the second name is for a number
BINARY = {
    "add": ("add", "shift"), "sub": ("sub", "shift"), "rsub": ("sub", "shift"), "mul": ("mul", "scale"), "div": ("div", "scale"),
    "floor_divide": ("div", "scale"), "remainder": ("div", "scale"), "fmod": ("div", "scale"), "atan2": ("div", "scale"),
    "maximum": ("greatest", "relu"), "minimum": ("least", "relu"), "eq": ("compare",) * 2, "ne": ("compare",) * 2,
    "lt": ("compare",) * 2, "le": ("compare",) * 2, "gt": ("compare",) * 2, "ge": ("compare",) * 2, "logical_and": ("compare",) * 2,
    "logical_or": ("compare",) * 2, "logical_xor": ("compare",) * 2, "bitwise_and": ("compare",) * 2, "bitwise_or": ("compare",) * 2,
    "bitwise_xor": ("compare",) * 2, "__and__": ("compare",) * 2, "__or__": ("compare",) * 2, "lerp": ("add", "add"),
    "bitwise_left_shift": ("compare",) * 2, "bitwise_right_shift": ("compare",) * 2, "__rshift__": ("compare",) * 2,
    "__lshift__": ("compare",) * 2, "addcmul": ("add", "add"), "addcdiv": ("add", "add"),
    "where": ("select", "select"), "prelu": ("mul", "mul"), "_prelu_kernel": ("mul", "mul"), "hypot": ("add", "add"),
    "complex": ("add", "add"),
    "copysign": ("mul", "scale"), "linalg_cross": ("add", "add"), "fmax": ("greatest", "relu"), "fmin": ("least", "relu"),
}  # fmt: skip
FILLS = {
    "arange", "zeros", "ones", "full", "fill", "zero", "zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full",
    "scalar_tensor", "linspace", "eye", "rand", "randn", "rand_like", "randn_like", "randint", "bernoulli", "uniform", "normal",
    "tril_indices", "triu_indices", "logspace", "exponential", "randperm", "hann_window", "hamming_window",
}  # fmt: skip
COUNTED = {
    "arange",
    "linspace",
    "logspace",
    "eye",
    "hann_window",
    "hamming_window",
    "tril_indices",
    "triu_indices",
}  # fills whose values follow from the place
FREE = {
    "empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "_unsafe_view", "lift_fresh", "lift", "detach", "alias",
    "resize_", "set_", "_local_scalar_dense", "sym_size", "sym_numel", "sym_stride", "sym_storage_offset", "device", "is_same_size",
    "unsafe_split", "unsafe_split_with_sizes", "unsafe_chunk", "transpose", "t", "squeeze", "unsqueeze", "as_strided", "_conj",
    "_assert_async", "_assert_tensor_metadata", "_assert_scalar", "is_pinned", "record_stream", "_version", "_reshape_alias",
}  # fmt: skip
MOVES = {
    "cat": "cat", "stack": "cat", "constant_pad_nd": "pad", "repeat": "repeat",
    "repeat_interleave": "repeat", "flip": "copy", "pixel_shuffle": "copy",
    **dict.fromkeys(("diagonal_copy", "select_copy", "slice_copy", "permute_copy", "transpose_copy", "expand_copy", "view_copy"), "copy"),
    "im2col": "copy", "col2im": "copy", "clone": "copy", "copy": "copy", "pixel_unshuffle": "copy",
    "tile": "repeat", "_weight_norm_interface": "mul", "native_channel_shuffle": "copy",
}  # fmt: skip
REDUCTIONS = {
    "sum": "sum", "mean": "mean", "amax": "amax", "amin": "amax", "max": "amax", "min": "amax", "any": "amax", "all": "amax",
    "prod": "sum", "argmax": "argmax", "argmin": "argmax", "var": "var", "var_mean": "var", "std": "var", "std_mean": "var",
    "cumsum": "cumsum", "cumprod": "cumsum", "linalg_vector_norm": "sum", "norm": "sum", "nansum": "sum",
    "logcumsumexp": "cumsum", "cummax": "cumsum", "count_nonzero": "sum", "_is_all_true": "amax", "_is_any_true": "amax",
    "aminmax": "amax",
}  # fmt: skip
LOOKUPS = {"index_select": "gather", "nll_loss_forward": "gather",
           "nll_loss2d_forward": "gather"}  # fmt: skip
ROUTES = {
    "histc": "scatter", "bincount": "scatter", "searchsorted": "scatter",
    "bucketize": "scatter", "multinomial": "topk", "masked_scatter": "scatter", "slice_scatter": "copy", "select_scatter": "copy",
}  # fmt: skip
# Ops that no kind describes: they are priced as the one above, and say so
STAND_INS = {
    "multinomial", "searchsorted", "bucketize", "masked_scatter", "im2col", "col2im", "_weight_norm_interface", "bincount",
    "nll_loss2d_forward", "cumprod", "logcumsumexp", "cummax", "prod", "repeat_interleave",
}  # fmt: skip
