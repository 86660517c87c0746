"""Each public GPU left out of the laws, then given a few of its own rows: how far off its other rows are, before and after.

    python benchmarks/minute_public.py --data DIR [--rows 30]
    python benchmarks/minute_public.py --data DIR --shared          with what the laws leave open on other GPUs
    python benchmarks/minute_public.py --data DIR --limit 400       each of so many of its rows from all the others of them

The laws' constants are those fitted without the machine (`left_out_constants.py`). Which rows it is given follows from their sizes alone.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import transfer
from left_out_constants import STORED
from transfer_rows import FORMAT, families

from ironlaw.calibration import telling
from ironlaw.calibration.shared_errors import SharedErrors, Trait

SEED, LOOKED_AT = 7, 250  # rows of each family that stand for all of it where rows are chosen
# kinds of kernels for which other GPUs say where a library chooses badly: those of which the laws leave most open, and NVIDIA's alone
SHARED, MAKER, OTHERS = ("linear_16bit", "linear_fp8", "attention_decode", "conv_fp32"), "NVIDIA", 200
COMMON, ALL, ITS_OWN, ALONE = 0.06, 0.01, 0.03, 0.03  # variances, set beforehand and fitted to nothing
REACH, ODD = 3.0, 1.5  # in doublings of a size; the largest logarithm that counts
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


def machine_rows(found, constants, slug, shared=False):
    """(traits, predicted, measured) of all of a machine's rows. `shared`: predicted with what other GPUs say of the laws."""
    every, seconds, measured = [], [], []
    for name, machines in found.items():
        for r in machines:
            if r.slug == slug:
                times, shares = predicted(name, r, constants)
                every += traits(name, r, shares)
                seconds.append(times * np.exp(from_others(name, r, machines, constants[slug])) if shared and name in SHARED else times)
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


def lie(name, r):
    """Where rows lie for what a library chooses by: logarithms of sizes to the base of 2, waves of tiles and how full the last one is, the
    balance of arithmetic and data, and how far the working set outgrows the last cache."""
    z, sms, log = r.sizes, r.chip.sms, lambda v: np.log2(np.maximum(v, 1e-9))
    if name == "attention_decode":
        blocks = z["groups"] * np.ceil(z["keys"] / 256.0) / sms
        places = [log(z["heads"]), log(z["heads"] / z["groups"]), log(z["keys"]), 4.0 * log(z["d"]), log(z["heads"] / sms), log(blocks)]
    else:
        waves = np.ceil(z["m"] / 128.0) * np.ceil(z["n"] / 128.0) * z["batch"] / sms
        full = np.where(waves > 8.0, 1.0, waves / np.ceil(waves))
        least = 2.0 * z["batch"] * z["m"] * z["n"] * z["k"] / r.chip.peaks[FORMAT.get(name, "fp32")]
        balance = least / (z["data"] / r.chip.bandwidth)
        places = [log(z["m"]), log(z["n"]), log(z["k"]), log(waves), 2.0 * full, log(balance), log(z["batch"])]
        places += [3.0 * (z["tiles"] > 0)] if "tiles" in z else []
    return np.stack([*places, log(z["data"] / r.chip.cache)], 1)


def from_others(name, target, machines, constants):
    """What the laws leave unexplained on other GPUs of its maker, at the places of its own rows: a Gaussian process, in which a part is
    common to all of them and a part is each one's own."""
    rng, flow = np.random.default_rng(SEED), transfer.stream_constants(constants["stream"])
    places, logs, whose = [], [], []
    for i, r in enumerate(machines):
        if r.slug != target.slug and r.chip.maker == target.chip.maker == MAKER:
            some = rng.permutation(len(r))[:OTHERS]
            off = np.log(r.seconds / transfer.FAMILIES[name].seconds(constants[name], r, flow))
            places.append(lie(name, r)[some])
            logs.append(np.clip(off[some], -ODD, ODD))
            whose.append(np.full(len(some), i))
    if not places:
        return np.zeros(len(target))
    there, y, each = map(np.concatenate, (places, logs, whose))
    alike = near(there, there)
    known = COMMON * alike + ALL + (each[:, None] == each) * (ITS_OWN + ITS_OWN * alike) + ALONE * np.eye(len(y))
    return (COMMON * near(lie(name, target), there) + ALL) @ np.linalg.solve(known, y)


def near(a, b):
    """Matérn's correlation of places."""
    apart = np.sqrt(3.0 * ((a[:, None, :] - b[None, :, :]) ** 2).sum(2)) / REACH
    return (1.0 + apart) * np.exp(-apart)


def limit(found, constants, slug, count, shared=False):
    """(before, after) of some of its rows, each predicted from all the others of them."""
    every, seconds, measured = machine_rows(found, constants, slug, shared)
    logs = np.log(measured / seconds)
    some = np.random.default_rng(SEED).permutation(len(every))[:count]
    left, _ = SharedErrors(tuple(every[i] for i in some), tuple(logs[some].tolist())).left_out()
    return np.abs(np.exp(-logs[some]) - 1.0), np.abs(np.exp(-left) - 1.0)


def judged(found, constants, slug, count, shared=False):
    """(rows, error before, error after, whether its interval holds, kind of kernel) over the rows that it was not given."""
    every, seconds, measured = machine_rows(found, constants, slug, shared)
    logs = np.log(measured / seconds)
    given = drawn(every, count)
    known = SharedErrors(tuple(every[i] for i in given), tuple(logs[given].tolist()))
    rest = np.setdiff1d(np.arange(len(every)), given)
    by, sds = known.at([every[i] for i in rest])
    left = logs[rest] - by
    held = np.abs(left) < 1.2816 * sds
    return len(rest), np.abs(np.exp(-logs[rest]) - 1.0), np.abs(np.exp(-left) - 1.0), held, np.array([every[i].curve for i in rest])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="the folder with the published rows")
    parser.add_argument("--rows", default="30", help="how many rows it is given in all, several numbers with commas")
    parser.add_argument("--shared", action="store_true", help="with what the laws leave open on other GPUs")
    parser.add_argument("--limit", type=int, metavar="N", help="each of so many of its rows from all the others of them")
    args = parser.parse_args()
    found, constants = families(args.data), json.loads(STORED.read_text())
    for slug in constants:
        if args.limit:
            before, after = limit(found, constants, slug, args.limit, args.shared)
            print(f"{slug:16} {len(before):5} rows, each from all the others: {before.mean():.1%} → {after.mean():.1%}", flush=True)
            continue
        for count in map(int, args.rows.split(",")):
            rows, before, after, held, kinds = judged(found, constants, slug, count, args.shared)
            each = " ".join(f"{kind} {before[kinds == kind].mean():.0%}→{after[kinds == kind].mean():.0%}" for kind in sorted(set(kinds)))
            print(
                f"{slug:16} {rows:5} rows, {count} given: {before.mean():.1%} → {after.mean():.1%}, intervals {held.mean():.0%}; {each}",
                flush=True,
            )


if __name__ == "__main__":
    main()
