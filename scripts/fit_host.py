"""What a launch costs within a model, from measured wall times: python scripts/fit_host.py

Prints the constants of engine/device/host.py beside what the rows say now; about a minute. Runs of opened models count that were timed in
the same minutes as their host, and in which the device is busy for less than WAITING of the wall time. Each run is simulated with its
predicted launches and its measured device time, so that only the host is judged.
"""

import sys
from itertools import product
from math import log
from pathlib import Path
from statistics import mean, median

import ironlaw as il
from ironlaw.calibration import stored_curves
from ironlaw.engine.device import host as constants
from ironlaw.engine.device.dispatch import queued
from ironlaw.tracing.graph_json import from_json

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))
from sealed import MACHINE, key_of, load, opened, stored

WAITING = 0.6
SETS = ("own-1", 2)
ENTRIES = (6.0, 12.0, 20.0, 30.0, 40.0)


def runs(name):
    """(mode, measured seconds, launches without any factor, device seconds, entries × default launch) of each run that counts."""
    kept, graphs = load(name), stored(name)
    names, hosts, machine = set(opened(kept)), [stored_curves.host(one) for one in kept["hosts"]], il.hardware(MACHINE)
    for row in kept["rows"]:
        if row["model"] not in names or "host" not in row or row.get("busy_s", 1.0) > WAITING * row.get("piped_s", 0.0):
            continue
        graph, host, mode = from_json(graphs[key_of(row)]), hosts[row["host"]], "compiled" if row["mode"] == "compiled" else "eager"
        p = il.predict(graph, machine, il.Plan(mode=mode, host=host))
        launches = [one.launch_s / constants.model_factor(graph.settings, one.op, mode) for one in p.ops]
        kernels = [one.seconds * row["busy_s"] / p.busy_s for one in p.ops]
        yield row["mode"], row["piped_s"], launches, kernels, graph.settings.get("entries", 1) * host.default


def off(found, factor, entry=0.0):
    """(mean error, bias) in logarithms with every launch so many times as long, and so many default launches to enter."""
    errors = []
    for _, measured, launches, kernels, entered in found:
        each = [factor * launch for launch in launches]
        errors.append(log(queued([each[0] + entry * entered, *each[1:]], kernels).wall / measured))
    return mean(map(abs, errors)), median(errors)


def main():
    for name in SETS:
        found = list(runs(name))
        for mode, entries in (("eager", (0.0,)), ("training", (0.0,)), ("compiled", ENTRIES)):
            mine = [run for run in found if run[0] == mode]
            best = min((off(mine, tenths / 10, entry), tenths / 10, entry) for tenths, entry in product(range(10, 30), entries))
            (error, bias), factor, entry = best
            print(f"set {name}, {mode}: {len(mine)} runs say {factor:.1f}, {entry:g} to enter; off by {error:.0%}, bias {bias:+.0%}")
    print(f"IN_MODEL {constants.IN_MODEL}, COMPILED {constants.COMPILED}, AUTOGRAD {constants.AUTOGRAD}, ENTRY {constants.ENTRY}")


if __name__ == "__main__":
    main()
