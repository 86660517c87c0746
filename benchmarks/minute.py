"""Which operators a minute of measuring should time, and how far predictions from those rows alone are off.

    python benchmarks/minute.py --rows 300,700,1200 [--judge own-3,own-4,3]

Every row of the machine's evidence is a case that could have been timed. Cases are put into an order: first a few of each curve that the
opened models use, by their share of the time, then, one by one, the case that tells most about what those models run and no chosen case is
near (a share of time weighs, and so does a family's scatter). The first so many rows are fitted as `ironlaw measure` fits a machine's own,
and judged by models that the order has not seen. Of sealed models, only totals are printed.
"""

import argparse
import math
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from statistics import mean

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import sealed

import ironlaw as il
from ironlaw.calibration.fit import calibrate
from ironlaw.registry.evidence import evidence
from ironlaw.systems.accuracy.refit import as_product, is_narrow
from ironlaw.tracing.graph_json import from_json

MACHINE = il.hardware(sealed.MACHINE)
LIBRARY, FAMILIES = MACHINE.calibration.library, MACHINE.calibration.families
USED = ("own-1", "own-2", 1, 2)  # sets whose models say what is worth measuring
EACH = (0.0, 0.25, 0.5, 0.75, 1.0)  # where a curve's first cases lie among those there are, from the shortest to the longest
SELDOM = 1e-4  # share of the time below which a curve gets no case of its own
PLAIN, SCATTER = 2.0, 0.3  # length scale and sd of a family that the registry does not have


def measured_rows():
    """Rows of single operators, those of launches, and how the machine is described."""
    files = [file for file in evidence(sealed.MACHINE) if any(row.kind in ("op", "launch") or is_narrow(row) for row in file.rows)]
    rows = [as_product(row) for file in files for row in file.rows if not row.error]
    described = next((file.machine for file in reversed(files) if "host" in file.machine), files[-1].machine)
    return [row for row in rows if row.kind == "op" and row.busy_s], [row for row in rows if row.kind == "launch"], described


def runs(name):
    """(row, graph) of every run of a set that was timed and captured."""
    kept, graphs, memo = sealed.load(name), sealed.stored(name), {}
    for row in kept["rows"]:
        key = sealed.key_of(row)
        if "busy_s" in row and "error" not in graphs.get(key, {"error": ""}):
            if key not in memo:
                memo = {key: from_json(graphs[key])}
            yield row, memo[key]


def mode_of(row):
    return "compiled" if row["mode"] == "compiled" else "eager"


def used(names):
    """Shares of the device time: family -> place -> share, and curve -> share, summed over all runs."""
    places, curves = defaultdict(lambda: defaultdict(float)), defaultdict(float)
    for name in names:
        for row, graph in runs(name):
            p = il.predict(graph, MACHINE, il.Plan(mode=mode_of(row)))
            for op in p.ops:
                share = float(op.cost.device) / float(p.busy_s)
                signature, kernels = LIBRARY.signature(op.op, mode_of(row)), LIBRARY.lower(op.op, MACHINE, mode_of(row))
                if signature:
                    places[signature.family][tuple(signature.place)] += share
                for kernel in kernels:
                    curves[kernel.curve] += share / len(kernels)
    return places, curves


def first_of_curves(rows, ops, curves):
    """A few cases of each curve, those that take most of the time first."""
    cases = defaultdict(list)
    for i, op in enumerate(ops):
        names = {kernel.curve for kernel in LIBRARY.lower(op, MACHINE, "eager")} if op else set()
        if len(names) == 1:
            cases[names.pop()].append(i)
    whole = sum(curves.values())
    for name, share in sorted(curves.items(), key=lambda pair: -pair[1]):
        by_time = sorted(cases[name], key=lambda i: rows[i].busy_s)
        if by_time and share > SELDOM * whole:
            yield from dict.fromkeys(by_time[round(q * (len(by_time) - 1))] for q in EACH)


class Covered:
    """One family: how well the places that models use are known from the chosen cases."""

    def __init__(self, name, cases, places, uses):
        known = FAMILIES.get(name)
        scales = np.array(known.scales) if known else np.full(len(places[0]), PLAIN)
        self.cases, weights = cases, np.array(list(uses.values()))
        distances = np.linalg.norm(np.array(list(uses))[:, None, :] / scales - np.array(places)[None, :, :] / scales, axis=2) * math.sqrt(
            3.0
        )
        self.shared = ((1.0 + distances) * np.exp(-distances)) ** 2  # of the variance, that a case explains
        self.weights, self.known = weights * (known.signal if known else SCATTER) ** 2, np.zeros(len(weights))

    def take(self, case):
        self.known = np.maximum(self.known, self.shared[:, case])

    def best(self):
        """(what it would tell, which case)."""
        gains = (np.maximum(self.shared - self.known[:, None], 0.0) * self.weights[:, None]).sum(0)
        return float(gains.max()), int(gains.argmax())


def order(rows, most, places, curves):
    """Indices of rows, the most telling first."""
    ops = [LIBRARY.measured(row) for row in rows]
    signatures = [LIBRARY.signature(op, "eager") if op else None for op in ops]
    members = defaultdict(list)
    for i, signature in enumerate(signatures):
        if signature and signature.family in places:
            members[signature.family].append(i)
    covered = {name: Covered(name, some, [signatures[i].place for i in some], places[name]) for name, some in members.items()}
    place_of = {i: (name, at) for name, some in members.items() for at, i in enumerate(some)}
    chosen = list(dict.fromkeys(first_of_curves(rows, ops, curves)))[:most]
    for i in chosen:
        if i in place_of:
            name, at = place_of[i]
            covered[name].take(at)
    bests = {name: one.best() for name, one in covered.items()}
    while len(chosen) < most and bests:
        name = max(bests, key=lambda name: bests[name][0])
        gain, at = bests[name]
        if gain <= 0.0:
            break
        chosen.append(members[name][at])
        covered[name].take(at)
        bests[name] = covered[name].best()
    return list(dict.fromkeys(chosen))


def judged(machine, name):
    """Mean |error| and bias by mode, over all runs of a set."""
    errors = defaultdict(list)
    for row, graph in runs(name):
        mode = "fp32" if (row["mode"], row["dtype"]) == ("eager", "fp32") else row["mode"]
        errors[mode].append(float(il.predict(graph, machine, il.Plan(mode=mode_of(row))).busy_s) / row["busy_s"] - 1.0)
    return ", ".join(f"{mode} {mean(map(abs, off)):.1%} ({mean(off):+.0%})" for mode, off in sorted(errors.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="300,700,1200", help="how many rows are fitted")
    parser.add_argument("--judge", default="own-3,own-4,3", help="sets that judge")
    args = parser.parse_args()
    names = [int(name) if name.isdigit() else name for name in args.judge.split(",")]
    rows, launches, described = measured_rows()
    chosen = order(rows, max(map(int, args.rows.split(","))), *used(USED))
    for name in names:
        print(f"all {len(rows):,} rows: set {name}: {judged(MACHINE, name)}", flush=True)
    for count in map(int, args.rows.split(",")):
        some = [rows[i] for i in chosen[:count]] + launches
        fitted = replace(calibrate(some, described, MACHINE, ()), among=MACHINE.calibration.among)
        for name in names:
            off = judged(replace(MACHINE, calibration=fitted), name)
            print(f"{count:,} rows, {len(fitted.curves)} curves: set {name}: {off}", flush=True)


if __name__ == "__main__":
    main()
