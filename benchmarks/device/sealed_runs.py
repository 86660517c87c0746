"""Time the models of a sealed set on this GPU: totals only, so that nobody can fit a rule to their operators.

    PYTHONPATH=src python3 benchmarks/device/sealed_runs.py --seed 1 --out DIR [--share 1/2] [--processes 10] [--seconds 540] [--turns]

Writes DIR/sealed-1-SHARE.json; `benchmarks/sealed.py keep` puts the shares into the set. Models compile side by side, one
process for a few of them; then the processes take turns, alone on the machine, to run and time theirs. With --turns, eager and
compiled are timed by turns in the same minute, so that a host that drifts slows both alike. With --operators, each
run of the models that were opened is profiled once instead: DIR/opened-1-SHARE.json.gz, every operator with its kernels.
"""

import argparse
import gc
import gzip
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from queue import Empty
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

ON_HOST, MOST_CALLS = ("cpu_op", "user_annotation", "cuda_runtime", "cuda_driver"), 40  # of a profile, and how many are kept
LONGEST = 90  # seconds to compile a model, or to build and first run one
DEVICE = os.environ.get("IRONLAW_DEVICE", "cuda")
METHOD = (
    "Random weights and inputs. kernels and busy_s: number and summed durations of GPU activities from torch.profiler, medians over 5 "
    "calls after 2 warm-up calls; no list of kernels is kept. wall_s: host clock around one call and a synchronise, median of 9. "
    "piped_s: 4 calls queued back to back and one synchronise, per call, median of 3. No other model ran meanwhile. Mode training: "
    "forward, backward and a step of AdamW in train mode. Mode decode: one token for each sequence against a static cache of 1,024 "
    "places, 512 of them written, eager. fp32: PyTorch's defaults, convolutions in TF32. Rows with turns: eager and compiled were timed "
    "by turns, so many times round, wall_s one call and piped_s so many calls queued, medians."
)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", default=".")
    parser.add_argument("--share", default="1/1", help="which part of the set: 1/2 is the first half")
    parser.add_argument("--models", default="", help="only these of them, with commas between")
    parser.add_argument("--processes", type=int, default=12)
    parser.add_argument("--compiling", type=float, default=170.0, help="seconds after which nothing is compiled any more")
    parser.add_argument("--seconds", type=float, default=540.0, help="seconds after which nothing is run any more")
    parser.add_argument("--modes", default="", help="only these, of eager, compiled, training and decode, with commas between")
    parser.add_argument("--larger", action="store_true", help="only the larger batch, and no FP32")
    parser.add_argument("--turns", action="store_true", help="time eager and compiled of a model by turns")
    parser.add_argument("--operators", action="store_true", help="profile each run once, of a set that was opened")
    args = parser.parse_args()
    from sealed import load

    part, parts = map(int, args.share.split("/"))
    drawn = load(args.seed)
    read = operators if args.operators else times
    models = drawn["models"][part - 1 :: parts]
    if args.operators:
        models = [model for model in models if "opened" in model]
    if not models:
        sys.exit(f"set {args.seed} is sealed: nobody looks at its operators until `benchmarks/sealed.py open`")
    models = [model for model in models if not args.models or model["model"] in args.models.split(",")]
    wanted = Wanted(args.modes.split(",") if args.modes else [], args.larger, args.turns)
    begun = time.time()
    until = begun + args.compiling, begun + args.seconds
    context = multiprocessing.get_context("spawn")
    count = min(args.processes, len(models))
    lock, queue, ready = context.Lock(), context.Queue(), context.Semaphore(0)
    workers = [
        context.Process(target=work, args=(models[i::count], count, until, lock, queue, ready, read, wanted), daemon=True)
        for i in range(count)
    ]
    for worker in workers:
        worker.start()
    name = f"{args.seed}-{part}of{parts}.json"
    file = Path(args.out) / (f"opened-{name}.gz" if args.operators else f"sealed-{name}")
    kept = {"machine": {}, "software": {}, "method": METHOD, "rows": []}
    missing = sum(len(wanted.runs(model)) for model in models)
    while missing and time.time() < until[1] + 20:
        try:
            row, kept["software"], kept["machine"] = queue.get(timeout=5)
        except Empty:
            continue
        missing -= 1
        kept["rows"].append(row)
        if not args.operators:
            file.write_text(json.dumps(kept, indent=1))
    if args.operators:
        file.write_bytes(gzip.compress(json.dumps(kept, separators=(",", ":")).encode()))
    failed = [row for row in kept["rows"] if "error" in row]
    print(f"{len(kept['rows'])} runs of {len(models)} models, {len(failed)} without a time, {missing} never heard of")
    for row in failed:
        print(row["library"], row["model"], row["mode"], row["dtype"], row["batch"], row["error"][:160])


@dataclass(frozen=True)
class Wanted:
    """Which runs of a model are timed."""

    modes: list[str]
    larger: bool
    turns: bool = False

    def runs(self, model):
        from sealed import runs

        return [
            (mode, dtype, batch)
            for mode, dtype, batch in runs(model)
            if (not self.modes or mode in self.modes) and not (self.larger and (batch == 1 or dtype == "fp32"))
        ]


def work(models, count, until, lock, queue, ready, read, wanted):
    """One process: compile its models while the others do, then run and time them in turn, alone on the machine."""
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "2")
    import torch
    from gpu import GPU

    from ironlaw.measure.software_host import software

    signal.signal(signal.SIGALRM, out_of_time)
    compiled = [compile_first(model, until[0], wanted) for model in models]
    ready.release()
    while ready.get_value() < count and time.time() < until[0] + 5:
        time.sleep(0.2)
    told = software(), GPU.machine() | {"hardware": "h200_sxm"}
    for model, call in zip(models, compiled, strict=True):
        for row in measured(model, call, until[1], lock, read, wanted):
            queue.put((row, *told))
            gc.collect()
            torch.cuda.empty_cache()


def out_of_time(*_):
    raise TimeoutError("compiling took too long")


def compile_first(model, until, wanted):
    """The compiled call after its first run, or why there is none."""
    import torch
    from sealed import COMPILED, call_of

    begun = time.time()
    if "compiled" not in [mode for mode, *_ in wanted.runs(model)]:
        return "not compiled"
    if until - begun < 20:
        return "no time left to compile"
    signal.alarm(int(min(until - begun, LONGEST)))
    try:
        call = call_of(model, *COMPILED, batch=model["batch"], device=DEVICE)
        call()
        sync()
        print(f"{model['model']}: compiled in {time.time() - begun:.0f} s", flush=True)
        return call
    except Exception as error:
        return reason(error)
    finally:
        signal.alarm(0)
        gc.collect()
        torch.cuda.empty_cache()


def measured(model, compiled, until, lock, read, wanted):
    """Each run's totals, or why there are none."""
    from sealed import COMPILED, call_of

    by_turns = both(model, compiled, until, lock) if wanted.turns else {}
    for mode, dtype, batch in wanted.runs(model):
        row = {"library": model["library"], "model": model["model"], "mode": mode, "dtype": dtype, "batch": batch}
        if (mode, dtype, batch) in by_turns:
            yield row | by_turns[mode, dtype, batch]
            continue
        try:
            ready = (mode, dtype) == COMPILED
            if ready and isinstance(compiled, str):
                raise RuntimeError(compiled)
            if time.time() > until:
                raise TimeoutError("no time left")
            with lock:  # building and the first call too: they would run beside somebody's measurement
                signal.alarm(LONGEST)
                call = compiled if ready else call_of(model, mode, dtype, batch=batch, device=DEVICE)
                call()
                sync()
                signal.alarm(0)
                row.update(read(call))
        except Exception as error:
            row["error"] = reason(error)
        finally:
            signal.alarm(0)
        call = None
        yield row
    print(f"{model['model']}: done", flush=True)


def both(model, compiled, until, lock):
    """Totals of the eager and the compiled run, timed by turns; nothing where one of them can't be run."""
    from sealed import COMPILED, call_of

    if isinstance(compiled, str) or time.time() > until:
        return {}
    try:
        with lock:
            signal.alarm(LONGEST)
            calls = [call_of(model, "eager", COMPILED[1], batch=model["batch"], device=DEVICE), compiled]
            for call in calls:
                call()
            sync()
            signal.alarm(0)
            walls = walls_by_turns(calls)
            totals = [times(call) for call in calls]
    except Exception as error:
        print(f"{model['model']}: not by turns: {reason(error)}", flush=True)
        return {}
    finally:
        signal.alarm(0)
    runs = [("eager", COMPILED[1], model["batch"]), (*COMPILED, model["batch"])]
    return {run: total | wall for run, total, wall in zip(runs, totals, walls, strict=True)}


def walls_by_turns(calls, **how):
    """wall_s and piped_s of each call, medians over the turns."""
    from changes import CALLS, TURNS, timed

    how = {"turns": TURNS, "queued": CALLS} | how
    piped, walls = timed(calls, sync, **how)
    return [
        {"wall_s": round(median(waited), 9), "piped_s": round(median(queued), 9), "turns": how["turns"], "calls": how["queued"]}
        for queued, waited in zip(piped, walls, strict=True)
    ]


def sync():
    from gpu import sync

    sync()


def times(call):
    """Totals of one call."""
    from gpu import GPU

    from ironlaw.measure.devices.kernel_times import profile

    call()
    sync()
    walls, piped = [], []
    for _ in range(3):
        for _ in range(3):
            start = time.perf_counter()
            call()
            sync()
            walls.append(time.perf_counter() - start)
        start = time.perf_counter()
        for _ in range(4):
            call()
        sync()
        piped.append((time.perf_counter() - start) / 4)
    seen = profile(GPU, [lambda: call], warmup=2, iterations=5, keep=0)[0]
    if "error" in seen:
        raise RuntimeError(seen["error"])
    return {"kernels": seen["kernels"], "busy_s": seen["busy_s"], "wall_s": round(median(walls), 9), "piped_s": round(median(piped), 9)}


def operators(call):
    """Every operator that launched something, in order: its name, what went in, and its kernels with their seconds and blocks. Beside
    them what the host did: how often each call was made, and its seconds, those of the calls within it included."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    call()
    sync()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True) as seen:
        call()
        sync()
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        seen.export_chrome_trace(file.name)
        events = json.loads(Path(file.name).read_text())["traceEvents"]
    named = {event["args"]["External id"]: event for event in events if event.get("cat") == "cpu_op"}
    launched, found = [event for event in events if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")], []
    for event in sorted(launched, key=lambda event: event["ts"]):
        source = named.get(event["args"].get("External id"), {"name": "", "args": {}})
        if not found or found[-1]["id"] != event["args"].get("External id"):
            given = {key: source["args"].get(key) for key in ("Input Dims", "Input Strides", "Input type", "Concrete Inputs")}
            found.append({"id": event["args"].get("External id"), "op": source["name"], **given, "kernels": []})
        found[-1]["kernels"].append([event["name"][:120], round(event["dur"] * 1e-6, 10), event["args"].get("grid")])
    host = {}
    for event in events:
        if event.get("cat") in ON_HOST:
            seen_before = host.setdefault(event["name"][:80], [0, 0.0])
            seen_before[0], seen_before[1] = seen_before[0] + 1, round(seen_before[1] + event["dur"] * 1e-6, 9)
    longest = dict(sorted(host.items(), key=lambda item: -item[1][1])[:MOST_CALLS])
    total = sum(event["dur"] for event in launched) * 1e-6
    return {"kernels": len(launched), "busy_s": total, "operators": found, "host": longest, "torch": torch.__version__}


def reason(error):
    return f"{type(error).__name__}: {str(error)[:200]}"


if __name__ == "__main__":
    main()
