"""What changing a model's program brings on a GPU: every run of a model timed by turns, so that a host that drifts slows them all alike.

    PYTHONPATH=src python3 benchmarks/device/changes.py --out DIR [--seconds 150] [--models resnet50,gpt2]

Writes DIR/changes.json: for each model of the registry eager in FP32 (PyTorch's defaults), in TF32, in FP16, FP16 at four times the batch,
with channels last, compiled, and both kinds replayed as a graph. Models compile side by side, one process each; then they take turns, alone
on the machine. Without a GPU the small ones run on the processor, to try the program.
"""

import argparse
import multiprocessing
import os
import sys
import time
from pathlib import Path
from queue import Empty
from statistics import median, quantiles

sys.path.insert(0, str(Path(__file__).resolve().parent))
DEVICE = os.environ.get("IRONLAW_DEVICE", "cuda")
# slug, batch, tokens
MODELS = (
    ("resnet18", 16, None), ("resnet50", 8, None), ("resnet50", 64, None), ("resnet101", 32, None), ("mobilenet_v2", 32, None),
    ("unet_block", 8, None), ("dscnn_kws", 64, None), ("mlp8_1024", 256, None), ("vit_b16", 8, None), ("vit_b16", 64, None),
    ("vit_l16", 16, None), ("bert_base", 8, 128), ("bert_base", 32, 128), ("distilbert", 16, 128), ("gpt2", 4, 256), ("gpt2", 16, 512),
    ("gpt2_medium", 4, 256), ("llama3_2_1b", 4, 256), ("qwen2_0_5b", 4, 256),
)  # fmt: skip
SMALL = ("dscnn_kws", "mlp8_1024")
IMAGES = ("resnet18", "resnet50", "resnet101", "mobilenet_v2", "unet_block", "dscnn_kws")
LARGER = 4
TURNS, CALLS = 7, 6
METHOD = (
    f"Random weights and inputs. All runs of a model are timed by turns, {TURNS} times round: piped_s is {CALLS} calls queued back to back"
    " and one synchronise, per call, the median of the turns (low_s and high_s their 10% and 90%); wall_s one call and a synchronise."
    " kernels and busy_s: torch.profiler, apart; of a replayed graph none. No other model ran or compiled meanwhile. fp32: PyTorch's"
    " defaults, convolutions in TF32; variant tf32: all products. machine.launching: `ironlaw measure --host` in the same minute."
)


def runs(slug, batch):
    """(mode, format, batch, variant); what all are compared with comes first."""
    yield "eager", "fp32", batch, ""
    yield "eager", "fp32", batch, "tf32"
    yield "eager", "fp16", batch, ""
    yield "eager", "fp16", LARGER * batch, ""
    yield "eager_graphs", "fp16", batch, ""
    yield "compiled", "fp16", batch, ""
    yield "graphs", "fp16", batch, ""
    if slug in IMAGES:
        yield "eager", "fp16", batch, "channels_last"


def call_of(slug, batch, seq, mode, dtype, variant):
    """(a call without arguments, the settings that the registry builds the same graph from)."""
    import torch

    from ironlaw.measure.devices.cuda_graphs import record
    from ironlaw.measure.models.builders import build

    built = build(slug, batch=batch, seq=seq, dtype=dtype, device=DEVICE, room=60e9)
    module, args = built.module, built.args
    if variant == "channels_last":
        module = module.to(memory_format=torch.channels_last)
        args = tuple(a.to(memory_format=torch.channels_last) if a.dim() == 4 else a for a in args)
    if mode in ("compiled", "graphs"):
        module = torch.compile(module)

    def call():
        torch.backends.cuda.matmul.allow_tf32 = variant == "tf32"
        with torch.no_grad():
            module(*args, **built.kwargs)

    call()
    return (record(torch, call) if mode in ("graphs", "eager_graphs") else call), built.settings


def timed(calls, sync, turns=TURNS, queued=CALLS):
    """Seconds of each call, by turns: queued, and waited for."""
    piped, walls = [[] for _ in calls], [[] for _ in calls]
    for turn in range(turns):
        order = list(enumerate(calls))
        for i, call in order if turn % 2 else reversed(order):
            call()
            sync()
            start = time.perf_counter()
            for _ in range(queued):
                call()
            sync()
            piped[i].append((time.perf_counter() - start) / queued)
            start = time.perf_counter()
            call()
            sync()
            walls[i].append(time.perf_counter() - start)
    return piped, walls


def work(case, ready, begin, lock, queue, until):
    """One process: build and compile its model while the others do, then time its runs alone."""
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "2")
    slug, batch, seq = case
    calls, rows = [], []
    for mode, dtype, size, variant in runs(slug, batch):
        try:
            call, settings = call_of(slug, size, seq, mode, dtype, variant)
        except Exception as error:
            print(f"{slug} {mode} {dtype} {size} {variant}: {type(error).__name__}: {str(error)[:160]}", flush=True)
            continue
        calls.append(call)
        rows.append({"kind": "change", "workload": slug, "params": settings, "mode": mode} | ({"variant": variant} if variant else {}))
    ready.release()
    begin.wait(until - time.time())
    with lock:
        if calls and time.time() < until:
            queue.put(measured(calls, rows))
            return
    queue.put([])


def measured(calls, rows):
    from gpu import GPU, sync

    from ironlaw.measure.devices.kernel_times import profile

    piped, walls = timed(calls, sync)
    for call, row, queued, waited in zip(calls, rows, piped, walls, strict=True):
        tenths = quantiles(queued, n=10)
        row |= {"wall_s": round(median(waited), 9), "piped_s": round(median(queued), 9)}
        row |= {"low_s": round(tenths[0], 9), "high_s": round(tenths[-1], 9), "samples": TURNS}
        if row["mode"] in ("eager", "compiled"):
            seen = profile(GPU, [lambda call=call: call], warmup=1, iterations=3, keep=0)[0]
            row |= {name: seen[name] for name in ("kernels", "busy_s") if name in seen}
    print(rows[0]["workload"], rows[0]["params"]["batch"], *(f"{row['piped_s'] * 1e3:.3f}" for row in rows), flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=".")
    parser.add_argument("--seconds", type=float, default=150.0, help="after which nothing is begun any more")
    parser.add_argument("--compiling", type=float, default=100.0, help="seconds after which whoever still compiles is left behind")
    parser.add_argument("--models", default="", help="only these, with commas between")
    args = parser.parse_args()
    begun = time.time()
    wanted = args.models.split(",") if args.models else SMALL if DEVICE == "cpu" else [slug for slug, *_ in MODELS]
    cases = [case for case in MODELS if case[0] in wanted]
    context = multiprocessing.get_context("spawn")
    ready, begin, lock, queue = context.Semaphore(0), context.Event(), context.Lock(), context.Queue()
    workers = [context.Process(target=work, args=(case, ready, begin, lock, queue, begun + args.seconds), daemon=True) for case in cases]
    for worker in workers:
        worker.start()
    for _ in workers:
        ready.acquire(timeout=max(0.1, begun + args.compiling - time.time()))
    from gpu import GPU, write

    from ironlaw.calibration.stored_curves import host_json
    from ironlaw.measure.machine.launch_costs import measure_launches

    launching = host_json(measure_launches(GPU).host)
    begin.set()
    rows, waiting = [], len(workers)
    while waiting and time.time() < begun + args.seconds + 20:
        try:
            rows += queue.get(timeout=5)
            waiting -= 1
        except Empty:
            continue
    write(Path(args.out) / "changes.json", METHOD, rows, launching=launching)
    print(f"{len(rows)} runs of {len(cases) - waiting} of {len(cases)} models in {time.time() - begun:.0f} s")


if __name__ == "__main__":
    main()
