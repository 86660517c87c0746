"""Which gradients to measure next: what training the corpus' models would run, seen from the ops that they run forwards.

    PYTHONPATH=src python benchmarks/corpus/gradients.py --cases src/ironlaw/measure/suites/cuda/cases/training_shapes.json
    PYTHONPATH=src python benchmarks/corpus/gradients.py --compiled --cases src/ironlaw/measure/suites/cuda/cases/compiled_shapes.json

Of each op those shapes are chosen around which most predicted time lies. With `--compiled`: convolutions as torch.compile runs them, in
NHWC, as far as no measured row is near.
"""

import argparse
import math
from collections import defaultdict
from pathlib import Path

from suite_specs import convolution, spec_of
from uncovered import write_cases

import ironlaw as il
from ironlaw.backends.evidence_ops import OPS
from ironlaw.calibration.coverage import coverage
from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.work import with_attrs
from ironlaw.registry.corpus_signatures import corpus

MACHINE = "h200_sxm"
COUNTS = {
    "conv2d_backward": 190, "conv2d": 40, "batch_norm_train": 24, "batch_norm_backward": 24, "layer_norm_backward": 20, "sum_columns": 24,
    "sdpa_backward": 24,
}  # fmt: skip
COMPILED = 90
REACH = 1.0  # doublings within which one row speaks for another
LARGEST = 2**28  # elements of a tensor


def backward(seen):
    """Specs of what follows from one op forwards, in BF16."""
    op = seen.op
    if not op.inputs:
        return
    x, y = op.inputs[0], op.outputs[0]
    if op.kind == "conv2d" and op.attrs.get("dims", 2) == 2 and op.dtype in ("fp16", "bf16"):
        name, params = convolution(op)
        params |= {"dtype": "bf16"}
        yield name, params
        yield "conv2d_backward", {key: value for key, value in params.items() if key != "bias"}
    elif op.kind == "batch_norm" and len(x.shape) == 4 and "layout" not in op.attrs:
        sizes = dict(zip(("n", "c", "h", "w"), x.shape, strict=True))
        yield "batch_norm_train", sizes | {"dtype": "bf16"}
        yield "batch_norm_backward", sizes | {"dtype": "bf16"}
    elif op.kind == "layer_norm":
        width = int(op.attrs.get("row", x.shape[-1]))
        yield "layer_norm_backward", {"rows": round(x.size / width), "width": width, "dtype": "bf16"}
    elif op.kind == "linear" and len(op.inputs) > 2:
        yield "sum_columns", {"rows": round(y.size / y.shape[-1]), "cols": y.shape[-1], "dtype": "bf16"}
    elif op.kind == "attention" and len(op.inputs) == 3 and len(x.shape) == 4 and x.shape == op.inputs[1].shape:
        b, h, s, d = x.shape
        yield "sdpa_backward", {"b": b, "h": h, "s": s, "d": d, "causal": int(bool(op.attrs.get("causal"))), "dtype": "bf16"}


def weighed(specs, hardware):
    """{op: {params: predicted seconds of all the corpus, each run counting the same}}"""
    groups = defaultdict(lambda: defaultdict(float))
    for (name, params), weight in specs:
        op = OPS[name](params)
        if all(0 < t.size <= LARGEST for t in (*op.inputs, *op.outputs)):
            groups[name][tuple(params.items())] += weight * float(hardware.calibration.cost(op, hardware, Plan()).device)
    return groups


def chosen(weights, count):
    """Greedy: the shapes around which most time lies."""
    left = sorted(weights.items(), key=lambda item: -item[1])[:2500]
    places = [tuple(math.log2(v) if isinstance(v, (int, float)) and v > 0 else 0.0 for _, v in params) for params, _ in left]
    kinds = [tuple(v for _, v in params if isinstance(v, str)) for params, _ in left]
    near = [[j for j in range(len(left)) if kinds[i] == kinds[j] and math.dist(places[i], places[j]) <= REACH] for i in range(len(left))]
    picked, uncovered = [], set(range(len(left)))
    while uncovered and len(picked) < count:
        best = max(sorted(uncovered), key=lambda i: (sum(left[j][1] for j in near[i] if j in uncovered), -i))
        picked.append(dict(left[best][0]))
        uncovered -= {*near[best], best}
    share = 1.0 - sum(left[j][1] for j in uncovered) / sum(weights.values())
    print(f"{len(picked)} of {len(weights)} shapes, {share:.0%} of the time within reach")
    return picked


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--cases", type=Path, required=True)
    args = parser.parse_args()
    hardware, seen = il.hardware(MACHINE), corpus("eager").seen
    if args.compiled:
        convolutions = [
            (with_attrs(one.op, layout="nhwc"), one.weight) for one in seen if one.op.kind == "conv2d" and one.op.dtype == "fp16"
        ]
        plain = [(op, weight) for op, weight in convolutions if op.attrs.get("dims", 2) == 2 and coverage(op, hardware).place != "inside"]
        specs, counts = [(spec_of(op), weight) for op, weight in plain], {"conv2d": COMPILED}
    else:
        specs, counts = [(spec, one.weight) for one in seen for spec in backward(one)], COUNTS
    groups = weighed([pair for pair in specs if pair[0]], hardware)
    cases = []
    for name, count in counts.items():
        print(name, end=": ")
        cases += [(name, params) for params in chosen(groups[name], count)]
    write_cases(args.cases, cases)


if __name__ == "__main__":
    main()
