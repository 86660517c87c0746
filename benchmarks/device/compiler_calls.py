"""Times each call of a library that Inductor makes in open models of own code, with the strides its inputs have by then.

    PYTHONPATH=src python3 benchmarks/device/compiler_calls.py --plans DIR/plans-open.json.gz --out DIR [--seconds 150]

Writes DIR/compiler_calls.json.gz: a row per distinct call, with the kernels that the profiler saw, each alone on the machine. Random
data; integers are zeros, since what they index is not known. Calls that occur in most models come first.
"""

import argparse
import gzip
import json
import random
import sys
import time
from collections import Counter
from math import prod
from pathlib import Path

import torch

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
from gpu import GPU  # noqa: E402

from ironlaw.measure.devices.kernel_times import profile  # noqa: E402

BATCH, LARGEST = 60, 6e9  # calls in one session of the profiler; bytes of a call's inputs


def filled(value):
    """A described tensor with data; anything else as it is."""
    if isinstance(value, list):
        return [filled(one) for one in value]
    if not isinstance(value, dict):
        return value
    if "torch" in value:
        return torch.device("cuda") if value["torch"] == "device" else getattr(torch, value["torch"])
    size, stride, dtype = value["tensor"]
    made = torch.empty_strided(size, stride, dtype=getattr(torch, dtype), device="cuda")
    return made.normal_() if made.is_floating_point() or made.is_complex() else made.zero_()


def bytes_of(value):
    if isinstance(value, list):
        return sum(map(bytes_of, value))
    return prod(value["tensor"][0]) * 4 if isinstance(value, dict) and "tensor" in value else 0


def prepared(step):
    def prepare():
        target = torch.ops
        for part in step["call"].split("."):
            target = getattr(target, part)
        args, kwargs = [filled(one) for one in step["args"]], {name: filled(one) for name, one in step["kwargs"].items()}
        return lambda: target(*args, **kwargs)

    return prepare


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plans", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("."))
    parser.add_argument("--seconds", type=float, default=150.0)
    args = parser.parse_args()
    until, occurs = time.time() + args.seconds, Counter()
    for row in json.loads(gzip.decompress(args.plans.read_bytes())):
        if not isinstance(row["steps"], str):
            calls = {json.dumps(step, sort_keys=True) for step in row["steps"] if "call" in step}
            occurs.update(one for one in calls if bytes_of(list(json.loads(one)["args"])) < LARGEST)
    keys = sorted(occurs)
    random.Random(1).shuffle(keys)
    rows = []
    for start in range(0, len(keys), BATCH):
        if time.time() > until:
            break
        steps = [json.loads(key) for key in keys[start : start + BATCH]]
        with torch.no_grad():
            seen = profile(GPU, [prepared(step) for step in steps], warmup=2, iterations=3, keep=8, each=lambda _: time.time() < until + 10)
        for step, one in zip(steps, seen, strict=False):
            rows.append(step | {key: one[key] for key in ("busy_s", "kernels", "list", "error") if key in one})
        torch.cuda.empty_cache()
    (args.out / "compiler_calls.json.gz").write_bytes(gzip.compress(json.dumps(rows, separators=(",", ":")).encode()))
    print(f"{len(rows)} of {len(keys)} calls, {sum('busy_s' in row for row in rows)} timed")
    print(Counter(row["error"][:90] for row in rows if "error" in row).most_common(6))


if __name__ == "__main__":
    main()
