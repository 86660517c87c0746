"""What `ironlaw measure --for` is worth here: models of own code, predicted before and after their operators were timed, and run.

    PYTHONPATH=src python3 benchmarks/device/minute_for.py --models unet_segmentation,… [--dtype bf16] [--seconds 20] [--out DIR]

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


def judged(name, folder, args):
    """One model: predicted before, after, and what it took."""
    target = folder / f"{name}.py"
    target.write_text(TARGET.format(paths=[str(HERE)], name=name, small=args.small))
    more = ["--dtype", args.dtype] if args.dtype else []
    options = [*more, "--force", "--seconds", str(args.seconds)]
    found = said("measure", "--for", f"{target}:net", *options)
    run = said("measure", f"{target}:net", "--mode", "eager", *more, "--force", "--seconds", "2")
    (eager,) = run["runs"]
    took = eager.get("busy_s") or eager["wall_s"]
    return {"model": name, "took": took, "for": found, "run": eager}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", required=True, help="names of benchmarks/device/own, with commas between")
    parser.add_argument("--dtype", default="")
    parser.add_argument("--seconds", type=float, default=20.0, help="for the operators of each model")
    parser.add_argument("--small", action="store_true", help="the models' small sizes, to try the program")
    parser.add_argument("--out", type=Path, default=Path("."))
    args = parser.parse_args()
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
            before, after = (last["for"][when]["busy_s"] / last["took"] - 1.0 for when in ("before", "after"))
            count, whole = len(last["for"]["operators"]), last["for"]["found"]
            print(
                f"{name}: {last['took'] * 1e3:.3f} ms; before {before:+.1%}, after {after:+.1%}; {count} of {whole} operators", flush=True
            )


if __name__ == "__main__":
    main()
