"""What torch.compile makes of open models of own code: each kernel with its time and what Inductor put into it, and the memory at the peak.

    PYTHONPATH=src python3 benchmarks/device/compiled_kernels.py --out DIR [--models a,b,c] [--sets own-8,own-7] [--seconds 300]

Writes DIR/compiled_kernels.json.gz, a row per model. The models compile side by side; then each is profiled, alone on the GPU. `loops`
are those that Inductor wrote, by kernel, as `compiler/nodes.py` describes them; `blocks` are what the allocator holds at the peak
of a call after the first. Only models that are open.
"""

import argparse
import gzip
import json
import linecache
import multiprocessing
import os
import signal
import sys
import time
from pathlib import Path
from queue import Empty

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
METHOD = (
    "Models of benchmarks/device/own under torch.compile at its defaults, no_grad, the format that is timed compiled. list: GPU activities "
    "of one call from torch.profiler by name, medians over 3 calls, one model at a time on the machine. loops: per kernel that Inductor "
    "wrote, its node of the scheduler, numels and form of reduction. After two calls the allocator's history is recorded for one more "
    "(torch.cuda.memory._record_memory_history): peak_bytes is the most that was allocated during it, held_bytes what was allocated before "
    "it, both less what the process held before the model was built. blocks: those allocated during the call that are live at the peak, in "
    "order: [bytes, the line of code that asked]."
)
KEPT = 600  # kernels of a model that are listed
LOOPS = {}  # of the model that is being compiled: kernel -> what is in it


def watch_inductor():
    """Writes down what each loop's kernel is made of."""
    from compiler.nodes import loop
    from torch._inductor.codegen.simd import SIMDScheduling
    from torch._inductor.codegen.triton import TritonScheduling

    codegen, define, current = SIMDScheduling.codegen_node, TritonScheduling.define_kernel, []

    def codegen_node(self, node):
        try:
            current[:] = [loop(node, node.get_nodes())]
        except Exception as error:
            current[:] = [{"error": f"{type(error).__name__}: {str(error)[:120]}"}]
        return codegen(self, node)

    def define_kernel(self, src_code, node_schedule, kernel):
        name = define(self, src_code, node_schedule, kernel)
        about = {key: bool(getattr(kernel, key, False)) for key in ("persistent_reduction", "cooperative_reduction")}
        numels = {str(key): str(size) for key, size in kernel.numels.items()}
        LOOPS.setdefault(name, []).append({**(current[0] if current else {}), "numels": numels, **about})
        return name

    SIMDScheduling.codegen_node, TritonScheduling.define_kernel = codegen_node, define_kernel


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


def prepared(name, dtype):
    """(what is known before profiling, the call)."""
    import torch
    from own import call_of
    from own_runs import held

    before = held()[0]
    LOOPS.clear()
    call = call_of(name, "compiled", dtype, "cuda", False)
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
    memory = {"peak_bytes": peak - before, "held_bytes": kept - before, "seen_bytes": best - before, "blocks": listed}
    return memory | {"loops": dict(LOOPS)}, call


def work(models, compiling, until, ready, begin, lock, queue):
    """One process: compile its models while the others do, then profile them, each alone on the machine."""
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "2")
    os.environ["TORCHINDUCTOR_FX_GRAPH_CACHE"] = "0"  # what comes from the cache is not written anew
    import torch
    import torch._inductor.compile_fx  # now, since an alarm during an import would end the process
    from gpu import GPU
    from own_runs import COMPILING, alone, why
    from sealed_runs import out_of_time

    from ironlaw.measure.devices.kernel_times import profile

    torch.set_num_threads(2)
    signal.signal(signal.SIGALRM, out_of_time)
    watch_inductor()
    calls = []
    for name, dtype in models:
        row, call, left = {"model": name, "mode": "compiled", "dtype": dtype}, None, int(compiling - time.time())
        signal.alarm(max(1, min(left, COMPILING)))
        try:
            about, call = prepared(name, dtype)
            row |= about
        except Exception as error:
            row["error"] = why(error)
        finally:
            signal.alarm(0)
        calls.append((row, call))
    ready.release()
    begin.wait(max(0.1, compiling + 15 - time.time()))
    for row, call in calls:
        with alone(lock):
            if call is not None and time.time() < until:
                (seen,) = profile(GPU, [lambda call=call: call], warmup=1, iterations=3, keep=KEPT)
                row |= {key: seen[key] for key in ("kernels", "busy_s", "list", "error") if key in seen}
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
    parser.add_argument("--seconds", type=float, default=300.0)
    args = parser.parse_args()
    begun, models = time.time(), wanted(args)
    context = multiprocessing.get_context("spawn")
    ready, begin, queue, count = context.Semaphore(0), context.Event(), context.Queue(), min(args.processes, len(models))
    compiling, until = begun + 0.65 * args.seconds, begun + 0.95 * args.seconds
    shared = compiling, until, ready, begin, str(Path(args.out) / "lock"), queue
    workers = [context.Process(target=work, args=(models[i::count], *shared), daemon=True) for i in range(count)]
    for worker in workers:
        worker.start()
    waiting = count
    while waiting and time.time() < compiling + 10:
        waiting -= ready.acquire(timeout=1)
        if waiting <= sum(not worker.is_alive() for worker in workers):  # those died
            break
    print(f"compiled after {time.time() - begun:.0f} s", flush=True)
    begin.set()
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
    text = json.dumps({"method": METHOD, "rows": rows}, separators=(",", ":"))
    (Path(args.out) / "compiled_kernels.json.gz").write_bytes(gzip.compress(text.encode()))
    print(f"{len(rows)} of {len(models)} models, {sum('list' in row for row in rows)} whole, in {time.time() - begun:.0f} s")
    for row in rows:
        if "error" in row:
            print(row["model"], row["error"][:160])
    for worker in workers:
        worker.kill()
    Path(args.out, "lock").unlink(missing_ok=True)


if __name__ == "__main__":
    main()
