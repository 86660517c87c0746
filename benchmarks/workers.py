"""One job over 1, 2, 3, … workers, threads and processes, as evidence: every number of workers in each round, round by round.

    python benchmarks/workers.py --out FOLDER --hardware h200_sxm      about a minute; the processors of that machine's host

The job is that of the labs' experiment `workers`, with more items. Nothing is run on a GPU.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path

from ironlaw.measure import evidence_file, software_host
from ironlaw.measure.clock import Clock, Timing
from ironlaw.measure.experiments.workers import WAYS, Crew, label
from ironlaw.measure.noise import Watch
from ironlaw.measure.rows import case_row, typed

METHOD = (
    "The job of measure/experiments/workers.py: {items} images inflated with zlib, resized with NumPy and a table read in Python for each, "
    "split evenly over the workers. Workers are started and used once before the clock runs; a time is from handing out the parts to the "
    "last answer. Every number of workers once in each of {rounds} rounds, first up, then down; the median over rounds. NumPy's own "
    "threads have nothing to do: no product of matrices is in it."
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="a folder for workers.json")
    parser.add_argument("--hardware", required=True, help="the slug of the machine whose host this is")
    parser.add_argument("--items", type=int, default=240)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--most", type=int, default=software_host.cores(), help="workers, at the most")
    args = parser.parse_args()
    clock, watch = Clock(), Watch()
    samples: dict[tuple[str, int], list[float]] = {(way, n): [] for way in WAYS for n in range(1, args.most + 1)}
    with ExitStack() as held:
        crew = Crew(args.most, held)
        for turn in range(args.rounds):
            cases = list(samples) if turn % 2 == 0 else list(samples)[::-1]
            for way, n in cases:
                start = clock.now()
                crew.run(way, n, args.items)
                samples[way, n].append(clock.now() - start)
            print(f"round {turn + 1} of {args.rounds}", file=sys.stderr)
    rows = [
        case_row(way, label(way, n), {"workers": n, "items": args.items}, Timing.of(times).row()) for (way, n), times in samples.items()
    ]
    path = evidence_file.write(
        args.out / "workers.json", machine={**software_host.machine(), "hardware": args.hardware}, software=software_host.software(),
        method=METHOD.format(items=args.items, rounds=args.rounds), rows=typed(rows), noise=watch.verdict().as_json(),
    )  # fmt: skip
    for way in WAYS:
        alone = samples[way, 1]
        print(
            way,
            *(f"{n}:{sorted(alone)[len(alone) // 2] / row['wall_s']:.2f}" for (w, n), row in zip(samples, rows, strict=True) if w == way),
        )
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
