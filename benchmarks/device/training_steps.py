"""What the usual changes of a training step bring on a GPU: twelve models, every variant of a step timed by turns.

    PYTHONPATH=src python3 benchmarks/device/training_steps.py --out DIR [--set 2] [--seconds 190] [--models A,B] [--dry-run]
    python benchmarks/device/training_steps.py --judge DIR/training_steps.jsonl [--pairs]

Writes DIR/training_steps.jsonl, a line as soon as it is known: the machine and its host, then for each model and variant the wall time of
a step, then its device time, or why there is none. One process a model: all compile side by side, then each is timed alone on the machine,
and profiled after its last wall time. `--judge` needs ironlaw and PyTorch, no GPU: it captures the same steps, predicts them, and sets
each predicted gain beside the measured one. The models are the judge: nothing may be fitted to them. Those of `--set 2` were sealed before
anything was predicted, and go to DIR/training_steps_2.jsonl.
The rows of an H200 are in benchmarks/training_steps.jsonl.
"""

import argparse
import json
import multiprocessing
import os
import signal
import sys
import time
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
TURNS, QUEUED = 5, 6  # rounds, and steps queued back to back in each: 30 steps of every variant
PARTS = 4  # micro-batches of the variant that accumulates
METHOD = (
    f"Random weights and inputs, train mode, FP32 weights, AdamW. All variants of a model take turns, {TURNS} times round: after a step of "
    f"its own each runs {QUEUED} steps queued back to back and one synchronise; wall_s is the median over the turns per step, low_s and "
    "high_s the quickest and the slowest. busy_s and kernels: durations and number of GPU activities from torch.profiler, medians of 3 "
    "steps, after all wall times of the process. base: FP32 (PyTorch's defaults), eager, foreach, data on the device. "
    f"loop: foreach=False. accumulated: {PARTS} micro-batches in place of one. item: loss.item() after every step. pageable: the batch "
    "copied from pageable memory by .to(device); pinned: from pinned memory, non_blocking. compiled: torch.compile of forward and loss, "
    "the optimiser eager. memory_bytes: max_memory_allocated during a step, less what the process held before the model was built."
)
VARIANTS = (
    "base", "autocast", "channels_last", "autocast_channels_last", "loop", "fused", "checkpointed", "accumulated", "item", "pageable",
    "pinned", "autocast_compiled", "compiled",
)  # fmt: skip
# what is changed, from which variant, to which
CHANGES = (
    ("autocast", "base", "autocast"), ("layout", "base", "channels_last"), ("layout", "autocast", "autocast_channels_last"),
    ("compiled", "base", "compiled"), ("compiled", "autocast", "autocast_compiled"), ("foreach", "loop", "base"),
    ("fused", "base", "fused"), ("kept", "checkpointed", "base"), ("together", "accumulated", "base"), ("syncs", "item", "base"),
    ("pinned", "pageable", "pinned"),
)  # fmt: skip
OPTIMISERS = {"loop": {"foreach": False}, "fused": {"fused": True}}
COMPILING = 45  # seconds that one variant may compile


def all_models():
    """Of both sets, whose names differ."""
    from training_models import MODELS
    from training_models_2 import MODELS as SECOND

    return MODELS | SECOND


def step_of(name, variant, device, small=False, made_on=None):
    """(a step as a function of its batch, that batch). `device`: as the step calls it; `made_on`: where tensors are made, if elsewhere."""
    import torch
    from torch.utils._pytree import tree_map_only

    torch.manual_seed(0)
    with torch.device(made_on or device):
        trained = all_models()[name](small)
        batch = trained.batch(trained.samples)
    net, moved = trained.net.train(), variant in ("pageable", "pinned")
    if "channels_last" in variant:
        net = net.to(memory_format=torch.channels_last)
        batch = tree_map_only(torch.Tensor, lambda x: x.contiguous(memory_format=torch.channels_last) if x.dim() == 4 else x, batch)
    if moved:
        with torch.device("cpu"):
            batch = trained.batch(trained.samples)
        batch = tuple(x.pin_memory() for x in batch) if variant == "pinned" and made_on is None and device == "cuda" else batch
    net.again = variant == "checkpointed"
    optimiser = torch.optim.AdamW(net.parameters(), lr=1e-4, **OPTIMISERS.get(variant, {}))
    autocast, parts = variant.startswith("autocast"), PARTS if variant == "accumulated" else 1

    def losses(x, y):
        with torch.autocast(device, torch.bfloat16, enabled=autocast):
            return trained.loss(net(x), y)

    if variant.endswith("compiled"):
        losses = torch.compile(losses)

    def step(x, y):
        if moved:
            x, y = x.to(device, non_blocking=variant == "pinned"), y.to(device, non_blocking=variant == "pinned")
        for part in zip(x.chunk(parts), y.chunk(parts), strict=True) if parts > 1 else ((x, y),):
            loss = losses(*part)
            (loss / parts if parts > 1 else loss).backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        return loss.item() if variant == "item" else None

    return step, batch


def variants_of(name, compiles=True):
    import torch

    with torch.device("meta"):
        trained = all_models()[name](True)
    left_out = {"checkpointed"} if not trained.blocks else set()
    left_out |= {v for v in VARIANTS if ("channels_last" in v and not trained.images) or (v.endswith("compiled") and not compiles)}
    return [v for v in VARIANTS if v not in left_out]


# ---- on the GPU


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=".")
    parser.add_argument("--seconds", type=float, default=190.0, help="after which nothing is begun any more")
    parser.add_argument("--set", default="1", choices=("1", "2"), help="which twelve models")
    parser.add_argument("--models", default="", help="only these, with commas between")
    parser.add_argument("--dry-run", action="store_true", help="on the processor, small, one step, two models unless named, to try it")
    parser.add_argument("--judge", metavar="FILE", help="hold what is in FILE against the predicted gains")
    parser.add_argument("--pairs", action="store_true", help="with --judge: every pair, not the table alone")
    args = parser.parse_args()
    if args.judge:
        from training_gains import judge

        judge(args.judge, args.pairs)
        return
    from importlib import import_module

    second = args.set == "2"
    models = import_module("training_models_2" if second else "training_models").MODELS
    begun = time.time()
    names = args.models.split(",") if args.models else list(models)[: 2 if args.dry_run else None]
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    file, lock = out / f"training_steps{'_2' if second else ''}.jsonl", out / "lock"
    file.unlink(missing_ok=True)
    context = multiprocessing.get_context("spawn")
    ready, begin = context.Semaphore(0), context.Event()
    ends = begun + 0.45 * args.seconds, begun + args.seconds

    def worker(name, compiles):
        process = context.Process(target=work, args=(name, compiles, args.dry_run, str(file), str(lock), ready, begin, ends), daemon=True)
        process.start()
        return process

    workers = [worker(name, not args.dry_run or i == 0) for i, name in enumerate(names)]
    waiting, again = len(workers), set()
    while waiting and time.time() < ends[0] + (600 if args.dry_run else 3):
        waiting -= ready.acquire(timeout=0.5)
        for i, process in enumerate(workers):
            if process.exitcode not in (None, 0) and i not in again:  # an alarm within C++ ends a process: once more, nothing compiled
                again.add(i)
                workers[i] = worker(names[i], compiles=False)
    print(f"prepared after {time.time() - begun:.0f} s", flush=True)
    write(file, about(args.dry_run))
    begin.set()
    for process in workers:
        process.join(max(1.0, ends[1] + (600 if args.dry_run else 12) - time.time()))
        if process.is_alive():
            process.kill()
    lock.unlink(missing_ok=True)
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    counts = [sum(row["kind"] == kind for row in rows) for kind in ("step", "device", "error")]
    print("{} variants timed, {} profiled, {} failed, in {:.0f} s".format(*counts, time.time() - begun))


def write(file, *rows):
    """A line each, on the disk at once."""
    with open(file, "a") as f:
        f.writelines(json.dumps(row) + "\n" for row in rows)
        f.flush()
        os.fsync(f.fileno())


def about(dry):
    """The first line: machine, software, method, and what launching costs the host in these minutes."""
    from gpu import GPU
    from own_runs import host_profile

    from ironlaw.measure.software_host import software

    machine = GPU.machine() | {"hardware": "h200_sxm"}
    return {
        "kind": "about",
        "dry": dry,
        "machine": machine,
        "software": software(),
        "method": METHOD,
        "host": None if dry else host_profile(),
    }


def why(error):
    return f"{type(error).__name__}: {str(error)[:200]}"


def work(name, compiles, dry, file, lock, ready, begin, ends):
    """One process: build and compile its variants while the others do, then time and profile them alone on the machine."""
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "2")
    import torch
    import torch._dynamo
    import torch._inductor.compile_fx  # now, since an alarm during an import would end the process
    from own_runs import alone
    from sealed_runs import out_of_time

    torch.set_num_threads(1)
    signal.signal(signal.SIGALRM, out_of_time)
    calls = {}
    for variant in variants_of(name, compiles):
        try:
            calls[variant] = prepared(name, variant, dry, file, ends[0])
        except Exception as error:
            write(file, {"kind": "error", "model": name, "variant": variant, "error": why(error)})
        finally:
            signal.alarm(0)
    ready.release()
    begin.wait()
    for read in (time_walls, profile_steps):
        with alone(lock):
            try:
                if calls and (dry or time.time() < ends[1]):
                    read(name, calls, dry, file)
            except Exception as error:
                write(file, {"kind": "error", "model": name, "variant": "", "error": why(error)})


def prepared(name, variant, dry, file, end):
    """A step without arguments, run twice; its memory is read on the second."""
    import torch
    from own_runs import held
    from sealed_runs import sync

    left = end - time.time()
    if not dry:
        if left < (15 if variant.endswith("compiled") else 2):
            raise TimeoutError("no time left to prepare it")
        signal.alarm(int(min(left, COMPILING)) or 1)
    before = held()[0]
    step, batch = step_of(name, variant, "cpu" if dry else "cuda", dry)
    begun = time.time()
    step(*batch)
    sync()
    row = {"kind": "prepared", "model": name, "variant": variant, "first_s": round(time.time() - begun, 3)}
    if not dry:
        torch.cuda.reset_peak_memory_stats()
    step(*batch)
    sync()
    write(file, row | ({} if dry else {"memory_bytes": torch.cuda.max_memory_allocated() - before}))
    return lambda: step(*batch)


def time_walls(name, calls, dry, file):
    from sealed_runs import sync

    turns, queued = (1, 1) if dry else (TURNS, QUEUED)
    walls = {variant: [] for variant in calls}
    for turn in range(turns):
        order = list(calls.items())
        for variant, call in order if turn % 2 else reversed(order):
            call()
            sync()
            start = time.perf_counter()
            for _ in range(queued):
                call()
            sync()
            walls[variant].append((time.perf_counter() - start) / queued)
    for variant, seconds in walls.items():
        middle, ends = median(seconds), (min(seconds), max(seconds))
        row = {"wall_s": round(middle, 9), "low_s": round(ends[0], 9), "high_s": round(ends[1], 9), "steps": turns * queued}
        write(file, {"kind": "step", "model": name, "variant": variant, **row})
    print(name, *(f"{variant} {1e3 * median(seconds):.2f}" for variant, seconds in walls.items()), flush=True)


def profile_steps(name, calls, dry, file):
    """All variants in one session of the profiler."""
    from gpu import GPU

    from ironlaw.measure.devices.kernel_times import profile

    cases = [lambda call=call: call for call in calls.values()]
    for variant, seen in zip(calls, profile(GPU, cases, warmup=1, iterations=1 if dry else 3, keep=0), strict=True):
        kept = {key: seen[key] for key in ("kernels", "busy_s", "error") if key in seen}
        write(file, {"kind": "error" if "error" in kept else "device", "model": name, "variant": variant, **kept})


if __name__ == "__main__":
    main()
