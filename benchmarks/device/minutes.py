"""A minute of `ironlaw measure` here, and two, as a user runs them; every file they leave is kept.

    PYTHONPATH=src python3 benchmarks/device/minutes.py --out DIR [--seconds 235]

home-60 and home-120 are what `ironlaw measure` and `ironlaw measure --seconds 120` store; minute-60.json and -120.json what they say. Then
the first is exported and added under another home, and a third measurement is interrupted, if there is time. `benchmarks/minute.py
--measured DIR/home-60/evidence/this_machine/machine.json` judges what a minute is worth.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

LEAVE, INTERRUPTED = 12.0, 38.0  # seconds before the end in which nothing begins; after which the third is interrupted


def ironlaw(home, *words, until=None):
    """(exit code, seconds, what it printed); `until`: seconds after which Ctrl-C is pressed."""
    began = time.monotonic()
    environment = {**os.environ, "IRONLAW_HOME": str(home)}
    run = subprocess.Popen(
        [sys.executable, "-m", "ironlaw", *words], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        said, _ = run.communicate(timeout=until)
    except subprocess.TimeoutExpired:
        run.send_signal(signal.SIGINT)
        said, _ = run.communicate(timeout=30)
    return run.returncode, time.monotonic() - began, said


def rows_of(home):
    place = home / "evidence" / "this_machine" / "machine.json"
    rows = json.loads(place.read_text())["rows"] if place.exists() else []
    return len(rows), sum(bool(row.get("error")) for row in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--seconds", type=float, default=235.0)
    args = parser.parse_args()
    out, end = args.out, time.monotonic() + args.seconds
    out.mkdir(parents=True, exist_ok=True)

    def step(name, home, *words, takes=0.0, until=None):
        if end - time.monotonic() < takes + LEAVE:
            print(f"{name}: no time left", flush=True)
            return
        code, took, said = ironlaw(out / home, *words, until=until)
        (out / f"{name}.txt").write_text(said)
        rows, failed = rows_of(out / home)
        print(f"{name}: exit code {code}, {took:.1f} s, {rows} rows, {failed} of them errors", flush=True)

    step("minute-60", "home-60", "measure", "--force", takes=65)
    step("minute-120", "home-120", "measure", "--force", "--seconds", "120", takes=125)
    step("export", "home-60", "measure", "--export", str(out / "exported.json"), takes=5)
    step("added", "home-other", "hardware", "add", str(out / "exported.json"), "our_gpu", takes=5)
    step("predicted", "home-other", "predict", "resnet50", "--on", "our_gpu", takes=5)
    step("second-gpu", "home-60", "measure", "--device", "cuda:1", takes=5)
    left = end - time.monotonic() - LEAVE
    if left > 15.0:
        step("interrupted", "home-interrupted", "measure", "--force", until=min(INTERRUPTED, left))


if __name__ == "__main__":
    main()
