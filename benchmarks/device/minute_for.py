"""What `ironlaw measure --for` is worth here: models of own code, predicted before and after their operators were timed, and run.

    PYTHONPATH=src python3 benchmarks/device/minute_for.py --models unet_segmentation,… [--dtype bf16] [--modes eager,compiled]

Everything is done by the commands that a user has, under a home of its own: the machine is measured first, then each model's operators,
then the model is run. Errors are those of the device time (on a processor of the wall time), as a share of the measured one.
"""

import argparse
import io
import json
import os
import sys
import tempfile
import time
from contextlib import redirect_stdout
from pathlib import Path

HERE = Path(__file__).resolve().parent
TARGET = """
import sys
sys.path[:0] = {paths!r}
from own import MODELS

def net():
    return MODELS[{name!r}].build({small})[0].eval()

def net_inputs():
    return MODELS[{name!r}].build({small})[1]
"""


def said(*argv):
    """What a command of ironlaw prints as JSON."""
    from ironlaw.cli import main

    out, began = io.StringIO(), time.monotonic()
    with redirect_stdout(out):
        code = main([*argv, "--json"])
    print(f"{time.monotonic() - began:6.1f} s  ironlaw {' '.join(argv)}", file=sys.stderr, flush=True)
    if code:
        raise SystemExit(f"ironlaw {' '.join(argv)} ended with {code}: {out.getvalue()[-2000:]}")
    return json.loads(out.getvalue())


def predicted(name, args):
    """Seconds in each mode, as this machine is known now: of the device, or on a processor of the whole call."""
    import torch
    from own import build

    import ironlaw as il

    with torch.device("meta"):
        call, inputs, _ = build(name, "eager", args.dtype or "fp32", "meta", args.small)
    graph, machine = il.capture(call, inputs), il.hardware("this")
    times = {mode: il.predict(graph, machine, il.Plan(mode=mode)) for mode in args.modes.split(",")}
    return {mode: float(p.busy_s if machine.backend == "cuda" else p.seconds) for mode, p in times.items()}


def judged(name, folder, args):
    """One model: predicted before, after, and what it took."""
    target = folder / f"{name}.py"
    target.write_text(TARGET.format(paths=[str(HERE)], name=name, small=args.small))
    more = ["--dtype", args.dtype] if args.dtype else []
    options = [*more, "--force", "--seconds", str(args.seconds)]
    before = predicted(name, args)
    found = said("measure", "--for", f"{target}:net", *options)
    run = said("measure", f"{target}:net", "--mode", args.modes, *more, "--force", "--seconds", "2")
    runs = [each for each in run["runs"] if not each.get("error")]
    took = {each["mode"]: each["busy_s"] if run["device"] == "cuda" else each["wall_s"] for each in runs}
    return {"model": name, "took": took, "before": before, "after": predicted(name, args), "for": found, "runs": run["runs"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", required=True, help="names of benchmarks/device/own, with commas between")
    parser.add_argument("--dtype", default="")
    parser.add_argument("--modes", default="eager", help="with commas between: eager, compiled")
    parser.add_argument("--seconds", type=float, default=20.0, help="for the operators of each model")
    parser.add_argument("--small", action="store_true", help="the models' small sizes, to try the program")
    parser.add_argument("--out", type=Path, default=Path("."))
    args = parser.parse_args()
    sys.path[:0] = [str(HERE)]
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["IRONLAW_HOME"] = str(Path(scratch) / "home")
        said("measure", "--force")
        rows = []
        for name in args.models.split(","):
            try:
                rows.append(judged(name, Path(scratch), args))
            except SystemExit as error:
                print(error, flush=True)
                continue
            args.out.mkdir(parents=True, exist_ok=True)
            (args.out / "minute_for.json").write_text(json.dumps(rows, indent=1))
            last = rows[-1]
            print(f"{name}, {len(last['for']['operators'])} of {last['for']['found']} operators", flush=True)
            for mode, took in last["took"].items():
                before, after = (last[when][mode] / took - 1.0 for when in ("before", "after"))
                print(f"    {mode}: {took * 1e3:.3f} ms; before {before:+.1%}, after {after:+.1%}", flush=True)


if __name__ == "__main__":
    main()
