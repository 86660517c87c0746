"""Operators of opened models as evidence: what was profiled with --operators -> registry/evidence/h200_sxm.

    python benchmarks/device/profile_rows.py DIR/opened-1-1of1.json.gz          sealed_runs.py's, in profiles.json

Convolutions and their gradients, batch norm in training and gradients of layer norms. A shape that occurs several times counts once: the
median occurrence of those with the usual number of kernels. Gradients of batch norm are left out (their input comes from memory here and
stays in the cache in the sweep), and so are products, which the sweep covers. Those of own code: `captured_rows.py`.
"""

import argparse
import ast
import gzip
import json
import sys
from collections import defaultdict
from datetime import UTC, datetime
from math import prod
from pathlib import Path
from statistics import median, mode

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
EVIDENCE = HERE.parents[1] / "src/ironlaw/registry/evidence/h200_sxm"
FORMATS = {"c10::Half": "fp16", "c10::BFloat16": "bf16"}
NAME = 64  # characters of a kernel's name that are kept
METHOD = (
    "Operators within whole models that were opened (benchmarks/sealed_sets, set 1): eager and compiled in FP16, a training step in BF16, "
    "batches of 16 images or 4 sequences; each model's call profiled once after 2 warm-up calls (torch.profiler, CPU and CUDA activities, "
    "shapes recorded). busy_s: the kernels, memsets and memcpys that the operator launched, of the median occurrence where a shape occurs "
    "several times with as many kernels. Tensors lie in cache or memory as the model leaves them there."
)


def convolution(x, strides, weight, figures, dtype):
    """Params of a convolution on images; None where a step or a dilation differs by axis."""
    stride, pad, dilation, groups = figures
    if len(x) != 4 or len(set(stride)) > 1 or len(set(dilation)) > 1:
        return None
    n, c, h, w = x
    out, _, kh, kw = weight
    layout = "nhwc" if strides[1] == 1 and c > 1 and h * w > 1 else "nchw"
    sizes = dict(n=n, c=c, h=h, w=w, out=out, kh=kh, kw=kw, stride=stride[0], ph=pad[0], pw=pad[1], groups=groups, dilation=dilation[0])
    return sizes, {"layout": layout, "dtype": dtype}


def spec(seen, training):
    """(op, params) of a profiled operator; None for what is not kept."""
    name = seen["op"].removeprefix("aten::")
    if name not in READERS or not seen["Input Dims"]:
        return None
    dims, strides, types = seen["Input Dims"], seen["Input Strides"], seen["Input type"]
    return READERS[name](dims, strides, [FORMATS.get(t) for t in types], seen["Concrete Inputs"], training)


def forward(dims, strides, formats, given, training):
    pad, stride, dilation, groups = (ast.literal_eval(given[i]) for i in (2, 3, 4, 5))
    shape = convolution(dims[0], strides[0], dims[1], (stride, pad, dilation, groups), formats[0])
    return shape and ("conv2d", shape[0] | {"bias": 0} | shape[1])


def depthwise(dims, strides, formats, given, training):
    stride, pad, dilation = (ast.literal_eval(given[i]) for i in (4, 5, 6))
    shape = convolution(dims[0], strides[0], dims[1], (stride, pad, dilation, dims[0][1]), formats[0])
    return shape and ("conv2d", shape[0] | {"bias": 0} | shape[1])


def gradients(dims, strides, formats, given, training):
    """Where both gradients are wanted."""
    stride, pad, dilation, transposed, groups, wanted = (ast.literal_eval(given[i]) for i in (4, 5, 6, 7, 9, 10))
    if transposed or wanted[:2] != [True, True]:
        return None
    shape = convolution(dims[1], strides[1], dims[2], (stride, pad, dilation, groups), formats[1])
    return shape and ("conv2d_backward", shape[0] | shape[1])


def batch_norm(dims, strides, formats, given, training):
    x, lies = dims[0], strides[0]
    if not training or len(x) != 4 or (lies[1] == 1 and x[2] * x[3] > 1):
        return None
    return "batch_norm_train", dict(zip("nchw", x, strict=True)) | {"dtype": formats[0]}


def layer_norm_gradient(dims, strides, formats, given, training):
    return "layer_norm_backward", {"rows": prod(dims[1][:-1]), "width": dims[1][-1], "dtype": formats[1]}


READERS = {
    "cudnn_convolution": forward, "_conv_depthwise2d": depthwise, "convolution_backward": gradients, "native_batch_norm": batch_norm,
    "native_layer_norm_backward": layer_norm_gradient,
}  # fmt: skip


def row(op, params, occurrences):
    """The median occurrence, its kernels by name."""
    usual = mode(map(len, occurrences))
    alike = [kernels for kernels in occurrences if len(kernels) == usual]
    middle = median(sum(seconds for _, seconds, _ in kernels) for kernels in alike)
    kernels = min(alike, key=lambda kernels: abs(sum(seconds for _, seconds, _ in kernels) - middle))
    names = defaultdict(lambda: [0, 0.0])
    for name, seconds, _ in kernels:
        names[name[:NAME]][0] += 1
        names[name[:NAME]][1] += seconds
    listed = [
        {"name": name, "count": float(count), "seconds": round(seconds, 10)}
        for name, (count, seconds) in sorted(names.items(), key=lambda item: -item[1][1])
    ]
    total = round(sum(seconds for _, seconds, _ in kernels), 10)
    return {"kind": "op", "op": op, "params": params, "busy_s": total, "kernels": len(kernels), "list": listed}


def rows(runs):
    shapes = defaultdict(list)
    for run in runs:
        calls = {}  # what one call launches may be listed in parts
        for seen in run.get("operators", ()):
            calls.setdefault(seen["id"], seen | {"kernels": []})["kernels"].extend(seen["kernels"])
        for seen in calls.values():
            found = spec(seen, run["mode"] == "training")
            if found and found[1]["dtype"]:
                shapes[found[0], tuple(found[1].items())].append(seen["kernels"])
    return [row(op, dict(params), occurrences) for (op, params), occurrences in shapes.items()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    out = args.out or EVIDENCE / "profiles.json"
    profiled = json.loads(gzip.decompress(args.file.read_bytes()))
    head = {"format": "ironlaw-evidence/1", "machine": profiled["machine"], "software": profiled["software"]}
    head |= {"date": datetime.now(UTC).date().isoformat(), "method": METHOD}
    found = rows(profiled["rows"])
    lines = ",\n".join("  " + json.dumps(one) for one in found)
    out.write_text(json.dumps(head, indent=1)[:-2] + f',\n "rows": [\n{lines}\n ]\n}}\n')
    print(f"{len(found)} rows in {out.name}")


if __name__ == "__main__":
    main()
