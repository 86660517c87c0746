"""What the captured models of the corpus have in common: their distinct operators, and a table of what was captured.

    PYTHONPATH=src python benchmarks/corpus/collect.py [--out DIR] [--only-table]

Reads what benchmarks/corpus/capture.py left in DIR; writes src/ironlaw/registry/corpus/signatures.json.xz and docs/corpus.md.
"""

import argparse
import json
import lzma
from collections import Counter, defaultdict
from pathlib import Path

import ironlaw as il
from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.types import Tensor
from ironlaw.engine.device.work import op
from ironlaw.errors import IronlawError
from ironlaw.worker.json_values import decode

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MACHINE = "h200_sxm"
SHARE = 0.995  # of the predicted time: the signatures that hold it are kept
KIND_OF_RUN = {"eager": "eager", "eager1": "eager", "training": "training"}


def results(out):
    return [json.loads(path.read_text()) for path in sorted(out.glob("*/*.json"))]


def op_of(kind, inputs, outputs, attrs):
    x, y = ([Tensor(f"{side}{i}", tuple(s), d, r) for i, (s, d, r) in enumerate(ts)] for side, ts in (("x", inputs), ("y", outputs)))
    return op(kind, kind, x, y, **decode(attrs))


class Signatures:
    """Every distinct op, with what rests on it by kind of run."""

    def __init__(self):
        self.hardware = il.hardware(MACHINE)
        self.parts, self.seconds, self.unknown = {}, {}, Counter()
        self.count, self.runs, self.weight = (defaultdict(Counter) for _ in range(3))

    def add(self, result):
        kind_of_run = KIND_OF_RUN[result["run"]]
        own = []
        for *parts, times in result["signatures"]:
            key = json.dumps(parts)
            if key not in self.seconds:
                self.parts[key], self.seconds[key] = parts, self.predicted(parts)
            own.append((key, times))
        whole = sum(times * self.seconds[key] for key, times in own)
        for key, times in own:
            self.count[kind_of_run][key] += times
            self.runs[kind_of_run][key] += 1
            self.weight[kind_of_run][key] += times / whole if whole else 0.0

    def predicted(self, parts):
        try:
            return float(self.hardware.calibration.cost(op_of(*parts), self.hardware, Plan()).device)
        except IronlawError as error:
            self.unknown[f"{parts[0]}: {error}"] += 1
            return 0.0

    def heaviest(self, run):
        """The keys that hold SHARE of the time, heaviest first, and the share that they do hold."""
        shares = sorted(((w * self.seconds[key], key) for key, w in self.weight[run].items()), reverse=True)
        whole, held, kept = sum(share for share, _ in shares), 0.0, []
        for share, key in shares:
            if whole and held >= SHARE * whole:
                break
            held += share
            kept.append(key)
        return kept, held / whole if whole else 0.0

    def to_json(self, models, versions):
        tensors, attrs = {}, {}

        def number(table, value):
            return table.setdefault(json.dumps(value), len(table))

        data, kept = {}, {}
        for run in ("eager", "training"):
            keys, kept[run] = self.heaviest(run)
            data[run] = []
            for key in keys:
                kind, inputs, outputs, settings = self.parts[key]
                sides = ([number(tensors, t) for t in side] for side in (inputs, outputs))
                numbers = [self.count[run][key], self.runs[run][key], float(f"{self.weight[run][key]:.4g}")]
                data[run].append([kind, *sides, number(attrs, settings), *numbers])
        shapes, settings = ([json.loads(text) for text in table] for table in (tensors, attrs))
        head = {"format": "ironlaw-corpus/1", "models": models, "versions": versions, "kept": kept}
        return head | {"tensors": shapes, "attrs": settings} | data


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=HERE.parent / "scratch" / "corpus")
    parser.add_argument("--only-table", action="store_true")
    args = parser.parse_args()
    found = results(args.out)
    if not found:
        parser.error(f"nothing in {args.out}: run benchmarks/corpus/capture.py first")
    from corpus_table import write_table

    write_table(found, ROOT / "docs" / "corpus.md")
    if args.only_table:
        return
    signatures = Signatures()
    good = [r for r in found if "error" not in r]
    for result in good:
        signatures.add(result)
    models = Counter(r["library"] for r in {(r["library"], r["model"]): r for r in good}.values())
    versions = {path.stem: json.loads(path.read_text()) for path in sorted(args.out.glob("versions-*.json"))}
    data = lzma.compress(
        json.dumps(signatures.to_json(dict(models), versions), separators=(",", ":")).encode(), preset=9 | lzma.PRESET_EXTREME
    )
    target = ROOT / "src/ironlaw/registry/corpus/signatures.json.xz"
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(data)
    print(f"{len(signatures.seconds):,} signatures of {len(good):,} runs; {len(data) / 1e6:.2f} MB in {target.relative_to(ROOT)}")
    for what, count in signatures.unknown.most_common(20):
        print(f"no prediction for {count} of {what}")


if __name__ == "__main__":
    main()
