"""What of own code's profiled operators is kept as evidence: (op, params) of each, as `backends/evidence_ops.py` reads them."""

import ast
from math import prod

FORMATS = {"c10::Half": "fp16", "c10::BFloat16": "bf16", "float": "fp32"}
SHALLOW = 256  # steps from which a product of transposed rows is a weight's gradient worth keeping
SHORT = 256  # elements of a row that is summed


def own_spec(seen, training):
    """(op, params) of a profiled operator; None for what is not kept."""
    name = seen["op"].removeprefix("aten::")
    if name == "index":
        return indexed(seen)
    if name not in READERS or not seen["Input Dims"] or not seen["kernels"]:
        return None
    return READERS[name](seen["Input Dims"], seen["Input Strides"], [FORMATS.get(t) for t in seen["Input type"]], seen["Concrete Inputs"])


def indexed(seen):
    """Whole rows, a block for each: the profiler names no index, but the kernel's grid says how many rows there were."""
    table, (kernel, _, grid) = seen["Input Dims"][0], seen["kernels"][0]
    dtype = FORMATS.get(seen["Input type"][0])
    if "vectorized_gather" not in kernel or not dtype:
        return None
    return "index", {"rows": table[0], "cols": prod(table[1:]), "picks": grid[0], "dtype": dtype}


def product(dims, strides, formats, given):
    """Where the first matrix lies transposed: its columns are summed over, which are the batch's."""
    (m, k), n = dims[0], dims[1][1]
    if not formats[0] or strides[0][1] == 1 or strides[0][0] != 1 or k < SHALLOW or min(m, n) < 2:
        return None
    return "weight_gradient", {"m": m, "n": n, "k": k, "dtype": formats[0]}


def gradients(dims, strides, formats, given):
    """A line's or a volume's in the shapes of an image, as capture has them."""
    transposed, groups, wanted = (ast.literal_eval(given[i]) for i in (7, 9, 10))
    if transposed or not wanted[1] or formats[1] is None:
        return None
    g, x, w = (_flat(shape) for shape in dims[:3])
    layout = "nhwc" if len(dims[1]) > 3 and strides[1][1] == 1 and x[1] > 1 and x[2] * x[3] > 1 else "nchw"
    sizes = dict(n=x[0], c=x[1], h=x[2], w=x[3], out=g[1], oh=g[2], ow=g[3], each=w[1], kh=w[2], kw=w[3], groups=groups)
    return "conv_gradients", sizes | {"wanted": sum(wanted[:2]), "layout": layout, "dtype": "tf32" if formats[1] == "fp32" else formats[1]}


def _flat(shape):
    """Two axes of space: a line is one row, a volume's frames lie below each other."""
    n, c, *space = shape
    return (n, c, 1, *space) if len(space) == 1 else (n, c, prod(space[:-1]), space[-1])


def embedding_gradient(dims, strides, formats, given):
    return "embedding_backward", {"tokens": prod(dims[1]), "vocab": int(given[2]), "dim": dims[0][-1], "dtype": formats[0]}


def looked_up(dims, strides, formats, given):
    """An embedding, which PyTorch runs as a gather of whole rows."""
    if len(dims) < 5 or not formats[0] or len(dims[0]) != 2 or not dims[2] or dims[0][1] != dims[2][1]:
        return None
    return "embedding", {"tokens": dims[2][0], "vocab": dims[0][0], "dim": dims[0][1], "dtype": formats[0]}


def short_sum(dims, strides, formats, given):
    axes = ast.literal_eval(given[1]) if given[1] else []
    x = dims[0]
    if not formats[0] or len(axes) != 1 or axes[0] % len(x) != len(x) - 1 or x[-1] > SHORT or strides[0][-1] != 1:
        return None
    return "sum", {"rows": prod(x[:-1]), "cols": x[-1], "dtype": formats[0]}


def scan(dims, strides, formats, given):
    x, axis = dims[0], int(given[1])
    if not formats[0] or axis % len(x) != len(x) - 1:
        return None
    return "cumsum", {"rows": prod(x[:-1]), "cols": x[-1], "dtype": formats[0]}


def batch_norm(dims, strides, formats, given):
    """In training and in FP32, by cuDNN."""
    return ("batch_norm_train", _image(dims[0])) if formats[0] == "fp32" and len(dims[0]) > 2 and given[5] == "True" else None


def batch_norm_gradient(dims, strides, formats, given):
    return ("batch_norm_gradient", _image(dims[0])) if formats[0] == "fp32" and len(dims[0]) > 2 else None


def _image(shape):
    return dict(zip("nchw", _flat(shape), strict=True)) | {"dtype": "fp32"}


def layer_norm_gradient(dims, strides, formats, given):
    return "layer_norm_backward", {"rows": prod(dims[1][:-1]), "width": dims[1][-1], "dtype": formats[1]}


READERS = {
    "cudnn_batch_norm": batch_norm, "cudnn_batch_norm_backward": batch_norm_gradient, "native_layer_norm_backward": layer_norm_gradient,
    "mm": product, "convolution_backward": gradients, "embedding_dense_backward": embedding_gradient, "gather": looked_up, "sum": short_sum,
    "cumsum": scan, "cumprod": scan,
}  # fmt: skip
