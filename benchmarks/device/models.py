"""Time whole models on one GPU and write the result as evidence.

    PYTHONPATH=src python3 benchmarks/device/models.py --out DIR [--seconds 270] [--limit N]

Writes DIR/models.json: one row per model, shape and mode (eager, compiled).
Weights are random, so nothing is downloaded. Needs torch and transformers.
"""

import argparse
import collections
import os
import time

import builders_language
import builders_plain
import builders_vision
import torch
from builders import build_model
from gpu import GPU, clock, sync, write
from torch.utils._python_dispatch import TorchDispatchMode

from ironlaw.measure.devices.kernel_times import profile

METHOD = (
    "Inference under no_grad in eval mode, random weights and inputs. kernels, "
    "busy_s and list: GPU activity durations from torch.profiler (CUDA "
    "activity only), medians over 5 calls after 2 warm-up calls, a marker "
    "kernel before every call. wall_s: host clock around one call and a "
    "synchronise, median of 25 (fewer for slow models). piped_s: host clock "
    "over 10 calls queued back to back and one synchronise, per call, median "
    "of 5. "
    "Both are taken for all rows before the profiler is first started. "
    "compile_s: first call after torch.compile. aten: operators seen by a "
    "TorchDispatchMode in one eager call."
)
LISTS = (builders_vision.BUILDERS, builders_language.BUILDERS, builders_plain.BUILDERS)
MODELS = [entry for builders in LISTS for entry in builders.models]
COMPILED = [entry for builders in LISTS for entry in builders.compiled]


class Count(TorchDispatchMode):
    """Counts the operators that reach the dispatcher."""

    def __init__(self):
        super().__init__()
        self.seen = collections.Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen[str(func).removeprefix("aten.")] += 1
        return func(*args, **(kwargs or {}))


def clock_row(name, params, build, mode):
    """A row with the host's times, and the call for the profiler."""
    row = {"kind": "model", "model": name, "params": params, "mode": mode}
    try:
        built, args, kwargs = build_model(params, build, GPU.NAME)
        row["parameters"] = sum(p.numel() for p in built.parameters())
        run = torch.compile(built) if mode == "compiled" else built

        def call():
            run(*args, **kwargs)

        sync()
        start = time.perf_counter()
        call()
        sync()
        if mode == "compiled":
            row["compile_s"] = round(time.perf_counter() - start, 3)
        call()
        row["wall_s"], row["piped_s"] = clock(call)
        if mode == "eager":
            with Count() as counted:
                call()
            row["aten"] = dict(sorted(counted.seen.items()))
        return row, call
    except Exception as error:
        row["error"] = f"{type(error).__name__}: {str(error)[:300]}"
        return row, None


def main():
    """Clock every model, compiled ones while time lasts, then profile them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=".", help="folder for models.json")
    parser.add_argument("--seconds", type=float, default=270.0)
    parser.add_argument("--limit", type=int, help="at most this many models")
    parser.add_argument("--only", help="only models whose name holds this")
    parser.add_argument("--no-compile", action="store_true")
    args = parser.parse_args()
    path = os.path.join(args.out, "models.json")
    torch.manual_seed(0)
    begun = time.monotonic()
    todo = [(*entry, "eager") for entry in MODELS]
    if not args.no_compile:
        todo += [(*entry, "compiled") for entry in COMPILED]
    todo = [entry for entry in todo if not args.only or args.only in entry[0]]
    clocked, slowest = [], 0.0
    with torch.no_grad():
        for name, params, build, mode in todo[: args.limit]:
            spent = time.monotonic() - begun
            # Profiling what was clocked takes about a tenth of the time.
            if spent + (slowest if mode == "compiled" else 0) > 0.85 * args.seconds:
                print("no time for", name, params["batch"], mode, flush=True)
                continue
            clocked.append(clock_row(name, params, build, mode))
            if mode == "compiled":
                slowest = max(slowest, time.monotonic() - begun - spent)
            write(path, METHOD, [row for row, _ in clocked])
        print(f"clocked in {time.monotonic() - begun:.1f} s", flush=True)
        for row, call in clocked:
            if call is not None:
                run = [lambda call=call: call]
                row.update(profile(GPU, run, warmup=2, iterations=5, keep=40)[0])
            print(
                f"{time.monotonic() - begun:6.1f} s",
                row["model"], row["params"]["batch"], row["mode"],
                row.get("kernels"), row.get("busy_s"), row.get("wall_s"),
                row.get("piped_s"), row.get("compile_s", ""),
                row.get("error", ""), flush=True,
            )  # fmt: skip
        write(path, METHOD, [row for row, _ in clocked])
    print("rows", len(clocked), f"in {time.monotonic() - begun:.1f} s", flush=True)


if __name__ == "__main__":
    main()
