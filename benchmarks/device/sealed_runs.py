"""Time the models of a sealed set on this GPU: totals only, so that nobody can fit a rule to their operators.

    PYTHONPATH=src python3 benchmarks/device/sealed_runs.py --seed 1 --out DIR [--share 1/2] [--processes 10] [--seconds 540]

Writes DIR/sealed-1-SHARE.json; `benchmarks/sealed.py keep` puts the shares into the set. Models compile side by side, one
process for a few of them; then the processes take turns, alone on the machine, to run and time theirs.
"""

import argparse
import gc
import json
import multiprocessing
import os
import sys
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

METHOD = (
    "Random weights and inputs. kernels and busy_s: number and summed durations of GPU activities from torch.profiler, medians over 5 "
    "calls after 2 warm-up calls; no list of kernels is kept. wall_s: host clock around one call and a synchronise, median of 9. "
    "piped_s: 6 calls queued back to back and one synchronise, per call, median of 3. Nothing else ran meanwhile. Mode training: "
    "forward, backward and a step of AdamW in train mode. Mode decode: one token for each sequence against a static cache of 1,024 "
    "places, 512 of them written, eager. fp32: PyTorch's defaults, convolutions in TF32."
)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", default=".")
    parser.add_argument("--share", default="1/1", help="which part of the set: 1/2 is the first half")
    parser.add_argument("--processes", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=540.0, help="what begins later is left out and said so")
    args = parser.parse_args()
    from sealed import load

    part, parts = map(int, args.share.split("/"))
    models = load(args.seed)["models"][part - 1 :: parts]
    end = time.monotonic() + args.seconds
    context = multiprocessing.get_context("spawn")
    count = min(args.processes, len(models))
    shared = context.Barrier(count), context.Lock(), context.Queue()
    workers = [context.Process(target=work, args=(models[i::count], i, end, *shared)) for i in range(count)]
    for worker in workers:
        worker.start()
    rows, software, machine = [], {}, {}
    for _ in range(count):
        mine, software, machine = shared[2].get(timeout=args.seconds + 60)
        rows += mine
        file = Path(args.out) / f"sealed-{args.seed}-{part}of{parts}.json"
        file.write_text(json.dumps({"machine": machine, "software": software, "method": METHOD, "rows": rows}, indent=1))
    for worker in workers:
        worker.join(30)
    failed = [row for row in rows if "error" in row]
    print(f"{len(rows)} runs of {len(models)} models, {len(failed)} without a time")
    for row in failed:
        print(row["library"], row["model"], row["mode"], row["dtype"], row["batch"], row["error"][:160])


def work(models, number, end, barrier, lock, queue):
    """One process: compile all, wait for the others, then measure in turn."""
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "2")
    import torch
    from gpu import GPU

    from ironlaw.measure.host import software

    torch.manual_seed(number)
    rows = []
    try:
        compiled = [compile_first(model, end) for model in models]
        barrier.wait(max(end - time.monotonic(), 1))
        for model, call in zip(models, compiled, strict=True):
            with lock:
                rows += measure(model, call, end)
    except Exception as error:
        rows.append({"library": "", "model": f"process {number}", "mode": "", "dtype": "", "batch": 0, "error": reason(error)})
    queue.put((rows, software(), GPU.machine() | {"hardware": "h200_sxm"}))


def compile_first(model, end):
    """The compiled call after its first run, or why there is none."""
    import torch
    from sealed import COMPILED, call_of

    begun = time.monotonic()
    if model.get("only"):
        return "not compiled"
    if end - begun < 0.55 * 540:
        return "no time left to compile"
    try:
        call = call_of(model, *COMPILED, batch=model["batch"], device="cuda")
        call()
        torch.cuda.synchronize()
        print(f"{model['model']}: compiled in {time.monotonic() - begun:.0f} s", flush=True)
        return call
    except Exception as error:
        return reason(error)
    finally:
        gc.collect()
        torch.cuda.empty_cache()


def measure(model, compiled, end):
    import torch
    from sealed import COMPILED, call_of, runs

    rows = []
    for mode, dtype, batch in runs(model):
        row = {"library": model["library"], "model": model["model"], "mode": mode, "dtype": dtype, "batch": batch}
        rows.append(row)
        if time.monotonic() > end:
            row["error"] = "no time left"
            continue
        try:
            ready = (mode, dtype) == COMPILED and batch == model["batch"]
            if ready and isinstance(compiled, str):
                raise RuntimeError(compiled)
            call = compiled if ready else call_of(model, mode, dtype, batch=batch, device="cuda")
            row.update(times(call))
        except Exception as error:
            row["error"] = reason(error)
        call = None
        gc.collect()
        torch.cuda.empty_cache()
    print(f"{model['model']}: {sum('error' not in row for row in rows)} of {len(rows)} runs", flush=True)
    return rows


def times(call):
    """Totals of one call."""
    from gpu import GPU, sync

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
        for _ in range(6):
            call()
        sync()
        piped.append((time.perf_counter() - start) / 6)
    seen = profile(GPU, [lambda: call], warmup=2, iterations=5, keep=0)[0]
    if "error" in seen:
        raise RuntimeError(seen["error"])
    return {"kernels": seen["kernels"], "busy_s": seen["busy_s"], "wall_s": round(median(walls), 9), "piped_s": round(median(piped), 9)}


def reason(error):
    return f"{type(error).__name__}: {str(error)[:200]}"


if __name__ == "__main__":
    main()
