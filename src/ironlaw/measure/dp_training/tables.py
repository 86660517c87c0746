"""`python -m ironlaw.measure.dp_training.tables`: trains every setting of Lab V2-13's dials and writes registry/trained/digits_private.csv.

Forty minutes of one core's time, shared out over all that there are. The rows of other sizes than `--records` are kept as they stand.
"""

from __future__ import annotations

import argparse
import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from ironlaw.files import replace_text
from ironlaw.measure.dp_training.images import images
from ironlaw.measure.dp_training.training import Design, hits, signal, train
from ironlaw.registry.loader import folder
from ironlaw.registry.private_runs import CLIPS, COLUMNS, EPOCHS, FILE, NOISES, RATES, RECORDS, SEEDS, SIGNALS, SPEEDS

PLAIN = tuple(Design(0.0, math.inf, speed) for speed in SPEEDS)
PRIVATE = tuple(Design(noise, clip, speed) for noise in NOISES for clip in CLIPS for speed in SPEEDS)
EVERY = (*PLAIN, *PRIVATE)
Line = tuple[str, ...]
Outcomes = dict[tuple[Design, int], tuple[int, float]]  # of a design after so many epochs: hits, and the share of clipped gradients


def outcomes(records: int, rate: float, seed: int, designs: Sequence[Design] = EVERY, epochs: Sequence[int] = EPOCHS) -> Outcomes:
    x, y, test_x, test_y = images(records)
    stops = {round(each / rate): each for each in epochs}
    reached: Outcomes = {}
    for stop in train(x, y, designs, rate, tuple(stops), seed):
        right = hits(test_x, test_y, stop.weights)
        reached |= {(one, stops[stop.step]): (int(right[at]), float(stop.clipped[at])) for at, one in enumerate(designs)}
    return reached


def lines(records: int, rate: float, by_seed: Sequence[Outcomes]) -> Iterator[Line]:
    """One row a design and number of epochs: hits by seed, and the share of clipped gradients over all of them."""
    for one, after in by_seed[0]:
        each = [reached[one, after] for reached in by_seed]
        head = (f"{figure:g}" for figure in (records, rate, one.noise, one.clip, one.speed, after))
        yield (*head, " ".join(str(count) for count, _ in each), f"{sum(share for _, share in each) / len(each):.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, choices=RECORDS, nargs="*", default=list(RECORDS))
    parser.add_argument("--out", type=Path, default=folder("trained"))
    args = parser.parse_args()
    jobs = [(records, rate, seed) for records in sorted(args.records, reverse=True) for rate in RATES for seed in SEEDS]
    with ProcessPoolExecutor() as pool:
        reached = dict(zip(jobs, pool.map(outcomes, *zip(*jobs, strict=True)), strict=True))
    rows = [line for line in _kept(folder("trained") / FILE) if int(line[0]) not in args.records]
    for records in args.records:
        for rate in RATES:
            rows += lines(records, rate, [reached[records, rate, seed] for seed in SEEDS])
    replace_text(args.out / FILE, as_csv(COLUMNS, sorted(rows, key=lambda line: [float(part) for part in line[:6]])))
    first = ((f"{count:g}", f"{clip:g}", f"{signal(*images(count)[:2], clip):.6f}") for count in RECORDS for clip in CLIPS)
    replace_text(args.out / SIGNALS, as_csv(("records", "clip", "signal"), first))


def as_csv(columns: Line, rows: Iterable[Line]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([columns, *rows])
    return text.getvalue()


def _kept(file: Path) -> list[Line]:
    return [tuple(line) for line in csv.reader(file.read_text(encoding="utf-8").splitlines()[1:])] if file.exists() else []


if __name__ == "__main__":
    main()
