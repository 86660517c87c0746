"""What is in memory when a compiled model of own code needs most of it: every block that the allocator holds then, and who asked for it.

    PYTHONPATH=src python3 benchmarks/device/compiled_peaks.py --out DIR [--models a,b,c] [--sets own-8,own-7] [--seconds 200]

Writes DIR/compiled_peaks.json, as models come: the peak of a call after the first, and the blocks that are live at it, made before the call
(`held`) or during it (each with its bytes and the line that made it, of Inductor's wrapper for its buffers). Only models that are open.
"""

import argparse
import json
import linecache
import multiprocessing
import os
import sys
import time
from pathlib import Path
from queue import Empty

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
METHOD = (
    "Models of benchmarks/device/own, no_grad, eager and compiled, the format that is timed compiled. After two calls the allocator's"
    " history is recorded for one more (torch.cuda.memory._record_memory_history). peak_bytes: the most that was allocated during it;"
    " held_bytes: what was allocated before it; both less what the process held before the model was built. blocks: those allocated"
    " during the call that are live at the peak, in order: [bytes, the line of code that asked]."
)


def line_of(frames):
    """The innermost line of Python, without PyTorch's own where another is there."""
    outside = [one for one in frames if "/torch/" not in one["filename"] or "torchinductor" in one["filename"]]
    one = (outside or frames or [{"filename": "?", "line": 0, "name": "?"}])[0]
    text = linecache.getline(one["filename"], one["line"]).strip() or one["name"]
    return text[:160]


def at_peak(events, begun):
    """(most bytes, blocks live then) of the allocator's events, counted from `begun` bytes."""
    live, total, best, blocks = {}, begun, begun, []
    for event in events:
        if event["action"] == "alloc":
            live[event["addr"]] = event
            total += event["size"]
        elif event["action"] == "free_completed":
            live.pop(event["addr"], None)
            total -= event["size"]
        if total > best:
            best, blocks = total, list(live.values())
    return best, blocks


def peak_of(name, mode, dtype):
    import torch
    from own import call_of
    from own_runs import held

    before = held()[0]
    call = call_of(name, mode, dtype, "cuda", False)
    call()
    call()
    torch.cuda.synchronize()
    kept = torch.cuda.memory_allocated()
    torch.cuda.memory._record_memory_history(stacks="python", max_entries=200000)
    torch.cuda.reset_peak_memory_stats()
    call()
    torch.cuda.synchronize()
    peak = torch.cuda.max_memory_allocated()
    events = torch.cuda.memory._snapshot()["device_traces"][0]
    torch.cuda.memory._record_memory_history(enabled=None)
    best, blocks = at_peak(events, kept)
    listed = [[one["size"], line_of(one.get("frames", []))] for one in blocks]
    return {"peak_bytes": peak - before, "held_bytes": kept - before, "seen_bytes": best - before, "blocks": listed}


def work(models, queue):
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "2")
    import torch

    torch.set_num_threads(2)
    for name, dtype in models:
        for mode in ("eager", "compiled"):
            row = {"model": name, "mode": mode, "dtype": dtype}
            try:
                row |= peak_of(name, mode, dtype)
            except Exception as error:
                row["error"] = f"{type(error).__name__}: {str(error)[:200]}"
            queue.put(row)
    queue.put(None)


def wanted(args):
    """(name, format) of each open model."""
    from sealed import load

    chosen = []
    for name in args.sets.split(","):
        kept = load(name)
        open_ones = {model["model"] for model in kept["models"] if "opened" in model}
        formats = {row["model"]: row["dtype"] for row in kept["rows"] if row["mode"] == "compiled" and "busy_s" in row}
        chosen += [
            (model, formats[model]) for model in formats if model in open_ones and (not args.models or model in args.models.split(","))
        ]
    return chosen


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default="own-8", help="sets, with commas between")
    parser.add_argument("--models", default="", help="only these, with commas between")
    parser.add_argument("--out", default=".")
    parser.add_argument("--processes", type=int, default=14)
    parser.add_argument("--seconds", type=float, default=200.0)
    args = parser.parse_args()
    begun, models = time.time(), wanted(args)
    context = multiprocessing.get_context("spawn")
    queue, count = context.Queue(), min(args.processes, len(models))
    workers = [context.Process(target=work, args=(models[i::count], queue), daemon=True) for i in range(count)]
    for worker in workers:
        worker.start()
    rows, left = [], count
    while left and time.time() < begun + args.seconds:
        try:
            row = queue.get(timeout=2)
        except Empty:
            left = left if any(worker.is_alive() for worker in workers) else 0
            continue
        left -= row is None
        if row is not None:
            rows.append(row)
            lines = ",\n".join("  " + json.dumps(one) for one in rows)
            (Path(args.out) / "compiled_peaks.json").write_text(
                json.dumps({"method": METHOD}, indent=1)[:-2] + f',\n "rows": [\n{lines}\n ]\n}}\n'
            )
    print(f"{len(rows)} runs of {len(models)} models in {time.time() - begun:.0f} s")
    for worker in workers:
        worker.kill()


if __name__ == "__main__":
    main()
