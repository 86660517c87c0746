"""What a minute of measuring is worth on a GPU that the registry does not have: the H200, left out.

    python benchmarks/minute.py [--rows 400,1200] [--judge own-6,2]          rows from the evidence, in the minute's order
    python benchmarks/minute.py --part opened --judge 1,2,own-8,own-9 --every 4      what docs/measure.md says: opened models, one of four
    python benchmarks/minute.py --measured FILE --judge own-8,3              rows that `ironlaw measure --out FILE` wrote on an H200
    python benchmarks/minute.py --measured FILE --rows 193,700               the same had its time been over after so many chosen ones
    python benchmarks/minute.py --measured benchmarks/minute_h200_60.json.gz a real minute, of November 2026; minute_h200_120: of two
    python benchmarks/minute.py --processor [FILE] [--rows 600]              the same of the Neoverse-N1, judged by its evidence's models

What is known before any row are laws whose constants were fitted without the H200 (left_out_constants.json); its own curves, and the
curves that are carried over from it, are not used. Two constants of it stay, since no other machine has them: how much longer a kernel
takes among others, and how models scatter. Of sealed models, only totals are printed.
"""

import argparse
import gzip
import json
import math
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from statistics import mean, median

sys.path.insert(0, str(Path(__file__).parent))
import sealed

import ironlaw as il
from ironlaw.backends.rows import Row
from ironlaw.calibration.fit import calibrate
from ironlaw.calibration.kernel_laws import GENERATED, PUBLISHED, law
from ironlaw.calibration.transfer.model import Taught, Transfer
from ironlaw.calibration.transfer.transfer_laws import Laws
from ironlaw.compare import compare
from ironlaw.engine.device.lower_bound import least_arithmetic
from ironlaw.engine.device.roofline import transfer
from ironlaw.measure.suites.chosen_cases import chosen_cases
from ironlaw.registry.evidence import evidence
from ironlaw.registry.loader import folder
from ironlaw.registry.machines import learnt_here
from ironlaw.tracing.graph_json import from_json

MACHINE, PROCESSOR = il.hardware(sealed.MACHINE), "neoverse_n1_2core"
LEFT_OUT = Path(__file__).with_name("left_out_constants.json")
FLOOR = 2e-6  # seconds of a kernel that does next to nothing, on any GPU of ten years
PARTS = _, OPENED, EVERY = "sealed", "opened", "all"
UNSEEN = 1.0  # sd of kernels of which no row of any machine was published


class ByLaws(Transfer):
    """A machine by laws alone: nothing is carried over."""

    def is_kin(self, target):
        return False

    def carries(self, kernel, op, target):
        return False

    def kernel_s(self, kernel, op, target):
        if kernel.depth and not kernel.data and not kernel.flops:  # counted in units of its own curve, which no law knows: the op's bound
            data, compute = transfer(op, MACHINE), least_arithmetic(op, MACHINE)
            return data, compute, max(data, compute), FLOOR
        return *self.by_law(kernel, op, target), FLOOR

    def sd(self, kernel, op, target):
        name, carried = law(kernel.curve, op.dtype)
        return math.hypot(self.laws.sd(name, target), UNSEEN if carried and kernel.curve not in (*PUBLISHED, *GENERATED) else 0.0)


def before():
    """What other machines and the laws say of the H200."""
    data = json.loads((folder("transfer") / "constants.json").read_text())
    without = json.loads(LEFT_OUT.read_text())[MACHINE.slug]
    for name, one in data["families"].items():
        one["constants"] = without.get(name, one["constants"])
    own = MACHINE.calibration
    return ByLaws(Taught(Laws.from_json(data), replace(own, families={}, slower=1.0), MACHINE), own.host, MACHINE, scatter=own.scatter)


def key(op, params):
    return op, repr(sorted(params.items()))


def from_evidence(count, slug=sealed.MACHINE, kind="cuda"):
    """The first `count` cases of the minute that the evidence has rows of, those of launches, and how the machine is described."""
    files = [file for file in evidence(slug) if any(row.kind in ("op", "launch") for row in file.rows)]
    timed = [row for file in files for row in file.rows if row.kind == "op" and (row.busy_s or row.wall_s) and not row.error]
    known = {key(row.op, row.params): row for row in timed}
    rows = [known[key(*spec)] for spec in chosen_cases(kind).specs if key(*spec) in known][:count]
    described = next(file.machine for file in reversed(files) if kind == "cpu" or "host" in file.machine)
    return rows, [row for file in files for row in file.rows if row.kind == "launch"], described


def from_file(path, count=None):
    """A file's operators, of the minute's cases the first `count`, its launches, and how the machine is described."""
    data = json.loads(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_text())
    rows = [Row.from_json(row) for row in data["rows"]]
    ops = [row for row in rows if row.kind == "op" and (row.busy_s or row.wall_s) and not row.error]
    chosen = {key(*spec) for spec in chosen_cases("cuda").specs}
    late = [row for row in ops if key(row.op, row.params) in chosen][count:] if count is not None else []
    return [row for row in ops if row not in late], [row for row in rows if row.kind == "launch"], data["machine"]


def by_minute(rows, launches, described):
    """The H200 as a user would have it whose GPU is in no registry."""
    fitted, kept = calibrate([*rows, *launches], described, MACHINE, (), few=True), MACHINE.calibration
    own = replace(fitted, among=kept.among, scatter=kept.scatter)
    return learnt_here(own, rows, MACHINE, before().given(rows, MACHINE).cost)


def of_processor(ops, launches, described):
    """The Neoverse-N1's whole models, predicted from a minute's rows of it alone: a line for each mode."""
    machine = il.hardware(PROCESSOR)
    fitted = replace(calibrate([*ops, *launches], described, machine, (), few=True), scatter=machine.calibration.scatter)
    alone = replace(machine, calibration=learnt_here(fitted, ops, machine))
    compared = [compare(row, alone, file.source) for file in evidence(PROCESSOR) for row in file.rows if row.kind == "model"]
    for mode in ("eager", "compiled"):
        off = [one.error for one in compared if one is not None and one.mode == mode]
        print(f"{mode}: {len(off)} runs, {mean(map(abs, off)):.1%} off, bias {mean(off):+.1%}, at worst {max(map(abs, off)):.0%}")


def runs(name):
    """(row, graph) of every run of a set that was timed and captured."""
    kept, graphs, memo = sealed.load(name), sealed.stored(name), {}
    for row in kept["rows"]:
        key = sealed.key_of(row)
        if "busy_s" in row and "error" not in graphs.get(key, {"error": ""}):
            if key not in memo:
                memo = {key: from_json(graphs[key])}
            yield row, memo[key]


def judged(model, name, part, every=1):
    """Errors and biases by mode, over the runs of one part of a set's models (`sealed`, `opened` or all), of every so many of them."""
    errors, held, machine = defaultdict(list), defaultdict(list), replace(MACHINE, calibration=model, taught=None)
    opened = {one["model"] for one in sealed.load(name)["models"] if "opened" in one}
    some = {one["model"] for one in sealed.load(name)["models"][::every]}
    for row, graph in runs(name):
        if row["model"] not in some or (part != EVERY and (row["model"] in opened) != (part == OPENED)):
            continue
        mode = "fp32" if (row["mode"], row["dtype"]) == ("eager", "fp32") else row["mode"]
        p = il.predict(graph, machine, il.Plan(mode="compiled" if row["mode"] == "compiled" else "eager"))
        low, high = p.intervals.device
        errors[mode].append(float(p.busy_s) / row["busy_s"] - 1.0)
        held[mode].append(float(low) <= row["busy_s"] <= float(high))
    return "\n".join(
        f"    {mode:9} {len(off):4} runs  mean {mean(map(abs, off)):6.1%}  median {median(map(abs, off)):6.1%}  bias {mean(off):+6.1%}"
        f"  inside {sum(held[mode])} of {len(off)}"
        for mode, off in sorted(errors.items())
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", help="how many rows (1200 of the evidence, all of a file); several numbers with commas")
    parser.add_argument("--measured", type=Path, metavar="FILE", help="evidence that `ironlaw measure --out` wrote")
    parser.add_argument("--judge", default="own-6,2", help="sets that judge")
    parser.add_argument("--processor", nargs="?", const="", metavar="FILE", help="the same of the processor that the registry has")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="one model of N")
    parser.add_argument("--after", action="store_true", help="leave out what is said before any row")
    parser.add_argument("--part", choices=PARTS, default=PARTS[0], help="which of those sets' models")
    args = parser.parse_args()
    if args.processor is not None:
        of_processor(*(from_file(Path(args.processor)) if args.processor else from_evidence(int(args.rows or 1200), PROCESSOR, "cpu")))
        return
    names = [int(name) if name.isdigit() else name for name in args.judge.split(",")]
    counts = [int(count) for count in args.rows.split(",")] if args.rows else [None if args.measured else 1200]
    minutes = [from_file(args.measured, count) if args.measured else from_evidence(count) for count in counts]
    models = ({} if args.after else {"before any row": before()}) | {f"{len(minute[0]):,} rows": by_minute(*minute) for minute in minutes}
    for said, model in models.items():
        for name in names:
            print(f"{said}, set {name}, {args.part}:\n{judged(model, name, args.part, args.every)}", flush=True)


if __name__ == "__main__":
    main()
