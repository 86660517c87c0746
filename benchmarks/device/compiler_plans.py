"""What Inductor makes of models of own code, without running anything: its loops and its calls of libraries, in order.

    CUDA_VISIBLE_DEVICES= PYTHONPATH=src python3 benchmarks/device/compiler_plans.py --out DIR [--seconds 240] [--sets own-8,own-13]

Writes DIR/plans-open.json.gz and, apart, DIR/plans-sealed.json.gz: a row per compiled run, `steps` as `compiler/scheduled.py` has
them, or why there are none. It needs many cores and no GPU; models go side by side, each in a process of its own. Nothing is printed of
a sealed model.
"""

import argparse
import gzip
import json
import multiprocessing
import sys
import time
import warnings
from multiprocessing.connection import wait
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
LONGEST = 100  # seconds for a model


def plan(model, dtype, answer):
    """Into the pipe: (steps or the error's text, seconds of processor)."""
    import own
    import torch
    from compiler import scheduled

    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    begun = time.process_time()
    try:
        call, inputs, _ = own.build(model, "compiled", dtype, "meta")
        steps = scheduled.steps(call, [call] if isinstance(call, torch.nn.Module) else [], inputs, {})
    except Exception as error:
        steps = f"{type(error).__name__}: {str(error)[:300]}"
    answer.send((steps, time.process_time() - begun))


def wanted(names):
    """Compiled runs that have a time, those of opened models first: (set, model, format, whether it is open)."""
    from sealed import SETS, load, opened

    sets = [load(name) for name in names.split(",")] if names else [load(file.stem) for file in sorted(SETS.glob("own-??.json"))]
    sets += [] if names else [load(file.stem) for file in sorted(SETS.glob("own-?.json"), reverse=True)]
    return [
        (kept["seed"], row["model"], row["dtype"], row["model"] in opened(kept))
        for kept in sets for row in kept["rows"] if row["mode"] == "compiled" and "busy_s" in row
    ]  # fmt: skip


def warm():
    """PyTorch and Inductor's patterns, once for all that are forked."""
    import own  # noqa: F401
    import torch
    from compiler import pretended_gpu, scheduled

    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    pretended_gpu.pretend()
    square = torch.empty(64, 64, device="meta")
    scheduled.steps(lambda x: torch.softmax(x @ x, -1), [], (square,), {})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default="", help="sets, with commas between; all of own code if none")
    parser.add_argument("--out", type=Path, default=Path("."))
    parser.add_argument("--processes", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=240.0)
    parser.add_argument("--first", type=int, default=0, help="only so many")
    args = parser.parse_args()
    begun = time.time()
    warm()
    todo = wanted(args.sets)
    todo = todo[: args.first] if args.first else todo
    asked, running, rows = len(todo), {}, []
    context = multiprocessing.get_context("fork")
    while (todo or running) and time.time() < begun + args.seconds:
        while todo and len(running) < args.processes:
            about = todo.pop(0)
            here, there = context.Pipe(duplex=False)
            process = context.Process(target=plan, args=(about[1], about[2], there), daemon=True)
            process.start()
            there.close()
            running[here] = about, process, time.time()
        for pipe in wait(list(running), timeout=0.5) or [one for one, (_, _, since) in running.items() if time.time() > since + LONGEST]:
            about, process, _ = running.pop(pipe)
            try:
                steps, seconds = pipe.recv() if pipe.poll() else (f"more than {LONGEST} s", 0.0)
            except EOFError:
                steps, seconds = "the process ended", 0.0
            process.kill()
            row = dict(zip(("set", "model", "dtype"), about[:3], strict=True)) | {"steps": steps, "cpu_s": round(seconds, 2)}
            rows.append((about[3], row))
    for _, process, _ in running.values():
        process.kill()
    for name, side in (("open", True), ("sealed", False)):
        mine = [row for is_open, row in rows if is_open == side]
        (args.out / f"plans-{name}.json.gz").write_bytes(gzip.compress(json.dumps(mine, separators=(",", ":")).encode()))
        whole = [row for row in mine if not isinstance(row["steps"], str)]
        spent = sorted(row["cpu_s"] for row in whole) or [0.0]
        print(f"{name}: {len(whole)} of {len(mine)} planned, {spent[len(spent) // 2]:.1f} s each in the median, {spent[-1]:.1f} at most")
    for is_open, row in rows:
        if is_open and isinstance(row["steps"], str):
            print(row["model"], row["steps"].splitlines()[0][:150])
    print(f"{len(rows)} of {asked} runs in {time.time() - begun:.0f} s")


if __name__ == "__main__":
    main()
