"""Time the models of own code on this GPU: inference in BF16 and FP32, compiled, and whole training steps.

    PYTHONPATH=src python3 benchmarks/device/own_runs.py --out DIR [--part 1/2] [--budget 540] [--operators]

Writes DIR/own-1-open-PART.json and, apart, DIR/own-1-sealed-PART.json, row by row as they come. Models compile side by side; then the
processes take turns, alone on the machine. A profiler that ran once slows every later launch of its process, so each process takes all
its wall times first and profiles afterwards. With --operators the open models are profiled operator by operator instead, in a file of
their own. `--dry` tries everything on the processor at a small scale.
"""

import argparse
import fcntl
import gc
import gzip
import json
import multiprocessing
import os
import signal
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Empty
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
COMPILING = 40  # seconds that one model may compile
SLOW = 0.04  # seconds of a call from which on fewer are queued
DRY_COMPILES = 2
METHOD = (
    "Models of benchmarks/device/own, random weights and inputs. All runs of a model are timed by turns, so many times round: wall_s one "
    "call and a synchronise, piped_s so many calls queued, per call, medians. kernels and busy_s: number and summed durations of GPU "
    "activities from torch.profiler, medians over 3 calls, taken after all wall times of that process. memory_bytes and reserved_bytes: "
    "max_memory_allocated and max_memory_reserved during a call after the first, less what the process held before the model was built; "
    "cuBLAS' workspaces were cleared first. No other model ran meanwhile, except for memory and first_s. eager and compiled: under no_grad "
    "in eval mode; bf16: weights and inputs cast. fp32: PyTorch's defaults, convolutions in TF32. training: forward, loss, backward and a "
    "step of AdamW (foreach) with FP32 weights in train mode; bf16: under autocast. host: `ironlaw measure --host` between compiling and "
    "timing."
)


@dataclass
class Run:
    """A row, and the call that it is about; None where there is no such call."""

    row: dict[str, Any]
    call: Any = None


@dataclass(frozen=True)
class Budget:
    """When each phase ends."""

    compiling: float
    timing: float
    profiling: float
    dry: bool
    operators: bool
    modes: list[str]  # none: all


def runs(model):
    """(mode, format) of every run of a model."""
    inferred = [("eager", "bf16"), ("eager", "fp32")] if model["half"] else [("eager", "fp32")]
    if model.get("compiled", True):
        inferred.append(("compiled", inferred[0][1]))
    trained = [("training", "fp32"), ("training", "bf16")] if model["autocast"] else [("training", "fp32")]
    return inferred + (trained if model["trained"] else [])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", default="own-1")
    parser.add_argument("--out", default=".")
    parser.add_argument("--part", default="1/1", help="which part of the set: 1/2 is the first half")
    parser.add_argument("--budget", type=float, default=540.0, help="seconds for all of it")
    parser.add_argument("--models", default="", help="only these of them, with commas between")
    parser.add_argument("--processes", type=int, default=14)
    parser.add_argument("--modes", default="", help="only these, of eager, compiled and training, with commas between")
    parser.add_argument("--operators", action="store_true", help="profile every operator of the open models instead of timing")
    parser.add_argument("--dry", action="store_true", help="on the processor, small, to try the program")
    args = parser.parse_args()
    from sealed import load

    part, parts = map(int, args.part.split("/"))
    models = load(args.set)["models"][part - 1 :: parts]
    models = [model for model in models if not args.models or model["model"] in args.models.split(",")]
    if args.operators:
        models = [model for model in models if "opened" in model]
    begun = time.time()
    until = Budget(
        *(begun + share * args.budget for share in (0.45, 0.75, 0.94)),
        args.dry,
        args.operators,
        args.modes.split(",") if args.modes else [],
    )
    context = multiprocessing.get_context("spawn")
    count = min(args.processes, len(models))
    ready, begin, queue = context.Semaphore(0), context.Event(), context.Queue()
    lock = str(Path(args.out) / "lock")
    shares = [models[i::count] for i in range(count)]
    compiles = [DRY_COMPILES if args.dry and i == 0 else 0 if args.dry else len(models) for i in range(count)]
    with_all = until, ready, begin, lock, queue
    workers = [context.Process(target=work, args=(*mine, *with_all), daemon=True) for mine in zip(shares, compiles, strict=True)]
    for worker in workers:
        worker.start()
    waiting = count
    while waiting and time.time() < until.compiling + 5:
        waiting -= ready.acquire(timeout=1)
        if waiting <= sum(not worker.is_alive() for worker in workers):  # those died: an alarm within C++ ends a process
            break
    print(f"prepared after {time.time() - begun:.0f} s", flush=True)
    host = None if args.dry or args.operators else host_profile()
    begin.set()
    files = Files(args.out, f"{args.set}-{{}}-{part}of{parts}.json", host, {model["model"] for model in models if "opened" in model})
    done = 0
    while done < count and time.time() < begun + 0.97 * args.budget:
        try:
            message = queue.get(timeout=2)
        except Empty:
            done = count if not any(worker.is_alive() for worker in workers) else done
            continue
        done += message is None
        if message is not None:
            files.take(*message)
    files.close(args.operators)
    print(f"{files.told()} of {len(models)} models in {time.time() - begun:.0f} s", flush=True)
    for worker in workers:
        worker.kill()
    Path(lock).unlink(missing_ok=True)


def host_profile():
    """What launching costs this host in these minutes, as `ironlaw measure --host --json` has it; or why it could not be measured."""
    from gpu import GPU

    from ironlaw.calibration.stored_curves import host_json
    from ironlaw.measure.machine.launch_costs import measure_launches

    try:
        return host_json(measure_launches(GPU).host)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {str(error)[:200]}"}


class Files:
    """Rows of open and of sealed models, in files apart; a row that comes again replaces what was known of the run."""

    def __init__(self, folder, name, host, opened):
        self.rows, self.opened = {}, opened
        self.paths = {True: Path(folder) / name.format("open"), False: Path(folder) / name.format("sealed")}
        self.about = {"method": METHOD, "host": host}

    def take(self, rows, software, machine):
        self.about |= {"software": software, "machine": machine}
        for row in rows:
            self.rows[row["model"], row["mode"], row["dtype"]] = row
        for side, path in self.paths.items():
            mine = [row for row in self.rows.values() if (row["model"] in self.opened) == side]
            if mine and "operators" not in mine[0]:
                path.write_text(json.dumps(self.about | {"rows": mine}, indent=1))

    def close(self, operators):
        if operators:
            text = json.dumps(self.about | {"rows": list(self.rows.values())}, separators=(",", ":"))
            self.paths[True].with_suffix(".operators.json.gz").write_bytes(gzip.compress(text.encode()))

    def told(self):
        """Counts; of a sealed model nothing but them."""
        for row in self.rows.values():
            if "error" in row and row["model"] in self.opened:
                print(row["model"], row["mode"], row["dtype"], row["error"][:160])
        failed, whole = (sum(key in row for row in self.rows.values()) for key in ("error", "busy_s"))
        return f"{len(self.rows)} runs, {whole} with device time, {failed} failed,"


def work(models, compiles, until, ready, begin, lock, queue):
    """One process: build and compile its models while the others do, then time them, then profile them, each alone on the machine."""
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "2")
    import torch
    import torch._dynamo
    import torch._inductor.compile_fx  # now, since an alarm during an import would end the process
    from gpu import GPU
    from sealed_runs import out_of_time

    from ironlaw.measure.software_host import software

    torch.set_num_threads(1 if until.dry else 2)
    signal.signal(signal.SIGALRM, out_of_time)
    about = software(), GPU.machine() | {"hardware": "h200_sxm"}
    prepared = []
    for number, model in enumerate(models):
        wanted = [
            (mode, dtype) for mode, dtype in runs(model) if mode in (until.modes or mode) and (mode != "compiled" or number < compiles)
        ]
        prepared.append([prepare(model["model"], mode, dtype, until) for mode, dtype in wanted])
    ready.release()
    begin.wait(max(0.1, until.timing - time.time()))
    steps = [(profile_operators, until.profiling)] if until.operators else [(time_walls, until.timing), (profile_runs, until.profiling)]
    for read, end in steps:
        for mine in prepared:
            with alone(lock):
                if time.time() < end:
                    try:
                        read([run for run in mine if run.call], until.dry)
                    except Exception as error:
                        for run in mine:
                            run.row.setdefault("error", why(error))
            queue.put(([run.row for run in mine], *about))
    queue.put(None)


@contextmanager
def alone(path):
    """No other process runs meanwhile. A lock of the file system, for it goes with the process that holds it, even if that crashes."""
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def why(error):
    from sealed_runs import reason

    return reason(error)


def prepare(name, mode, dtype, until):
    """One run, built and called three times: what it takes of memory is read on the last."""
    import torch
    from own import call_of
    from sealed_runs import sync

    run = Run({"library": "own", "model": name, "mode": mode, "dtype": dtype, "batch": None})
    device = "cpu" if until.dry else "cuda"
    left = until.compiling - time.time()
    if left < (20 if mode == "compiled" else 3):
        run.row["error"] = "no time left to prepare it"
        return run
    signal.alarm(int(min(left, COMPILING)) or 1)
    try:
        before = held()
        begun = time.time()
        call = call_of(name, mode, dtype, device, until.dry)
        call()
        sync()
        run.row["first_s"] = round(time.time() - begun, 3)
        call()
        if not until.dry:
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
            call()
            torch.cuda.synchronize()
            peaks = torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()
            run.row |= {"memory_bytes": peaks[0] - before[0], "reserved_bytes": peaks[1] - before[1]}
        run.call = call
    except Exception as error:
        run.row["error"] = why(error)
    finally:
        signal.alarm(0)
    return run


def held():
    """Bytes that this process holds before a model is built: allocated, reserved."""
    import torch

    gc.collect()
    if not torch.cuda.is_available():
        return 0, 0
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.empty_cache()
    return torch.cuda.memory_allocated(), torch.cuda.memory_reserved()


def time_walls(mine, dry):
    """All runs of a model by turns, each after a call of its own."""
    from sealed_runs import sync, walls_by_turns

    longest = 0.0
    for run in mine:
        begun = time.perf_counter()
        run.call()
        sync()
        longest = max(longest, time.perf_counter() - begun)
    how = {"turns": 1, "queued": 1} if dry else {"queued": 2, "turns": 5} if longest > SLOW else {}
    for run, walls in zip(mine, walls_by_turns([run.call for run in mine], **how), strict=True):
        run.row |= walls


def profile_runs(mine, dry):
    """All runs of a model in one session of the profiler."""
    from gpu import GPU

    from ironlaw.measure.devices.kernel_times import profile

    mine = [run for run in mine if "wall_s" in run.row]  # the others came too late
    cases = [lambda call=run.call: call for run in mine]
    for run, seen in zip(mine, profile(GPU, cases, warmup=1, iterations=1 if dry else 3, keep=0), strict=True):
        run.row |= {key: seen[key] for key in ("kernels", "busy_s", "error") if key in seen}


def profile_operators(mine, dry):
    from sealed_runs import operators

    for run in mine:
        run.row |= operators(run.call)


if __name__ == "__main__":
    main()
