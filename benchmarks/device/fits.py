"""Does a promise hold that it fits? Fixed where there is no GPU, then tried on one under a memory limit.

    PYTHONPATH=src python benchmarks/device/fits.py draw --seed 1 --part library      80 runs by seed, with what is promised of each;
    PYTHONPATH=src python benchmarks/device/fits.py draw --seed 1 --part own          then the second part
    PYTHONPATH=src python3 benchmarks/device/fits.py try --out DIR/fits.json [--seconds 225] [--dry]     on the machine with the GPU
    PYTHONPATH=src python benchmarks/device/fits.py judge DIR/fits.json

All are of opened sets, whose captured graphs are at hand; no model of a library was ever measured for its memory there. In half precision
those say two batches: promised is the largest batch that fits a limit of 1.5 to 6 GB, to one sample. Of the rest, in FP32, trained or
compiled, and of own code: the least memory that they fit in. A try sets that limit for the process (`set_per_process_memory_fraction`),
builds the model and calls it three times. After a try that has no room the limit is raised until it has, and after one that has room it
is lowered until it has none: what a promise needs, over what it says.
"""

import argparse
import gc
import json
import multiprocessing
import os
import queue
import random
import signal
import sys
import time
import warnings
from pathlib import Path

import torch

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
KEPT = HERE.parent / "fits.json"
LIBRARY = {("eager", "fp16"): 18, ("eager", "fp32"): 8, ("training", "bf16"): 14, ("compiled", "fp16"): 8}
OWN = {("eager", "bf16"): 8, ("eager", "fp32"): 8, ("training", "fp32"): 5, ("training", "bf16"): 5, ("compiled", "bf16"): 6}
GROWN = ("eager", "fp16")  # captured at two batches
LIMITS, LEAST, MOST = (1.5, 6.0), 0.2, 10.0  # GB: limits for those; of the others, what they need
GB = 1e9
CALLS = 3  # the optimiser's state comes with the first, and memory is in order from the second on
ONE_TRY = 60  # seconds
PROCESSES, WIDE = 9, 12e9  # bytes for a process that has no limit: all of them fit the GPU together
MORE = (1.02, 1.04, 1.06, 1.08, 1.1, 1.15, 1.2, 1.3, 1.5, 2.0, 3.0)  # times the limit
LESS = (0.97, 0.94, 0.9, 0.85, 0.8, 0.7)
NO_ROOM = ("out of memory", "ALLOC_FAILED", "valid cuDNN algorithm", "No valid execution plans")  # PyTorch, cuBLAS, cuDNN


# ---- without a GPU


def draw(args):
    """Which runs, what is promised of each, and nothing that was measured."""
    import sealed

    own = args.part == "own"
    chance, cases = random.Random(f"fits {args.seed} {args.part}"), json.loads(args.out.read_text())["cases"] if own else []
    names = sorted(file.stem for file in sealed.SETS.glob("own-*.json")) if own else ["seed-1", "seed-2"]
    sets = {name: sealed.load(seed_of(name)) for name in names}
    rows = [(name, row) for name, kept in sets.items() for row in kept["rows"] if row["model"] in sealed.opened(kept) and "busy_s" in row]
    chance.shuffle(rows)
    left, seen = dict(OWN if own else LIBRARY), {}
    if args.compiled:
        left = {run: args.compiled for run in left if run[0] == "compiled"}
    tried_before = {key(case) for file in args.without for case in json.loads(file.read_text())["cases"]}
    for name, row in rows:
        run = row["mode"], row["dtype"]
        if key(row) in tried_before or not left.get(run, 0) or seen.get(row["model"], 0) >= (1 if own else 2) or row["batch"] == 1:
            continue
        model = next(model for model in sets[name]["models"] if model["model"] == row["model"])
        case = {**{key: row[key] for key in ("library", "model", "mode", "dtype", "batch")}, "set": name}
        case |= {key: model[key] for key in ("input", "size") if key in model}
        promise = promised(case, round(chance.uniform(*LIMITS), 1) * GB)
        if promise and LEAST * GB < promise["limit_bytes"] < MOST * GB:
            cases.append(case | promise)
            left[run] -= 1
            seen[row["model"]] = seen.get(row["model"], 0) + 1
            print(len(cases), name, row["model"], *run, promise, flush=True)
    write(args.out, cases)


def seed_of(name):
    return int(name[5:]) if name.startswith("seed-") else name


def write(path, cases):
    path.write_text('{"cases": [\n' + ",\n".join(" " + json.dumps(case) for case in cases) + "\n]}\n")


def promised(case, limit):
    """The batch, the limit and the tensors' peak; None for a run that is not drawn."""
    import ironlaw as il
    from ironlaw.engine.device.predict import memory
    from ironlaw.systems.largest_sizes import growth

    machine, plan = il.hardware("h200_sxm"), il.Plan(mode="compiled" if case["mode"] == "compiled" else "eager")
    graph = captured(case, case["batch"])
    if graph is None:
        return None
    if case["library"] == "own" or (case["mode"], case["dtype"]) != GROWN:
        need = memory(graph, machine, plan)
        return {"limit_bytes": least(need), "tensor_bytes": float(need.total)}
    one = captured(case, 1)
    grown = one and growth("batch", {case["batch"]: graph, 1: one})
    lines = grown and grown.on(machine)
    if not lines or not lines.requests or lines.total(1) > limit / 2:
        return None
    batch = lines.largest(limit)
    return {"batch": batch, "limit_bytes": limit, "tensor_bytes": lines.total(batch)} if batch >= 2 else None


def least(need):
    """The least memory, in MiB, in which it fits."""
    from dataclasses import replace

    from ironlaw.engine.device.memory import LEAST_MARGIN

    low, high = float(need.total), (1.0 + need.margin) * float(need.segments) + LEAST_MARGIN + 2.0**21
    while high - low > 2.0**20:
        middle = (low + high) / 2
        low, high = (low, middle) if replace(need, capacity=middle, reserved=0.0).fits else (middle, high)
    return high


KNOWN = {}


def captured(case, batch):
    """The graph of a run, as its set has it."""
    import sealed

    from ironlaw.tracing.graph_json import from_json

    seed = seed_of(case["set"])
    if seed not in KNOWN:
        KNOWN[seed] = sealed.stored(seed)
    kept = KNOWN[seed].get(sealed.key_of({**case, "batch": batch}), {"error": ""})
    return None if "error" in kept else from_json(kept)


def late(*_):
    raise TimeoutError("it took too long")


# ---- on a GPU


def module_of(case, batch, device):
    from corpus import catalogue

    entry = catalogue.Entry(case["library"], case["model"], case["input"], case["size"])
    module, args, keywords = catalogue.build(entry, device=device, batch=batch, dtype=case["dtype"])
    return module.train(case["mode"] == "training"), args, keywords


def call_of(case, device, dry):
    import own
    from corpus import catalogue

    if case["library"] == "own":
        return own.call_of(case["model"], case["mode"], case["dtype"], device, dry)
    module, args, keywords = module_of(case, 2 if dry else case["batch"], device)
    if case["mode"] == "training":
        optimiser = torch.optim.AdamW(module.parameters(), lr=1e-5)

        def step():
            catalogue.loss(module(*args, **keywords)).backward()
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)

        return step
    run = torch.compile(module) if case["mode"] == "compiled" else module

    def infer():
        with torch.no_grad():
            run(*args, **keywords)

    return infer


def one_try(case, limit, device, dry):
    """Whether it has room, and the allocator's peaks; anything but a lack of memory is an error."""
    gc.collect()
    if device == "cuda":
        torch._C._cuda_clearCublasWorkspaces()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        limited(WIDE)
    held = torch.cuda.memory_reserved() if device == "cuda" else 0
    begun, fits = time.time(), True
    signal.alarm(ONE_TRY)
    try:
        call = call_of(case, device, dry)  # whoever builds in FP32 on the GPU and then converts needs more for that alone
        if device == "cuda":
            gc.collect()
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            limited(limit)
        for _ in range(1 if dry else CALLS):
            call()
        if device == "cuda":
            torch.cuda.synchronize()
    except RuntimeError as error:
        if not any(words in str(error) for words in NO_ROOM):
            raise
        fits = False
    finally:
        signal.alarm(0)
    peaks = (torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()) if device == "cuda" else (0, 0)
    row = {"fits": fits, "held_bytes": held, "memory_bytes": peaks[0], "reserved_bytes": peaks[1], "seconds": time.time() - begun}
    return {"limit_bytes": limit} | row


def limited(limit):
    torch.cuda.set_per_process_memory_fraction(limit / torch.cuda.get_device_properties(0).total_memory)


def tries_of(case, device, dry):
    """Under what is promised; then upwards until it has room, or downwards until it has none; last without a limit."""
    tries = []
    kept = case["limit_bytes"]
    try:
        tries.append(one_try(case, kept, device, dry))
        if dry:
            return {"tries": tries}
        compiled = case["mode"] == "compiled"
        wanted = not tries[0]["fits"]
        for factor in MORE if wanted else () if compiled else LESS:
            if compiled:
                torch._dynamo.reset()
            tries.append(one_try(case, factor * kept, device, dry))
            if tries[-1]["fits"] == wanted:
                break
        return {"tries": tries} if compiled else {"tries": tries, "wide": one_try(case, max(WIDE, kept), device, dry)}
    except Exception as error:
        return {"tries": tries, "error": f"{type(error).__name__}: {str(error)[:300]}"}


def work(jobs, results, dry):
    warnings.filterwarnings("ignore")
    signal.signal(signal.SIGALRM, late)
    device = "cpu" if dry else "cuda"
    while True:
        try:
            place, case = jobs.get(timeout=2)
        except queue.Empty:
            return
        results.put((place, tries_of(case, device, dry)))


def tried(args):
    """What had room, written as it comes."""
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "2")
    begun, cases = time.time(), json.loads(args.cases.read_text())["cases"]
    if args.only:
        cases = [case for case in cases if case["model"] in args.only.split(",")]
    context = multiprocessing.get_context("spawn")
    jobs, results = context.Queue(), context.Queue()
    order = sorted(range(len(cases)), key=lambda i: cases[i]["mode"] != "compiled")
    for place in order:
        jobs.put((place, cases[place]))
    time.sleep(0.5)
    workers = [context.Process(target=work, args=(jobs, results, args.dry), daemon=True) for _ in range(min(args.processes, len(cases)))]
    for worker in workers:
        worker.start()
    found = {}
    while len(found) < len(cases) and time.time() < begun + args.seconds:
        try:
            place, row = results.get(timeout=1)
        except queue.Empty:
            if not any(worker.is_alive() for worker in workers):
                break
            continue
        found[place] = {name: cases[place][name] for name in ("library", "model", "mode", "dtype")} | row
        head = {"torch": torch.__version__, "gpu": "" if args.dry else torch.cuda.get_device_name(0), "seconds": time.time() - begun}
        args.out.write_text(json.dumps(head | {"cases": list(found.values())}))
        print(f"{time.time() - begun:5.0f} s  {cases[place]['model']:50}{said(row)}", flush=True)
    for worker in workers:
        worker.kill()


def said(row):
    last = row["tries"][-1] if row["tries"] else {}
    return row.get("error") or f"{[one['fits'] for one in row['tries']]} {last.get('reserved_bytes', 0) / GB:.2f} GB"


# ---- both beside each other


def needed(case, row):
    """Least memory seen to be enough, over what was promised: 1 or less where the promise held."""
    enough = [one["limit_bytes"] for one in row["tries"] if one["fits"]]
    return min(enough) / case["limit_bytes"] if enough else float("inf")


def judge(args):
    """How many promises held, and what the others needed."""
    cases = {key(case): case for case in json.loads(args.cases.read_text())["cases"]}
    rows = [row for row in json.loads(args.file.read_text())["cases"] if key(row) in cases]
    for title, which in TITLES.items():
        mine = [(cases[key(row)], row) for row in rows if which(row) and row["tries"] and not ("error" in row and len(row["tries"]) < 2)]
        if mine:
            over = sorted(needed(*both) for both in mine)
            held = sum(value <= 1.0 for value in over)
            print(f"{title:24}{held:4} of {len(mine):3} hold; the others need {[f'{v - 1:+.0%}' for v in over if v > 1.0]}")
    for case, row in sorted(((cases[key(row)], row) for row in rows), key=lambda both: -needed(*both) if both[1]["tries"] else 0.0):
        wide = row.get("wide") or (row["tries"][-1] if row["tries"] else {})
        peak = wide.get("memory_bytes") or 0
        error = f"tensors {case['tensor_bytes'] / peak - 1:+.0%}" if peak else ""
        need = needed(case, row) if row["tries"] else float("nan")
        name = f"{case['library']} {case['model']}"[:58]
        end = f"{case['limit_bytes'] / GB:5.2f} GB needs {need:.2f}  {error} {row.get('error', '')[:60]}"
        print(f"{name:60}{case['mode']:9} {case['dtype']} {end}")


def key(case):
    return case["library"], case["model"], case["mode"], case["dtype"]


TITLES = {
    "all": lambda row: True,
    "libraries": lambda row: row["library"] != "own",
    "own code": lambda row: row["library"] == "own",
    "inference": lambda row: row["mode"] == "eager",
    "training": lambda row: row["mode"] == "training",
    "compiled": lambda row: row["mode"] == "compiled",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, what in {"draw": draw, "try": tried, "judge": judge}.items():
        command = commands.add_parser(name, help=what.__doc__)
        command.set_defaults(what=what)
    one = commands.choices["draw"]
    one.add_argument("--seed", required=True)
    one.add_argument("--out", type=Path, default=KEPT)
    one.add_argument("--without", type=Path, nargs="*", default=[], help="runs of these files are not drawn again")
    one.add_argument("--part", choices=("library", "own"), required=True, help="one after the other, into the same file")
    one.add_argument("--compiled", type=int, default=0, help="so many compiled runs and no others")
    for one in (commands.choices["try"], commands.choices["judge"]):
        one.add_argument("--cases", type=Path, default=KEPT, help="what draw wrote")
    commands.choices["judge"].add_argument("file", type=Path)
    one = commands.choices["try"]
    one.add_argument("--out", type=Path, required=True)
    one.add_argument("--seconds", type=float, default=225.0)
    one.add_argument("--processes", type=int, default=PROCESSES)
    one.add_argument("--only", default="", help="these models, with commas between")
    one.add_argument("--dry", action="store_true", help="on the processor, small, to try the program")
    args = parser.parse_args()
    args.what(args)


if __name__ == "__main__":
    main()
