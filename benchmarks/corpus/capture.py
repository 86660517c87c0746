"""Capture every model of the corpus and keep what their operators look like.

    PYTHONPATH=src python benchmarks/corpus/capture.py [--out DIR] [--library timm,…] [--only NAME] [--run eager1,…] [--processes N]
    PYTHONPATH=src python benchmarks/corpus/collect.py [--out DIR]        signatures.json.xz and docs/corpus.md from what is there

Resumable: a run that has a file in DIR is not repeated (`--again`: repeat those that failed). Each run is a process of its own with a
limit on time and memory, so that a model that fails harms nothing. First every model at the larger batch, then at a batch of 1, then a
training step. Needs the libraries of benchmarks/pinned.txt, diffusers if wanted, and ironlaw.
"""

import argparse
import contextlib
import json
import os
import resource
import signal
import sys
import time
import traceback
import warnings
from pathlib import Path
from zlib import crc32

os.environ.setdefault("OMP_NUM_THREADS", "1")
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

SECONDS, MEMORY = 120, 12  # limits of one run: of processor time, so that a busy machine changes nothing; gigabytes
PATIENCE = 10  # times as long on the clock: what waits for something else ends too
LARGE = {"ids": 8, "ids+ids": 8, "audio": 4, "video": 4, "latent": 4, "images": 4, "image+image": 4}  # the larger batch by kind of input
LARGE_IMAGES = 16
REFUSED = "the call fails"  # as capture says where the model's own code raises
RUNS_PLAIN = "runs"
PLAIN_LARGEST = 5e8  # parameters of a model that is called for real
RUNS = ("eager", "eager1", "training")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=HERE.parent / "scratch" / "corpus")
    parser.add_argument("--library", default="timm,torchvision,transformers,diffusers")
    parser.add_argument("--only", default="", help="models whose name holds one of these, with commas between")
    parser.add_argument("--run", default=",".join(RUNS))
    parser.add_argument("--again", action="store_true", help="repeat the runs that failed")
    parser.add_argument("--earlier", type=Path, help="folder of an earlier run: what failed there comes first, then what it lacks")
    parser.add_argument("--seconds", type=int, default=SECONDS)
    parser.add_argument("--memory", type=float, default=MEMORY, help="gigabytes")
    parser.add_argument("--processes", type=int, default=1, help="how many runs at once")
    return parser.parse_args()


def place(out, entry, run):
    return out / entry.library / f"{entry.name.replace(':', '.')}.{run}.json"


def urgency(earlier, entry, run):
    """0 for what failed in an earlier run, 1 for what it lacks, 2 for what it captured."""
    path = place(earlier, entry, run)
    return 1 if not path.exists() else 0 if "error" in json.loads(path.read_text()) else 2


def batch_of(entry, run):
    return 1 if run == "eager1" else LARGE.get(entry.kind, LARGE_IMAGES)


def captured(entry, run):
    """The distinct ops of one run with how often each occurs, in order; {"error": …} where there are none.

    A model whose own code refuses FP16 is run as it can be: in BF16, else in FP32; one that refuses the usual inputs in every format is
    given others. What still refuses is called in plain PyTorch: "plain" says whether it runs there.
    """
    first = {}
    formats = ("bf16", "fp32") if run == "training" else ("fp16", "bf16", "fp32")
    for dtype, ways in [*((dtype, slice(1)) for dtype in formats), (formats[0], slice(1, None)), (formats[-1], slice(1, None))]:
        result = in_format(entry, run, dtype, ways)
        if REFUSED not in result.get("error", ""):
            return result
        first = first or result
    return first | {"plain": plain(entry, run == "training")}


def in_format(entry, run, dtype, ways=slice(1)):
    """One run in one number format; the first of these ways to call the model that it takes."""
    stage, training = "build", run == "training"
    result = {"stage": stage, "error": REFUSED}
    try:
        from corpus import catalogue

        model = catalogue.made(entry, "meta", dtype)
        stage = "capture"
        for way in catalogue.ways(entry)[ways]:
            result = called(model.train(training), entry, run, dtype, way)
            if REFUSED not in result.get("error", ""):
                break
    except Exception as error:
        result = described(error, stage)
    return result


def called(model, entry, run, dtype, way):
    import ironlaw as il
    from corpus import catalogue
    from ironlaw.worker.json_values import encode

    try:
        args, kwargs = catalogue.call(model, entry, "meta", batch_of(entry, run), dtype, **way)
        graph = il.capture(model, args, kwargs, training=run == "training")
    except Exception as error:
        return described(error, "capture")
    known = {}
    for op in graph.ops:
        if op.key in known:
            known[op.key][-1] += 1
        else:
            inputs, outputs = ([[list(t.shape), t.dtype, t.role] for t in tensors] for tensors in (op.inputs, op.outputs))
            known[op.key] = [op.kind, inputs, outputs, encode(dict(op.attrs)), 1]
    told = {"dtype": graph.dtype, "ops": len(graph.ops), "params": float(graph.params), "unknown": graph.settings["unknown"]}
    return told | ({"way": way} if way else {}) | {"signatures": list(known.values())}


def plain(entry, training):
    """Whether the same call runs in plain PyTorch on the processor, of a model with fewer layers where it is large: "runs", or how it
    fails. A model that is too large with the fewest layers is called on the meta device, which tells where shapes are refused."""
    import torch
    from torch.utils import _pytree as pytree

    from corpus import catalogue

    try:
        with torch.device("meta"):
            size = sum(p.numel() for p in catalogue.of(entry.library).make(entry, largest=PLAIN_LARGEST).parameters())
        device = "meta" if size > 4 * PLAIN_LARGEST else "cpu"  # where it is too large, shapes alone may tell
        model = catalogue.made(entry, device, "fp32", largest=PLAIN_LARGEST).train(training)
        args, kwargs = catalogue.call(model, entry, device, 2, "fp32")
        if device == "meta":
            args, kwargs = pytree.tree_map_only(torch.Tensor, lambda t: t.to("meta"), (args, kwargs))
        with torch.set_grad_enabled(training):
            out = model(*args, **kwargs)
            if training:
                catalogue.loss(out).backward()
    except Exception as error:
        why = described(error, "plain")["error"]
        return "too large to try" if "meta" in why.lower() or "data-dependent" in why else why
    return RUNS_PLAIN


def described(error, stage):
    where = traceback.extract_tb(error.__traceback__)[-1]
    why = f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"
    return {"stage": stage, "error": why, "at": f"{Path(where.filename).name}:{where.lineno}"}


def child(entry, run, path, seconds, memory):
    """In a forked process: limits, then the run; SIGXCPU or SIGALRM ends what takes too long."""
    signal.alarm(PATIENCE * seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, 2 * seconds))
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() if Path("/proc/self/statm").exists() else 0
    limit = mapped + int(memory * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    begun = time.monotonic()
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        result = captured(entry, run)
    write(path, head(entry, run) | {"seconds": round(time.monotonic() - begun, 2)} | result)


def head(entry, run):
    return {"library": entry.library, "model": entry.name, "run": run, "batch": batch_of(entry, run)}


def write(path, result):
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(result))
    part.replace(path)


def begin(entry, run, options):
    """The number of a forked process that makes this run."""
    pid = os.fork()
    if pid == 0:
        try:
            child(entry, run, place(options.out, entry, run), options.seconds, options.memory)
        finally:
            os._exit(0)
    return pid


def end(status, entry, run, options):
    """What a run wrote down; where its process could not, what ended it."""
    path = place(options.out, entry, run)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        why = f"took more than {options.seconds} s" if number in (signal.SIGXCPU, signal.SIGALRM) else f"ended by signal {number}"
        write(path, head(entry, run) | {"stage": "capture", "error": why})
    elif not path.exists():
        write(path, head(entry, run) | {"stage": "capture", "error": "out of memory"})
    return json.loads(path.read_text())


def results(jobs, options):
    """Each job with its result, as they end; those on disk are not run again unless they failed and `--again` asks for it."""
    running = {}
    for entry, run in jobs:
        path = place(options.out, entry, run)
        known = json.loads(path.read_text()) if path.exists() else None
        if known is not None and not ("error" in known and options.again):
            yield entry, run, known
            continue
        path.unlink(missing_ok=True)
        running[begin(entry, run, options)] = entry, run
        if len(running) == options.processes:
            yield next_end(running, options)
    while running:
        yield next_end(running, options)


def next_end(running, options):
    pid, status = os.wait()
    entry, run = running.pop(pid)
    return entry, run, end(status, entry, run, options)


def main():
    options = arguments()
    warnings.filterwarnings("ignore")
    import torch  # noqa: F401 - before the first fork, so that no child imports it again
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    import ironlaw.tracing.capture  # noqa: F401
    from corpus import catalogue

    chosen = [e for e in catalogue.entries(tuple(options.library.split(","))) if any(part in e.name for part in options.only.split(","))]
    chosen.sort(key=lambda e: crc32(e.name.encode()))  # mixed, so that a part of a run is a sample of the whole
    jobs = [(e, run) for run in options.run.split(",") for e in chosen if run != "training" or e.kind != "images"]  # detectors want boxes
    if options.earlier:
        jobs.sort(key=lambda job: (RUNS.index(job[1]), urgency(options.earlier, *job)))
    write(options.out / f"versions-{options.library.replace(',', '-')}.json", catalogue.versions())
    failed = 0
    columns = (
        TextColumn("{task.description:40.40}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[failed]} failed"),
    )
    with Progress(*columns) as progress:
        task = progress.add_task("", total=len(jobs), failed=0)
        for entry, run, result in results(jobs, options):
            failed += "error" in result
            progress.update(task, description=f"{run} {entry.name}", advance=1, failed=failed)


if __name__ == "__main__":
    main()
