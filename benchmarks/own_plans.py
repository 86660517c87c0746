"""Which kernels torch.compile makes of own code for an H200, without one, beside those that were counted on one.

    python benchmarks/own_plans.py --set own-5 [MODEL …] [--out plans.jsonl]

Inductor itself decides, up to its scheduler; libraries' calls are counted as capture and the rules in `ironlaw.backends` have them. Only
models that were opened are shown. `--out` keeps what it said: of each loop its bytes, its steps and the rows that it sums. Tried on 38
runs of own-3 to own-6 with PyTorch 2.13: within 5% of what was counted with 2.11 for 21 of them, and ironlaw's own planner for 6.
"""

import argparse
import json
import multiprocessing
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "device")]
LONGEST = 180  # seconds for a model


def said(model, dtype, answer):
    """What Inductor would run, into the pipe; a process of its own, since some models take for ever."""
    import own
    import torch
    from compiler import scheduled

    warnings.filterwarnings("ignore")
    call, inputs, _ = own.build(model, "compiled", dtype, "meta")
    try:
        answer.send(scheduled.steps(call, [call] if isinstance(call, torch.nn.Module) else [], inputs, {}))
    except Exception as error:
        answer.send(f"{type(error).__name__}: {str(error)[:200]}")


def asked(model, dtype):
    here, there = multiprocessing.get_context("fork").Pipe(duplex=False)
    worker = multiprocessing.get_context("fork").Process(target=said, args=(model, dtype, there))
    worker.start()
    there.close()
    try:
        return here.recv() if here.poll(LONGEST) else f"more than {LONGEST} s"
    except EOFError:
        return "the process ended"
    finally:
        worker.kill()
        worker.join()


def library_kernels(steps):
    """Of the calls between the loops, on the machine that was measured."""
    from compiler import nodes

    import ironlaw as il
    from ironlaw.errors import IronlawError

    machine, known = il.hardware("h200_sxm"), {}
    for step in steps:
        key = json.dumps(step, sort_keys=True)
        if "call" in step and key not in known:
            try:
                graph = il.capture(nodes.function_of(step), tuple(map(nodes.revived, step["args"])))
                known[key] = float(il.predict(graph, machine).kernels)
            except IronlawError:  # a view, or a call that capture has no rule for
                known[key] = 0.0
        yield known.get(key, 0.0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help="only these")
    parser.add_argument("--set", default="own-5")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    import torch
    from compiler import pretended_gpu, scheduled
    from sealed import load, opened

    kept = load(args.set)
    rows = [row for row in kept["rows"] if row["mode"] == "compiled" and "busy_s" in row and row["model"] in opened(kept)]
    pretended_gpu.pretend()
    square = torch.empty(64, 64, device="meta")
    scheduled.steps(lambda x: torch.softmax(x @ x, -1), [], (square,), {})  # Inductor makes its patterns ready, once for all
    for row in rows:
        if args.models and row["model"] not in args.models:
            continue
        steps = asked(row["model"], row["dtype"])
        if args.out:
            with args.out.open("a") as file:
                file.write(json.dumps({"model": row["model"], "dtype": row["dtype"], "steps": steps}) + "\n")
        if isinstance(steps, str):
            print(f"{row['model']:36} {steps.splitlines()[0]}", flush=True)
            continue
        loops, calls = sum("loop" in step for step in steps), sum(library_kernels(steps))
        print(f"{row['model']:36} {loops} loops + {calls:.0f} kernels of libraries, {row['kernels']} measured", flush=True)


if __name__ == "__main__":
    main()
