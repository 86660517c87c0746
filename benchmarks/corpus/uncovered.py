"""Which operators of the corpus lie farthest from what was measured, the heaviest first, and which of them to measure next.

    PYTHONPATH=src python benchmarks/corpus/uncovered.py [--out DIR] [--machine h200_sxm] [--run eager] [--each 30] [--cases FILE]

Of each family those are chosen that bring most predicted time within reach: one after the other, the one around which most uncovered
time lies. `--cases` writes them as cases for the sweep on a GPU (`ironlaw.measure.suites.cuda.cases.corpus`).
"""

import argparse
import json
import math
from collections import defaultdict
from pathlib import Path

from collect import MACHINE, Signatures, op_of, results
from suite_specs import spec_of

from ironlaw.calibration.coverage import INSIDE, coverage

HERE = Path(__file__).resolve().parent
LARGEST = 2**30
NEGLIGIBLE = 2e-5  # of all time: families below it are not listed


def found(signatures, run):
    """[(family, share of all predicted time, coverage, parts, op)] of what is not inside."""
    weights = signatures.weight[run]
    whole = sum(w * signatures.seconds[key] for key, w in weights.items())
    for key, weight in weights.items():
        parts = signatures.parts[key]
        one = op_of(*parts)
        where = coverage(one, signatures.hardware)
        yield where, weight * signatures.seconds[key] / whole, parts, one


def in_fp32(result):
    """A run as it is in FP32, PyTorch's defaults: convolutions in TF32."""
    text = json.dumps(result["signatures"]).replace('"fp16"', '"fp32"').replace('"bf16"', '"fp32"')
    rows = json.loads(text)
    for kind, _, _, attrs, _ in rows:
        if kind.startswith("conv"):
            attrs["dict"] = [[name, value] for name, value in attrs.get("dict", []) if name != "dtype"] + [["dtype", "tf32"]]
    return result | {"signatures": rows}


def chosen(rows, hardware, each):
    """Greedy: the rows around which most time lies."""
    families = hardware.calibration.families
    left = sorted(rows, key=lambda row: -row[1])[:1500]
    places = []
    for *_, one in left:
        signature = hardware.calibration.library.signature(one, "eager")
        family = families.get(signature.family) if signature else None
        scaled = (
            tuple(v / s for v, s in zip(signature.place, family.scales, strict=True)) if family else (math.log2(max(one.work.bytes, 1)),)
        )
        places.append(scaled)
    picked, open_rows = [], set(range(len(left)))
    while open_rows and len(picked) < each:
        best = max(sorted(open_rows), key=lambda i: (sum(left[j][1] for j in open_rows if math.dist(places[i], places[j]) <= INSIDE), -i))
        picked.append(left[best])
        open_rows -= {j for j in open_rows if math.dist(places[best], places[j]) <= INSIDE}
    return picked


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=HERE.parent / "scratch" / "corpus")
    parser.add_argument("--run", default="eager", choices=("eager", "training"))
    parser.add_argument("--each", type=int, default=30)
    parser.add_argument("--format", default="fp16", choices=("fp16", "fp32"), help="fp32: the same shapes as FP32 runs them")
    parser.add_argument("--cases", type=Path)
    args = parser.parse_args()
    signatures = Signatures()
    for result in results(args.out):
        if "error" not in result:
            signatures.add(result if args.format == "fp16" else in_fp32(result))
    groups, shares = defaultdict(list), defaultdict(float)
    for row in found(signatures, args.run):
        shares[row[0].place] += row[1]
        if row[0].place != "inside":
            groups[row[3].kind, row[0].family].append(row)
    print(f"{MACHINE}, {args.run}: " + ", ".join(f"{place} {100 * share:.1f}%" for place, share in sorted(shares.items())))
    specs = []
    for (kind, family), rows in sorted(groups.items(), key=lambda item: -sum(row[1] for row in item[1])):
        share = sum(row[1] for row in rows)
        if share < NEGLIGIBLE:
            break
        outside = sum(row[1] for row in rows if row[0].place != "near")
        print(f"\n{kind} ({family}): {100 * share:.2f}% of the time, {100 * outside:.2f}% outside; {len(rows)} signatures")
        for where, part, parts, one in chosen(rows, signatures.hardware, args.each):
            spec = spec_of(one)
            specs.append((one, spec))
            print(f"  {100 * part:6.3f}%  {where.distance:5.2f}  {spec or json.dumps(parts)[:200]}")
    if args.cases:
        write_cases(args.cases, [spec for one, spec in specs if spec and fits(one)])


def fits(one):
    """Whether an op is worth a place on the GPU: no tensor of more than LARGEST elements, none without any."""
    return all(0 < t.size <= LARGEST for t in (*one.inputs, *one.outputs))


def write_cases(path, specs):
    """For each op the names of its params once, and a line of figures for each case."""
    groups = defaultdict(list)
    for op, params in specs:
        values = tuple(params.values())
        if values not in groups[op, tuple(params)]:
            groups[op, tuple(params)].append(values)
    text = ",\n".join(as_json(op, names, rows) for (op, names), rows in groups.items())
    path.write_text(f"[{text}]\n", encoding="utf-8")
    print(f"{sum(map(len, groups.values()))} cases in {path}")


def as_json(op, names, rows):
    figures = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
    return f'{{"op": {json.dumps(op)}, "params": {json.dumps(names)}, "rows": [\n{figures}\n]}}'


if __name__ == "__main__":
    main()
