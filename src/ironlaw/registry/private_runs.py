"""Digits read by classifiers that were trained with noise, as stored tables: every setting of records, rate,
noise, clip, learning rate and epochs that is offered. Read without NumPy.

`python -m ironlaw.measure.dp_training.tables` trains them with the functions of `measure/dp_training`.
"""

from __future__ import annotations

import csv
import math
import statistics
from dataclasses import dataclass
from functools import cache

from ironlaw.errors import BadRegistry
from ironlaw.registry.loader import folder

RECORDS = (1_000, 4_000, 16_000, 60_000)
REAL = 1_000  # up to so many records are handwritten digits; more are made up
RATES = (0.01, 0.04, 0.16)  # of the records that a step draws
NOISES = (0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 4.0, 6.0, 8.0)
CLIPS = (0.03, 0.1, 0.3, 1.0, 3.0)
SPEEDS = (1.0, 3.0, 10.0, 30.0)
EPOCHS = (1, 3, 10, 30)
SEEDS = (1, 2, 3)
TESTED = {True: 797, False: 2_000}  # real images, made-up ones
FEATURES, CLASSES = 65, 10
FILE, SIGNALS = "digits_private.csv", "digits_signals.csv"
COLUMNS = ("records", "rate", "noise", "clip", "speed", "epochs", "hits", "clipped")


@dataclass(frozen=True, slots=True)
class PrivateRun:
    """`hits` of each seed, of `tested` images; `clipped`: the share of gradients whose norm was over the clip norm."""

    hits: tuple[int, ...]
    tested: int
    clipped: float

    @property
    def accuracies(self) -> tuple[float, ...]:
        return tuple(each / self.tested for each in self.hits)

    @property
    def accuracy(self) -> float:
        return sum(self.hits) / self.tested / len(self.hits)

    @property
    def error(self) -> float:
        """Standard error of the mean over the seeds."""
        return statistics.stdev(self.accuracies) / math.sqrt(len(self.hits))


def private_run(records: int, rate: float, noise: float, clip: float, speed: float, epochs: int) -> PrivateRun:
    """A run at settings that were trained; noise 0 with a clip norm of infinity is plain SGD."""
    key = (records, rate, noise, clip, speed, epochs)
    rows = _table()
    if key not in rows:
        raise BadRegistry(f"registry/trained/{FILE} has no run {', '.join(f'{part:g}' for part in key)}; choose a setting that was trained")
    return rows[key]


@cache
def signals() -> dict[tuple[int, float], float]:
    """(records, clip norm) -> the norm of the mean clipped gradient before the first step."""
    with (folder("trained") / SIGNALS).open(encoding="utf-8", newline="") as file:
        return {(int(row["records"]), float(row["clip"])): float(row["signal"]) for row in csv.DictReader(file)}


@cache
def _table() -> dict[tuple[float, ...], PrivateRun]:
    with (folder("trained") / FILE).open(encoding="utf-8", newline="") as file:
        header, *lines = csv.reader(file)
    if tuple(header) != COLUMNS:
        raise BadRegistry(f"registry/trained/{FILE} has the columns {', '.join(header)}; train again (measure/private/tables.py)")
    return {
        tuple(map(float, line[:6])): PrivateRun(tuple(map(int, line[6].split())), TESTED[int(line[0]) <= REAL], float(line[7]))
        for line in lines
    }
