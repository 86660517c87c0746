"""Operators of opened models of own code as evidence: what own_runs.py profiled with --operators -> registry/evidence/h200_sxm.

    python benchmarks/device/captured_rows.py DIR/own-*-open-1of1.operators.json.gz [--add]

Every call of ATen that takes a hundredth of a run is called again on tensors without data and captured, so that a row holds the very op
that a prediction is made of. Calls that come to the same op count once: the median occurrence of those with the usual number of kernels.
Left out: attention (its layouts differ from what is captured), recurrent layers, optimisers, and results of a size that depends on values.
"""

import argparse
import ast
import gzip
import json
import sys
import warnings
from collections import defaultdict
from datetime import UTC, datetime
from math import prod
from pathlib import Path

import torch

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from profile_rows import EVIDENCE, row  # noqa: E402

import ironlaw as il  # noqa: E402
from ironlaw.backends.cuda import CONVOLUTIONS  # noqa: E402
from ironlaw.backends.cuda.lowering import GRADIENTS  # noqa: E402
from ironlaw.backends.evidence_moves import captured_params  # noqa: E402
from ironlaw.backends.evidence_ops import OPS  # noqa: E402
from ironlaw.engine.device.lower_bound import least  # noqa: E402
from ironlaw.engine.device.work import category  # noqa: E402

LONG = 2e-3  # seconds of a product from which the chip's power limit tells
SHARE = 0.01  # of a run's device time that all its calls of a shape take together
FORMATS = {"c10::Half": "fp16", "c10::BFloat16": "bf16", "float": "fp32"}
DTYPES = {
    "c10::Half": torch.float16, "c10::BFloat16": torch.bfloat16, "float": torch.float32, "long int": torch.int64, "int": torch.int32,
    "bool": torch.bool, "unsigned char": torch.uint8, "signed char": torch.int8, "c10::complex<float>": torch.complex64,
}  # fmt: skip
OF_LIST = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}  # the profiler names no format of a list's tensors
LEFT_OUT = ("attention", "rnn", "_foreach", "_fused_adam", "linalg", "index_put")
METHOD = (
    "Operators within whole models of own code that were opened (benchmarks/device/own): each model's call profiled once after its warm-up "
    "(own_runs.py --operators: torch.profiler, CPU and CUDA activities, shapes recorded), eager, compiled and training. captured: the op "
    "as `ironlaw` captures the same call on tensors without data. busy_s: the kernels, memsets and memcpys that the operator launched, of "
    "the median occurrence where a shape occurs several times with as many kernels. Tensors lie in cache or memory as the model leaves "
    "them there. tf32: FP32 tensors under PyTorch's defaults, convolutions in TF32."
)


def plain_convolution(a, pad, stride, dilation, groups, transposed=False, more=None):
    return "convolution", [a[0], a[1], None, stride, pad, dilation, transposed, more or [0] * len(pad), groups]


# calls of a library that capture knows by another name: its arguments -> that name, and the arguments there
SAME = {
    "cudnn_convolution": lambda a: plain_convolution(a, a[2], a[3], a[4], a[5]),
    "cudnn_convolution_transpose": lambda a: plain_convolution(a, a[2], a[4], a[5], a[6], True, a[3]),
    "_conv_depthwise2d": lambda a: plain_convolution(a, a[5], a[4], a[6], a[0].shape[1]),
    "conv_depthwise3d": lambda a: plain_convolution(a, a[5], a[4], a[6], a[0].shape[1]),
    "cudnn_batch_norm": lambda a: ("native_batch_norm", a[:8]),
}
WEIGHTS = {"mm": 1, "addmm": 2, "convolution": 1, "convolution_backward": 2, "native_layer_norm": 2, "native_group_norm": 1}


class Called(torch.nn.Module):
    """A call whose weight is a parameter, so that capture knows it for one."""

    def __init__(self, call, weight, at):
        super().__init__()
        turned = weight.dim() == 2 and weight.stride(0) == 1 and weight.stride(1) != 1
        self.weight = torch.nn.Parameter(weight.t() if turned else weight)
        self.call, self.at, self.turned = call, at, turned

    def forward(self, *others):
        weight = self.weight.t() if self.turned else self.weight
        return self.call(*others[: self.at], weight, *others[self.at :])


def arguments(seen, dtype):
    """What a call was given, its tensors without data."""
    return [given(*each, dtype) for each in zip(*(seen[key] for key in KEYS[1:]), strict=True)]


def given(dims, strides, kind, concrete, dtype):
    if kind == "TensorList":
        return [torch.empty_strided(*each, dtype=OF_LIST[dtype], device="meta") for each in zip(dims, strides, strict=True)]
    if kind in DTYPES:
        return torch.empty_strided(dims, strides, dtype=DTYPES[kind], device="meta")
    return ast.literal_eval(concrete.replace("inf", "1e999")) if concrete not in ("", "None") else None


def fits(call, args):
    """Whether tensors stand where an overload wants tensors, and numbers where it wants numbers."""
    for wanted, value in zip(call._schema.arguments, args, strict=False):
        tensor = isinstance(value, torch.Tensor)
        if (str(wanted.type) == "Tensor" and not tensor) or (str(wanted.type) in ("number", "int", "float") and tensor):
            return False
    return len(args) <= len(call._schema.arguments)


def captured(seen, dtype):
    """The one op that a call comes to; None where it is none, or several."""
    name, args = seen["op"].removeprefix("aten::"), arguments(seen, dtype)
    if name in SAME:
        name, args = SAME[name](args)
    if name == "convolution_backward":
        args[10] = [*args[10][:2], False]  # the bias's gradient is a sum, which the profiler lists by itself
    for overload in getattr(torch.ops.aten, name).overloads():
        call = getattr(getattr(torch.ops.aten, name), overload)
        if "out" in overload or not fits(call, args):
            continue
        ops = [op for op in ops_of(call, name, args) if op.work.launches]
        return ops[0] if len(ops) == 1 else None
    return None


def ops_of(call, name, args):
    wanted = call._schema.arguments
    plain = [value for each, value in zip(wanted, args, strict=False) if not each.kwarg_only]
    named = {each.name: value for each, value in zip(wanted, args, strict=False) if each.kwarg_only and value is not None}
    at = WEIGHTS.get(name)
    gradient = name == "mm" and plain[0].stride(0) == 1 and plain[0].stride(1) != 1  # of a weight: both are activations
    with torch.no_grad():
        if at is None or gradient or not isinstance(plain[at], torch.Tensor):
            return il.capture(lambda *given: call(*given, **named), tuple(plain)).ops
        others = (*plain[:at], *plain[at + 1 :])
        return il.capture(Called(lambda *given: call(*given, **named), plain[at], at), others).ops


def params(op):
    """An op as a row holds it; convolutions of FP32 tensors run in TF32."""
    return captured_params(op, "tf32" if op.kind in CONVOLUTIONS and op.inputs[0].dtype == "fp32" else "")


def whole_rows(seen, kernels):
    """Rows that an index picks, a block for each: the profiler names no index, but the kernel's grid says how many rows there were."""
    table, dtype = seen["Input Dims"][0], FORMATS.get(seen["Input type"][0])
    name, _, grid = kernels[0]
    if "vectorized_gather" not in name or not dtype:
        return None
    return ("rows", table[0]), ("cols", prod(table[1:])), ("picks", grid[0]), ("dtype", dtype)


def believed(found, machine):
    """Not what is faster than the machine can be, which was another call than the one captured; nor a long product, which a model's heat
    slows down."""
    op = OPS["captured"](found["params"])
    hot = category(op.kind) == "contraction" and found["busy_s"] > LONG
    return not hot and found["busy_s"] >= least(op, machine, machine.calibration.cache_bytes)


def brief(found):
    """Without the names of kernels where no curve asks for them."""
    named = found["params"].get("kind") in GRADIENTS and found["kernels"] > 1
    return {name: value for name, value in found.items() if named or name != "list"}


def name_of(found):
    return found["op"], json.dumps(found["params"], sort_keys=True)


KEYS = ("op", "Input Dims", "Input Strides", "Input type", "Concrete Inputs")


def shapes_of(files):
    """(call, format of the run) -> the kernels of every occurrence, of calls that take a share of a run worth knowing."""
    found, shares = defaultdict(list), defaultdict(float)
    for file in files:
        for run in json.loads(gzip.decompress(file.read_bytes()))["rows"]:
            calls = {}
            if "error" in run:  # it ended before its call did
                continue
            for seen in run.get("operators", ()):  # what one call launches may be listed in parts
                calls.setdefault(seen["id"], seen | {"kernels": []})["kernels"].extend(seen["kernels"])
            spent = defaultdict(float)
            for seen in calls.values():
                if seen["op"].startswith("aten::") and seen["Input Dims"] and not any(word in seen["op"] for word in LEFT_OUT):
                    key = json.dumps([seen[name] for name in KEYS] + [run["dtype"] if "TensorList" in seen["Input type"] else ""])
                    found[key].append(seen["kernels"])
                    spent[key] += sum(seconds for _, seconds, _ in seen["kernels"])
            whole = sum(sum(seconds for _, seconds, _ in seen["kernels"]) for seen in calls.values())
            for key, seconds in spent.items():
                shares[key] = max(shares[key], seconds / whole)
    return {key: kernels for key, kernels in found.items() if shares[key] >= SHARE}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, default=EVIDENCE / "own_operators.json")
    parser.add_argument("--add", action="store_true", help="to the rows that --out has; an op that is there already keeps its row")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    ops, picked, failed = defaultdict(list), defaultdict(list), defaultdict(int)
    for key, occurrences in shapes_of(args.files).items():
        *fields, dtype = json.loads(key)
        seen = dict(zip(KEYS, fields, strict=True))
        if seen["op"] == "aten::index":
            for kernels in occurrences:
                if found := whole_rows(seen, kernels):
                    picked[found].append(kernels)
            continue
        try:
            op = captured(seen, dtype)
        except Exception as error:
            failed[f"{seen['op']}: {type(error).__name__} {str(error)[:100]}"] += 1
            continue
        if op is not None and op.kind != "unknown":
            ops[json.dumps(params(op))] += occurrences
    machine = il.hardware("h200_sxm")
    profiled = json.loads(gzip.decompress(args.files[0].read_bytes()))
    head = {"format": "ironlaw-evidence/1", "machine": profiled["machine"], "software": profiled["software"]}
    head |= {"date": datetime.now(UTC).date().isoformat(), "method": METHOD}
    rows = [brief(row("captured", json.loads(op), occurrences)) for op, occurrences in ops.items()]
    rows = [each for each in rows if believed(each, machine)]
    rows += [brief(row("index", dict(op), occurrences)) for op, occurrences in picked.items()]
    if args.add:
        kept = json.loads(args.out.read_text())
        known = {name_of(each) for each in kept["rows"]}
        rows = kept["rows"] + [each for each in rows if name_of(each) not in known]
    lines = ",\n".join("  " + json.dumps(each, separators=(",", ":")) for each in rows)
    args.out.write_text(json.dumps(head, indent=1)[:-2] + f',\n "rows": [\n{lines}\n ]\n}}\n')
    print(f"{len(rows)} rows in {args.out.name}")
    for what, count in sorted(failed.items(), key=lambda item: -item[1]):
        print(f"  not captured, {count}: {what}")


if __name__ == "__main__":
    main()
