"""Gains of training steps, predicted beside measured: what `training_steps.py --judge` prints."""

import json
import sys
from collections import defaultdict
from pathlib import Path
from statistics import mean, median

from training_steps import CHANGES, step_of

import ironlaw as il
from ironlaw.calibration import stored_curves
from ironlaw.engine.advice.gain import gain, log_sd
from ironlaw.errors import IronlawError
from ironlaw.systems.accuracy.measured_gains import MeasuredGain

NEAR = 0.15  # of the measured gain, that a prediction may be off
LEAST = 1.02  # times as fast: less is not worth a line
LEVEL = 0.03  # a measured gain within this of 1 has no sign: a prediction is right that says less than twice that


SEAL = Path(__file__).resolve().parents[1] / "training_steps_2.json"


def judge(file, every):
    """Table by change, and with `every` each pair, unless a model is sealed."""
    about, timed = read(file)
    seal = json.loads(SEAL.read_text())
    if every and "opened" not in seal and set(timed) & set(seal["models"]):
        sys.exit(f"these models are sealed: only totals are shown until {SEAL.name} says when they were opened")
    machine, host = il.hardware(about["machine"]["hardware"]), about["host"]
    host = stored_curves.host(host) if host and "error" not in host else None
    gains, refused = defaultdict(list), []
    for name, rows in timed.items():
        predicted = {variant: prediction(name, variant, machine, host, about["dry"]) for variant in rows}
        refused += [f"{name}, {variant}: {reason}" for variant, reason in predicted.items() if isinstance(reason, str)]
        there = {variant for variant, one in predicted.items() if not isinstance(one, str)}
        for change, one, two in CHANGES:
            if {one, two} <= there:
                gains[change].append(pair(name, change, rows[one], rows[two], predicted[one], predicted[two]))
        for one in (one for mine in gains.values() for one in mine if every and one.model == name):
            print(f"{one.model:22}{one.change:12} measured {one.measured:6.3f}×  predicted {one.predicted.ratio:6.3f}×  {one.error:+.0%}")
    print(f"{'change':12}{'pairs':>6}{'error':>8}{'device':>8}{'within 15%':>12}{'sign':>12}")
    gains["all"] = [one for mine in gains.values() for one in mine]
    for change, mine in gains.items():
        print(line(change, mine))
    offered = [one for one in gains["all"] if one.predicted.sure and one.predicted.ratio > LEAST]
    faster = sum(one.measured > 1.0 for one in offered)
    print(f"sure to help by their range, and so offered: {len(offered)}; of these the step got faster with {faster}")
    print(f"median error {median(abs(one.error) for one in gains['all']):.1%}; {len(timed)} models; not captured: {len(refused)}")
    print(*refused, sep="\n")


def read(file):
    """The first line, and for each model and variant what was measured; a variant without a wall time is left out."""
    about, timed = {}, defaultdict(dict)
    for row in map(json.loads, Path(file).read_text().splitlines()):
        if row["kind"] == "about":
            about = row
        elif row["kind"] in ("step", "device") and (row["kind"] == "step" or row["variant"] in timed[row["model"]]):
            timed[row["model"]].setdefault(row["variant"], {}).update(row)
    return about, timed


def prediction(name, variant, machine, host, small):
    """Of the captured step; the reason, where it can't be captured."""
    step, batch = step_of(name, variant, "cuda", small, made_on="cpu")
    mode = "compiled" if variant.endswith("compiled") else "eager"
    try:
        return il.predict(il.capture(step, batch), machine, il.Plan(mode, host=host))
    except IronlawError as error:
        return str(error)


def pair(name, change, one, two, before, after):
    device = None
    if one.get("busy_s") and two.get("busy_s"):
        device = float(before.busy_s) / float(after.busy_s), one["busy_s"] / two["busy_s"]
    return MeasuredGain(name, change, gain(before, after, 1.0, change), one["wall_s"] / two["wall_s"], device, log_sd(before, after))


def right(one):
    return one.right or (abs(one.measured - 1.0) < LEVEL and abs(one.predicted.ratio - 1.0) < 2 * LEVEL)


def line(change, gains):
    device = [abs(one.device[0] / one.device[1] - 1.0) for one in gains if one.device]
    seen = f"{mean(device):.1%}" if device else "–"
    near, signs = sum(abs(one.error) < NEAR for one in gains), sum(map(right, gains))
    error, count = mean(abs(one.error) for one in gains), len(gains)
    return f"{change:12}{count:6}{error:8.1%}{seen:>8}{near:6} of {count:2}{signs:6} of {count:2}"
