"""Where the predictions of compiled models go wrong, beside each kernel that ran (benchmarks/device/compiled_kernels.py).

    python benchmarks/compiled_errors.py [MODEL …] [--held]      --held: only the third that is kept for checking

A line for each model: milliseconds and kernels, predicted and measured, of pointwise loops, of loops with sums, and of libraries' calls;
then what each family of kernels brings to the error over all: the size and the bias of seconds, and of kernels, as shares of a model's
own, then the share of its seconds. With names of models, their kernels and ops one by one.
"""

import argparse
import gzip
import hashlib
import json
import re
import sys
from collections import defaultdict
from pathlib import Path
from statistics import mean, median

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
CLASSES = ("pointwise", "sums", "library")
SUMS = ("fused_rows", "fused_reduction", "group_sums", "tiny")


def held(model):
    """Of the third that nobody looks at by row, while rules are made."""
    return int(hashlib.sha256(model.encode()).hexdigest(), 16) % 3 == 0


def class_of(name):
    if name.startswith("triton_poi") or name.startswith("triton_for"):
        return "pointwise"
    return "sums" if name.startswith("triton_") else "library"


FAMILIES = {  # by the first that is in a kernel's name
    "attention": "fmha|flash|attention",
    "sort": "topk|sort|TopK|radix|scan_by_key|DeviceScan|Scan",
    "transform": "fft",
    "solver": "potrf|trsm|getrf|geqr|syev|gesvd|larf|cusolver|lu_|magma|ger|gemv_batched|orm|symm|cholesky|laswp",
    "convolution": "conv|cudnn|dgrad|fprop|wgrad|Nhwc|Nchw|nhwc|tensorTransform|winograd",
    "product": "gemm|nvjet|splitK|gemv|cutlass|cublas|dot_kernel|Kernel2",
    "index": "index|scatter|gather",
    "recurrent": "rnn|lstm|LSTM|GRU",
    "copy": "Mem|copy|Copy|fill|Fill|CatArray",
    "norm": "norm|Norm|softmax|Softmax",
    "random": "distribution|random",
    "reduce": "reduce",
    "elementwise": "elementwise",
}
KINDS = {
    "attention": ("attention",), "sort": ("topk", "sort"), "transform": ("fft",), "product": ("linear", "matmul", "bmm", "grouped_matmul"),
    "convolution": ("conv2d", "conv_transpose2d"), "recurrent": ("recurrent",), "index": ("write", "scatter", "gather", "embedding"),
    "copy": ("copy", "cat", "transpose", "fill", "pad", "repeat"),
}  # fmt: skip


def family_of(name):
    found = class_of(name)
    return found if found != "library" else next((each for each, words in FAMILIES.items() if re.search(words, name)), "other")


def predicted_family(row):
    from ironlaw.engine.device.work import category

    found = predicted_class(row)
    if found != "library":
        return found
    parts = row.op.attrs.get("parts", (row.op,))
    kinds = {one.kind for one in parts}
    told = next((name for name, those in KINDS.items() if kinds & set(those)), None)
    if told:
        return told
    named = parts[0].attrs.get("stand_in") or parts[0].kind
    return "elementwise" if category(parts[0].kind) == "elementwise" else f"op {named}"


def predicted_class(row):
    from ironlaw.backends.inductor import WRITTEN
    from ironlaw.engine.device.work import UNCOMPILED, category

    parts = row.op.attrs.get("parts", (row.op,))
    kinds = {category(one.kind) for one in parts}
    if any(UNCOMPILED in one.attrs for one in parts) or not kinds <= {*WRITTEN, "lookup", "window", "free"} or row.op.kind == "topk":
        return "library"
    return "sums" if kinds & {"rowwise", "reduction"} else "pointwise"


def sides(seen, prediction, family, predicted_family):
    """{class or family: (seconds predicted, measured, kernels predicted, measured)}"""
    found = defaultdict(lambda: [0.0, 0.0, 0.0, 0.0])
    for row in prediction.ops:
        mine = found[predicted_family(row)]
        mine[0] += float(row.seconds)
        mine[2] += float(row.kernels)
    for one in seen["list"]:
        mine = found[family(one["name"])]
        mine[1] += one["seconds"]
        mine[3] += one["count"]
    return found


def predictions(rows):
    """(row, prediction) of those whose graphs are kept."""
    import sealed

    import ironlaw as il
    from ironlaw.tracing.graph_json import from_json

    machine, wanted = il.hardware(sealed.MACHINE), {row["model"]: row for row in rows if "list" in row}
    for file in sorted(sealed.SETS.glob("own-*.json")):
        kept = json.loads(file.read_text())
        if kept["seed"].endswith(("-10", "-12")) or not wanted.keys() & set(sealed.opened(kept)):
            continue
        graphs = sealed.stored(kept["seed"])
        for row in kept["rows"]:
            if row["mode"] != "compiled" or row["model"] not in wanted or row["dtype"] != wanted[row["model"]]["dtype"]:
                continue
            graph = graphs.get(sealed.key_of(row), {"error": ""})
            if "busy_s" in row and "error" not in graph:
                yield kept["seed"], wanted[row["model"]], il.predict(from_json(graph), machine, il.Plan(mode="compiled"))


def detail(seen, prediction):
    print("  measured")
    for one in sorted(seen["list"], key=lambda one: -one["seconds"]):
        made = [{k: v for k, v in each.items() if k not in ("loop",)} for each in seen["loops"].get(one["name"], [])[:1]]
        print(f"  {one['seconds'] * 1e6:9.1f} us {one['count']:5.0f} {one['name'][:90]} {json.dumps(made)[:330] if made else ''}")
    print("  predicted")
    rows = defaultdict(list)
    for row in prediction.ops:
        rows[row.op.key].append(row)
    for same in sorted(rows.values(), key=lambda same: -sum(float(row.seconds) for row in same)):
        row = same[0]
        parts = row.op.attrs.get("parts", (row.op,))
        shapes = ",".join("x".join(f"{size:g}" for size in t.shape) for t in row.op.inputs[:4])
        made = ",".join("x".join(f"{size:g}" for size in t.shape) for t in row.op.outputs[:3])
        seconds, kernels = (sum(float(getattr(one, name)) for one in same) for name in ("seconds", "kernels"))
        kinds = "+".join(one.attrs.get("stand_in") or one.kind for one in parts)[:150]
        what = f"{row.name.split('…')[0]} {kinds} {row.op.work.bytes / 1e6:.2f} MB"
        print(f"  {seconds * 1e6:9.1f} us {kernels:5.0f} {what} [{shapes}]->[{made}]")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--held", action="store_true")
    args = parser.parse_args()
    rows = json.loads(gzip.decompress((HERE / "compiled_kernels.json.gz").read_bytes()))["rows"]
    rows = [row for row in rows if held(row["model"]) == args.held and (not args.models or row["model"] in args.models)]
    errors, counts = [], []
    share, wrong = defaultdict(float), defaultdict(float)
    lines, families = [], defaultdict(list)
    for seed, seen, prediction in predictions(rows):
        found, busy, kernels = {name: [0.0] * 4 for name in CLASSES}, seen["busy_s"], seen["kernels"]
        found |= sides(seen, prediction, class_of, predicted_class)
        for name, (mine, real, few, many) in sides(seen, prediction, family_of, predicted_family).items():
            families[name].append(((mine - real) / busy, (few - many) / kernels, real / busy, seen["model"]))
        errors.append(float(prediction.busy_s) / busy - 1)
        counts.append(float(prediction.kernels) / kernels - 1)
        for name, (mine, real, few, many) in found.items():
            share[name] += abs(mine - real) / busy
            wrong[name] += abs(few - many) / kernels
        cells = " | ".join(f"{1e3 * a:7.3f} {1e3 * b:7.3f} {c:4.0f} {d:4.0f}" for a, b, c, d in found.values())
        lines.append((abs(errors[-1]), f"{seed:6} {seen['model'][:36]:36} {errors[-1]:+5.0%} {counts[-1]:+5.0%} | {cells}"))
        if args.models:
            print(lines[-1][1])
            detail(seen, prediction)
    if not args.models and not args.held:
        print(*(text for _, text in sorted(lines, reverse=True)), sep="\n")
    for title, values in (("seconds", errors), ("kernels", counts)):
        sizes = [abs(one) for one in values]
        far = f"worst {max(values, key=abs):+.0%}, {len(values)} models"
        print(f"{title}: mean {mean(sizes):.1%}, median {median(sizes):.1%}, bias {mean(values):+.1%}, {far}")
    for name, those in sorted(families.items(), key=lambda one: -sum(abs(part[0]) for part in one[1])):
        text = " ".join(f"{sum(map(size, (part[at] for part in those))) / len(errors):+6.1%}" for at in (0, 1) for size in (abs, float))
        worst = ", ".join(f"{model[:24]} {off:+.0%}" for off, _, _, model in sorted(those, key=lambda one: -abs(one[0]))[:4])
        whole = sum(part[2] for part in those) / len(errors)
        print(f"{name:24} seconds and kernels, size and bias {text}, of {whole:.1%} {'' if args.held else worst}")
    for title, parts in (("seconds", share), ("kernels", wrong)):
        print(f"{title}, |error| of each over the model's own:", ", ".join(f"{name} {parts[name] / len(errors):.1%}" for name in CLASSES))


if __name__ == "__main__":
    main()
