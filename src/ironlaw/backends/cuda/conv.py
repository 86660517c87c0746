"""Convolutions as cuDNN runs them: in NHWC, with conversions around them where tensors are NCHW.

A 1×1 convolution with stride 1 is a matrix product on NCHW as it stands when a plane is a multiple of 8 elements; grouped
ones run all at once, or group by group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ironlaw.backends.cuda.evidence import LAYOUT, seconds_of, single, tiny_seconds
from ironlaw.backends.cuda.pointwise import FALLBACK as POINTWISE_FALLBACK
from ironlaw.backends.cuda.pointwise import VECTORS, direct, is_pointwise, pointwise
from ironlaw.backends.evidence_ops import OPS
from ironlaw.backends.kernel import Kernel, Sample, launched, padded
from ironlaw.backends.rows import Row
from ironlaw.backends.signatures import FEW_PLANES, deep_volume, oblong
from ironlaw.engine.arrays import Number, maximum, where
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.types import FORMATS, Op

CONVERTED = "converted"  # an attribute: the weight was turned round for an earlier convolution of the same graph
FEW_ROWS = 40_000  # outputs times groups up to which cuDNN runs a grouped convolution group by group
PADDED_IMAGES = 20_000  # pixels from which images of few channels are padded and converted
FEW_CHANNELS = 8  # up to which an image in NHWC is a first layer's
GROUP_TILE = 64  # channels that a convolution's tile holds, however few a group has
SHALLOW_BF16 = 128  # products for an output up to which cuDNN has a kernel in BF16 that takes images in NHWC as they are
VOLUME_TILE = 32.0  # results side by side that its kernels for volumes compute, however few are wanted
LONG_FILTER = 32  # taps beyond which cuDNN has no kernel on tensor cores for a line's groups in two bytes
FEW_COLOURS = 3  # channels of a volume that no kernel on tensor cores takes as they stand
SHALLOW = 27  # products for an output, three colours by 3×3, up to which images are never converted


def conv2d(op: Op, machine: Hardware) -> Sequence[Kernel]:
    x, w, y = op.inputs[0], op.inputs[1], op.outputs[0]
    n, c, plane = x.shape[0], x.shape[1], y.shape[2] * y.shape[3]
    kh, kw = w.shape[2], w.shape[3]
    bias = (Kernel("broadcast", 2 * y.bytes, rows=y.size),) if len(op.inputs) > 2 else ()
    if op.attrs.get("layout") == "nhwc":  # channels last already: neither images nor weights are converted
        return (*_channels_last(op), *bias)
    if w.shape[1] == 1 and c > 1:
        return (_depthwise(op), *bias)
    m, depth = n * plane, w.shape[1] * kh * kw
    if deep_volume(op) and op.dtype in ("fp16", "bf16", "tf32"):
        return (Kernel("conv_volume_deep", op.work.bytes, op.work.matmul_flops, depth=depth), *bias)
    if op.attrs.get("dims") == 1 and (apart := _group_by_group(op, depth)):
        return (*apart, *bias)
    if is_pointwise(x, w, y) and op.dtype in VECTORS:
        return (*pointwise(op, machine), *bias)
    if w.shape[1] < c and op.dtype in ("fp16", "bf16"):
        return (*_grouped(op), *bias)
    if op.dtype == "tf32" and op.attrs.get("dims") == 3 and c <= FEW_COLOURS and depth <= SHALLOW_BF16:
        return (*_first_of_volume(op, depth), *bias)
    if op.dtype == "tf32":
        return (*_in_tf32(op, depth), *bias)
    if op.dtype not in ("fp16", "bf16"):
        return (Kernel(f"conv_{op.dtype}", op.work.bytes, op.work.matmul_flops, depth=depth), *bias)
    flops = filled_flops(op)
    if c % 8:
        few = op.attrs.get("dims") == 3 and c <= FEW_COLOURS
        return (*(_first_of_volume(op, depth) if few else _first_layer(op, m, depth)), *bias)
    weight = () if kh == kw == 1 else (Kernel("layout_weight", 2 * w.bytes),)
    return (
        Kernel("layout", 2 * x.bytes, rows=n * c), *weight, Kernel("conv", op.work.bytes, flops, depth=depth),
        Kernel("layout", 2 * y.bytes, rows=n * y.shape[1]), *bias,
    )  # fmt: skip


def _depthwise(op: Op) -> Kernel:
    """On NCHW a depthwise one takes vector units, never TF32. cuDNN has FP16 alone; PyTorch's own take as long in BF16 as in FP32."""
    w = op.inputs[1]
    taps = w.shape[2] * w.shape[3]
    name = "depthwise_large" if taps > 9 else "depthwise_strided" if op.attrs.get("stride", 1) > 1 else "depthwise"
    if op.dtype == "fp16":
        return Kernel(name, op.work.bytes, op.work.matmul_flops, depth=taps)
    data = op.work.bytes * max(4.0 / FORMATS[op.inputs[0].dtype], 1.0)
    return Kernel(f"{name}_fp32", data, op.work.matmul_flops, depth=taps)


def _group_by_group(op: Op, depth: Number) -> Sequence[Kernel]:
    """A line's groups one after the other: always in TF32, in two bytes only where a filter is long, and then without tensor cores."""
    c, each, taps = op.inputs[0].shape[1], op.inputs[1].shape[1], op.inputs[1].shape[2] * op.inputs[1].shape[3]
    if not 1 < each < c or (op.dtype != "tf32" and taps <= LONG_FILTER):
        return ()
    name = "conv_line_groups_tf32" if op.dtype == "tf32" else "conv_line_groups"
    share = each / c
    return (Kernel(name, share * op.work.bytes, share * op.work.matmul_flops, depth=depth, count=c / each),)


def _in_tf32(op: Op, depth: Number) -> Sequence[Kernel]:
    """FP32 on tensor cores: converted to NHWC and back, groups all at once."""
    x, w, y = op.inputs[0], op.inputs[1], op.outputs[0]
    name = "conv_tf32" if w.shape[1] == x.shape[1] else "conv_grouped_tf32"
    if op.attrs.get("dims") == 1 and x.shape[1] == 1:  # a single channel is innermost already
        return (Kernel(name, op.work.bytes, op.work.matmul_flops, depth=depth),)
    return (
        Kernel("layout", 2 * x.bytes, rows=x.shape[0] * x.shape[1]), Kernel("layout_weight", 2 * w.bytes),
        Kernel(name, op.work.bytes, filled_flops(op), depth=depth), Kernel("layout", 2 * y.bytes, rows=y.shape[0] * y.shape[1]),
    )  # fmt: skip


def filled_flops(op: Op) -> Number:
    """FLOPs of a convolution, where zeros fill a volume's last tile of results, and of channels too where tensor cores take two bytes."""
    if op.attrs.get("dims") != 3:
        return op.work.matmul_flops
    out, each = op.inputs[1].shape[:2]
    filled = maximum(VOLUME_TILE / out, 1.0)
    if op.dtype in ("fp16", "bf16") and each > FEW_COLOURS:
        filled = filled * maximum(VOLUME_TILE / each, 1.0)
    return filled * op.work.matmul_flops


def _grouped(op: Op) -> Sequence[Kernel]:
    """Few outputs in wide groups: a convolution and its conversions for each group. Else all at once, with a tile's channels
    filled up with zeros.
    """
    x, w, y = op.inputs[0], op.inputs[1], op.outputs[0]
    n, c, each, taps = x.shape[0], x.shape[1], w.shape[1], w.shape[2] * w.shape[3]
    groups = c / each
    outputs = y.size / y.shape[1]
    apart = where((outputs * groups <= FEW_ROWS) & (each >= GROUP_TILE), 1.0, 0.0)
    times, share = apart * groups + (1.0 - apart), 1.0 + apart * (groups - 1.0)  # so many launches, each with such a part
    filled = maximum(each, GROUP_TILE)
    return (
        Kernel("layout", 2 * x.bytes / share, rows=n * c / share, count=times), Kernel("layout_weight", 2 * w.bytes / share, count=times),
        Kernel("conv", op.work.bytes / share, op.work.matmul_flops * (filled / each) / share, depth=filled * taps, count=times),
        Kernel("layout", 2 * y.bytes / share, rows=n * y.shape[1] / share, count=times),
    )  # fmt: skip


def _first_of_volume(op: Op, depth: Number) -> Sequence[Kernel]:
    """A volume of few channels is convolved as it stands, by a kernel without tensor cores that fills up its results."""
    return (Kernel(f"conv_volume_few{'_tf32' if op.dtype == 'tf32' else ''}", op.work.bytes, filled_flops(op), depth=depth),)


def _first_layer(op: Op, m: Number, depth: Number) -> Sequence[Kernel]:
    """Images and spectrograms, whose few channels fill no vector: padded and converted when there is enough of it. So are more channels
    that fill none, always.
    """
    x, w, y = op.inputs[0], op.inputs[1], op.outputs[0]
    if x.shape[1] > FEW_PLANES:
        return (
            Kernel("layout", 2 * x.bytes, rows=x.shape[0] * x.shape[1]), Kernel("layout_weight", 2 * w.bytes),
            Kernel("conv", op.work.bytes, op.work.matmul_flops, depth=depth), Kernel("tiny", 0.0, count=2.0),
            Kernel("layout", 2 * y.bytes, rows=y.shape[0] * y.shape[1]),
        )  # fmt: skip
    large = where(m > PADDED_IMAGES, 1.0, 0.0) if op.attrs.get("stride", 1) < 16 else 1.0
    if depth <= SHALLOW:
        large = 0.0
    return (
        Kernel("conv_few_channels", op.work.bytes, op.work.matmul_flops, depth=depth, count=1.0 - large),
        Kernel("conv_first", op.work.bytes, op.work.matmul_flops, depth=depth, count=large),
        Kernel("layout_first", x.bytes * (1 + 8 / x.shape[1]) + 2 * w.bytes, count=large),
        Kernel("layout", 2 * y.bytes, rows=y.shape[0] * y.shape[1], count=large),
        Kernel("tiny", 0.0, count=3.0 * large),
    )


def conv2d_compiled(op: Op, machine: Hardware) -> Sequence[Kernel]:
    """Runs in NHWC throughout, except for the weight; a bias is added by whatever reads the result."""
    if op.attrs.get("dims") == 1 or op.attrs.get("layout") == "nchw":  # a line has no layout to choose
        return tuple(kernel for kernel in conv2d(op, machine) if kernel.curve != "broadcast")
    main = _channels_last(op)
    w = op.inputs[1]
    converted = CONVERTED not in op.attrs and len(main) == 1 and main[0].curve in ("conv", "conv_nhwc_tf32", "conv_grouped_nhwc_tf32")
    return (*main, Kernel("layout", 2 * w.bytes)) if converted else main


def _channels_last(op: Op) -> Sequence[Kernel]:
    x, w = op.inputs[0], op.inputs[1]
    kh, kw, depth = w.shape[2], w.shape[3], w.shape[1] * w.shape[2] * w.shape[3]
    if w.shape[1] == 1 and x.shape[1] > 1:
        return _depthwise_nhwc(op)
    if op.dtype not in ("fp16", "bf16"):
        kind = "1x1_nhwc_" if kh == kw == 1 else "nhwc_" if w.shape[1] == x.shape[1] else "grouped_nhwc_"
        name = f"conv_{kind if op.dtype == 'tf32' else ''}{op.dtype}"
        return (Kernel(name, op.work.bytes, filled_flops(op), depth=depth),)
    if x.shape[1] % 8 and x.shape[1] > FEW_CHANNELS:  # filled up with zeros, as its weight is
        full = padded(x.shape[1], 8) / x.shape[1]
        name = "conv_1x1_nhwc" if kh == kw == 1 else "conv"
        return (
            Kernel(name, op.work.bytes, full * op.work.matmul_flops, depth=full * depth),
            Kernel("layout_weight", 2 * x.bytes), Kernel("layout", 2 * w.bytes),
        )  # fmt: skip
    if x.shape[1] % 8:
        # a single channel is innermost already: a little of it is read as it stands
        few = where(op.outputs[0].size / w.shape[0] > PADDED_IMAGES, 0.0, 1.0) if x.shape[1] == 1 else 0.0
        if op.dtype == "bf16" and x.shape[1] > 1 and depth <= SHALLOW_BF16 and (op.attrs.get("stride", 1) > 1 or x.shape[1] == 2):
            few = 1.0
        return (
            Kernel("conv_few_channels", op.work.bytes, op.work.matmul_flops, depth=depth, count=few),
            Kernel("conv_first_nhwc", op.work.bytes, op.work.matmul_flops, depth=depth, count=1.0 - few),
            Kernel("layout_weight", 2 * x.bytes, count=1.0 - few), Kernel("layout", 2 * w.bytes, count=1.0 - few),
        )  # fmt: skip
    if kh == kw == 1:
        return (Kernel("conv_1x1_nhwc", op.work.bytes, op.work.matmul_flops, depth=depth),)
    return (Kernel("conv", op.work.bytes, filled_flops(op), depth=depth),)


def _depthwise_nhwc(op: Op) -> Sequence[Kernel]:
    """All channels at once. Several images, several results for each channel and steps between them, in a two-byte format: channel by
    channel. cuDNN has nothing quick for more taps one way than the other.
    """
    x, w = op.inputs[0], op.inputs[1]
    taps = w.shape[2] * w.shape[3]
    narrow = op.dtype in ("fp16", "bf16")
    if oblong(op):
        return (Kernel("depthwise_nhwc_oblong", op.work.bytes, op.work.matmul_flops, depth=taps),)
    strided = op.attrs.get("stride", 1) > 1
    apart = where(x.shape[0] > 1, 1.0, 0.0) if narrow and (strided or op.dtype == "bf16") and w.shape[0] != x.shape[1] else 0.0
    each = Kernel("conv_few_channels", op.work.bytes / x.shape[1], op.work.matmul_flops / x.shape[1], depth=taps, count=apart * x.shape[1])
    name = "depthwise_nhwc" if narrow else "depthwise_nhwc_fp32"
    return Kernel(name, op.work.bytes, op.work.matmul_flops, depth=taps, count=1.0 - apart), each


def conv2d_samples(row: Row, machine: Hardware) -> Iterator[Sample]:
    """The convolution without its conversions, each a sample of its own where a profile shows it."""
    if not row.busy_s:
        return
    nhwc = row.params.get("layout") == "nhwc"
    op = OPS[row.op](row.params)
    kernels = launched((conv2d_compiled if nhwc else conv2d)(op, machine))
    heavy = [k for k in kernels if single(k)]
    layout, bias = seconds_of(row, LAYOUT), seconds_of(row, ("elementwise_kernel",))
    if not nhwc and not layout and row.kernel_times and is_pointwise(op.inputs[0], op.inputs[1], op.outputs[0]) and op.dtype in VECTORS:
        heavy = [direct(op)]  # as it stands, whatever the rules say
        kernels = tuple(heavy)
    if len(heavy) == 1 and (nhwc or bool(layout) == any(k.curve == "layout" for k in kernels)):
        times, launches = heavy[0].count, sum(k.count for k in kernels)
        as_many = row.kernels is not None and abs(row.kernels - launches) <= 1
        if times == 1 or as_many:  # group by group, where cuDNN does it too
            yield Sample(replace(heavy[0], count=1.0), (row.busy_s - tiny_seconds(row) - layout - bias) / times)
    if not nhwc:
        yield from _conversions(row, kernels)


def _conversions(row: Row, kernels: Sequence[Kernel]) -> Iterator[Sample]:
    into, out = ([k for k in row.kernel_times if name in k.name] for name in LAYOUT)
    wanted = [k for k in kernels if k.curve == "layout" and k.count == 1]
    if len(wanted) != 2 or not out or sum(k.count for k in out) != 1:
        return
    yield Sample(wanted[1], out[0].seconds)
    weights = [k for k in kernels if k.curve == "layout_weight"]
    if into and into[0].count == 1 and not weights:
        yield Sample(wanted[0], into[0].seconds)
    elif into and into[0].count == 2 and weights and weights[0].data > 8 * wanted[0].data:
        yield Sample(weights[0], into[0].seconds - 1.6e-6)  # the input's share is its floor


def no_samples(row: Row, machine: Hardware) -> Iterator[Sample]:
    """Along a line and in a volume: what the curves of images leave unexplained there, their own neighbours know."""
    return iter(())


EAGER = {"conv2d": conv2d}
COMPILED = {"conv2d": conv2d_compiled}
ROWS = {"conv2d": conv2d_samples, "conv1d": no_samples, "conv3d": no_samples}
# The H200's sixteen rows of oblong gradients (evidence h200_sxm/depthwise) follow no curve: three kernels by turns. Their middles are
# 1.5 ps for each tap of a result for the input's gradient, and 90 ps for each result for the weight's in two bytes.
ESTIMATES = {
    "depthwise_nhwc_dgrad_oblong": {"floor": 2e-6, "rate": 1.3e12, "knee": 1e-3, "sd": 0.5},
    "depthwise_nhwc_wgrad_oblong": {"floor": 2e-6, "rate": 2.2e13, "knee": 1e3, "sd": 0.5},
    # four rows of a video's patches: as long as the inner loop, until multiply-adds outside the tensor cores are the bottleneck
    "conv_volume_deep": {"floor": 3e-6, "rate": 6e13, "knee": 1e-3, "step": 1.4e-7, "sd": 0.4},
    # ten rows of volumes and films of up to three channels (h200_sxm/volumes, own_operators), within a fifth of these
    "conv_volume_few": {"floor": 3e-6, "rate": 1.45e13, "knee": 16.0, "sd": 0.2},
    "conv_volume_few_tf32": {"floor": 3e-6, "rate": 2.8e13, "knee": 30.0, "sd": 0.2},
    # six rows of lines in groups (h200_sxm/kinds): a launch is as long as its inner loop, whatever the batch
    "conv_line_groups": {"floor": 3e-6, "step": 1.2e-7, "sd": 0.5},
    "conv_line_groups_tf32": {"floor": 2.4e-6, "step": 3.0e-8, "sd": 0.5},
}

FALLBACK = {
    "conv_1x1_nhwc": "conv_1x1", "depthwise_nhwc": "depthwise", "depthwise_nhwc_oblong": "depthwise",
    "depthwise_strided": "depthwise", "depthwise_large": "depthwise",
    "conv_first_nhwc": "conv_first", "conv_first": "conv", "conv_few_channels": "conv", "conv_tf32": "conv",
    **POINTWISE_FALLBACK,
    **dict.fromkeys(("conv_grouped_tf32", "conv_nhwc_tf32", "conv_grouped_nhwc_tf32", "conv_1x1_nhwc_tf32"), "conv_tf32"),
    **{f"{name}_fp32": name for name in ("depthwise", "depthwise_strided", "depthwise_large", "depthwise_nhwc")},
}  # fmt: skip
