"""Each public GPU left out of the laws, then given a few of its own rows: how far off its other rows are, before and after.

    python benchmarks/minute_public.py --data DIR [--rows 30]
    python benchmarks/minute_public.py --data DIR --others 100      with what laws leave open of so many rows of every other GPU and kind
    python benchmarks/minute_public.py --data DIR --limit 400       each of so many of its rows from all the others of them

The laws' constants are those fitted without the machine (`left_out_constants.py`). Which rows it is given follows from their sizes alone.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import transfer
from left_out_constants import STORED
from transfer_rows import FORMAT, families

from ironlaw.calibration import telling
from ironlaw.calibration.shared_errors import SharedErrors, Trait

SEED, LOOKED_AT = 7, 250  # rows of each family that stand for all of it where rows are chosen
SD = 0.35  # of log(measured / predicted), as the laws' errors on machines left out


def predicted(name, r, constants):
    """Seconds by laws fitted without this machine, and what they are made of."""
    family, c = transfer.FAMILIES[name], constants[r.slug][name]
    flow = transfer.stream_constants(constants[r.slug]["stream"])
    seconds = family.seconds(c, r, flow)
    floor = np.minimum(transfer.floor(transfer.stream_constants(c) if name == "stream" else _Floor(c["floor"]), r) / seconds, 1.0)
    z = r.sizes
    data = z.get("data", 8.0 * z["rows"] * z["width"] if "rows" in z else 0.0) / r.chip.bandwidth
    least = np.zeros(len(r))
    if "m" in z:
        least = 2.0 * z["batch"] * z["m"] * z["n"] * z["k"] / r.chip.peaks[FORMAT.get(name, "fp32")]
    elif name == "attention":
        least = 2.0 * z["heads"] * z["queries"] * z["keys"] * z["d"] / r.chip.peaks["bf16"]
    moved = data**2 / (data**2 + least**2)
    return seconds, np.stack([floor, (1 - floor) * moved, (1 - floor) * (1 - moved)], 1)


class _Floor:
    def __init__(self, floor):
        self.floor = floor


def traits(name, r, shares):
    places = np.log2(np.maximum(np.stack([v for key, v in r.sizes.items() if key != "data" or len(r.sizes) == 1], 1), 1.0))
    return [Trait(tuple(map(float, s)), name, name, name, tuple(map(float, p)), SD) for s, p in zip(shares, places, strict=True)]


def machine_rows(found, constants, slug):
    """(traits, predicted, measured) of all of a machine's rows."""
    every, seconds, measured = [], [], []
    for name, machines in found.items():
        for r in machines:
            if r.slug == slug:
                times, shares = predicted(name, r, constants)
                every += traits(name, r, shares)
                seconds.append(times)
                measured.append(r.seconds)
    return every, np.concatenate(seconds), np.concatenate(measured)


def drawn(every, count):
    """Indices of the rows that it is given: those that tell most of its families, each family weighing the same."""
    rng = np.random.default_rng(SEED)
    kinds = sorted({t.curve for t in every})
    some = [i for kind in kinds for i in rng.permutation([i for i, t in enumerate(every) if t.curve == kind])[:LOOKED_AT].tolist()]
    of = {kind: sum(every[i].curve == kind for i in some) for kind in kinds}
    cases = [every[i] for i in some]
    chosen, _ = telling.order(cases, cases, [1.0 / of[t.curve] for t in cases], [], count)
    return [some[i] for i in chosen]


def of_others(found, constants, slug, count):
    """(traits, logs) of rows of the other GPUs, beside the laws that were fitted without this one: of a kind of kernel they share sizes."""
    rng, every, logs = np.random.default_rng(SEED), [], []
    for name, machines in found.items():
        for r in machines:
            if r.slug != slug and name in constants[slug]:
                times, shares = predicted(name, r, {r.slug: constants[slug]})
                some = rng.permutation(len(r))[:count]
                where = f"{name} on {r.slug}"
                rows = traits(name, r, shares)
                every += [replace(rows[i], law=where, curve=where) for i in some]
                logs += np.log(r.seconds / times)[some].tolist()
    return every, logs


def limit(found, constants, slug, count):
    """(before, after) of some of its rows, each predicted from all the others of them."""
    every, seconds, measured = machine_rows(found, constants, slug)
    logs = np.log(measured / seconds)
    some = np.random.default_rng(SEED).permutation(len(every))[:count]
    left, _ = SharedErrors(tuple(every[i] for i in some), tuple(logs[some].tolist())).left_out()
    return np.abs(np.exp(-logs[some]) - 1.0), np.abs(np.exp(-left) - 1.0)


def judged(found, constants, slug, count, others=0):
    """(rows, error before, error after, whether its interval holds, kind of kernel) over the rows that it was not given."""
    every, seconds, measured = machine_rows(found, constants, slug)
    logs = np.log(measured / seconds)
    given = drawn(every, count)
    more, theirs = of_others(found, constants, slug, others)
    known = SharedErrors((*(every[i] for i in given), *more), (*logs[given].tolist(), *theirs))
    rest = np.setdiff1d(np.arange(len(every)), given)
    by, sds = known.at([every[i] for i in rest])
    left = logs[rest] - by
    held = np.abs(left) < 1.2816 * sds
    return len(rest), np.abs(np.exp(-logs[rest]) - 1.0), np.abs(np.exp(-left) - 1.0), held, np.array([every[i].curve for i in rest])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="the folder with the published rows")
    parser.add_argument("--rows", default="30", help="how many rows it is given in all, several numbers with commas")
    parser.add_argument("--others", type=int, default=0, metavar="N", help="so many rows of every other GPU and kind of kernel as well")
    parser.add_argument("--limit", type=int, metavar="N", help="each of so many of its rows from all the others of them")
    args = parser.parse_args()
    found, constants = families(args.data), json.loads(STORED.read_text())
    for slug in constants:
        if args.limit:
            before, after = limit(found, constants, slug, args.limit)
            print(f"{slug:16} {len(before):5} rows, each from all the others: {before.mean():.1%} → {after.mean():.1%}", flush=True)
            continue
        for count in map(int, args.rows.split(",")):
            rows, before, after, held, kinds = judged(found, constants, slug, count, args.others)
            each = " ".join(f"{kind} {before[kinds == kind].mean():.0%}→{after[kinds == kind].mean():.0%}" for kind in sorted(set(kinds)))
            print(
                f"{slug:16} {rows:5} rows, {count} given: {before.mean():.1%} → {after.mean():.1%}, intervals {held.mean():.0%}; {each}",
                flush=True,
            )


if __name__ == "__main__":
    main()
