"""Is this machine quiet enough to be measured? What others take of its processors, and how far a reference drifts.

watch = Watch()                   processor time is counted from here
watch.reference(seconds)          the same small work, timed again and again in between
noise = watch.verdict()           others, stolen, drift -> noisy, with reasons
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from ironlaw.errors import IronlawError

OTHERS = 0.10  # share of the processors' time that others may take
STOLEN = 0.05  # share that the hypervisor may give to other virtual machines
DRIFT = 0.20  # (slowest − fastest) / median of the reference's visits
LOOK = 0.5  # seconds of one look at what others take
STAT = Path("/proc/stat")
IDLE = (3, 4)  # columns of /proc/stat's first line: idle, waiting for a disk
STEAL = 7
GUEST = 8  # from here on the columns repeat what is in user time already


class Noisy(IronlawError):
    """A machine too busy for its figures to be kept."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Processor seconds since the machine started, over all processors."""

    busy: float
    total: float
    stolen: float


@dataclass(frozen=True, slots=True)
class Noise:
    others: float | None  # share of the processors' time taken by other processes; None where the system does not say
    stolen: float | None  # share given to other virtual machines
    drift: float  # of the reference

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the machine is too noisy; empty where it is not."""
        reasons = []
        if self.others is not None and self.others > OTHERS:
            reasons.append(f"other processes took {self.others:.0%} of the processors (limit {OTHERS:.0%})")
        if self.stolen is not None and self.stolen > STOLEN:
            reasons.append(f"the hypervisor gave {self.stolen:.0%} of the processors to others (limit {STOLEN:.0%})")
        if self.drift > DRIFT:
            reasons.append(f"the same reference work varied by {self.drift:.0%} over the run (limit {DRIFT:.0%})")
        return tuple(reasons)

    @property
    def noisy(self) -> bool:
        return bool(self.reasons)

    def as_json(self) -> dict[str, Any]:
        """The noise as the evidence stores it."""
        figures = {name: round(value, 4) for name, value in asdict(self).items() if value is not None}
        return figures | {"noisy": self.noisy, "reasons": list(self.reasons)}


def processors(path: Path = STAT) -> Reading | None:
    """All processors since the machine started; None where there is no /proc/stat (macOS, Windows)."""
    try:
        with path.open() as file:
            name, *columns = file.readline().split()
        counts = [int(column) for column in columns[:GUEST]]
    except (OSError, ValueError):
        return None
    if name != "cpu" or len(counts) <= max(IDLE):
        return None
    tick = os.sysconf("SC_CLK_TCK")
    total = sum(counts) / tick
    stolen = counts[STEAL] / tick if len(counts) > STEAL else 0.0
    return Reading(total - sum(counts[i] for i in IDLE) / tick - stolen, total, stolen)


def own() -> float:
    """Processor seconds of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def busy_words(reasons: Sequence[str]) -> str:
    """What a prediction says that uses a host's figures from a busy machine."""
    return f"what launching costs was measured while the machine was busy, so it may be far too long: {'; '.join(reasons)}"


class Watch:
    """Counts from its making to `verdict`. `read` and `mine` are the system's counters; a test hands in its own."""

    def __init__(self, read: Callable[[], Reading | None] = processors, mine: Callable[[], float] = own) -> None:
        self.read, self.mine = read, mine
        self.start, self.start_own = read(), mine()
        self.visits: list[float] = []

    def reference(self, seconds: float) -> None:
        """One visit to the reference work: what it took this time."""
        self.visits.append(seconds)

    @property
    def drift(self) -> float:
        if len(self.visits) < 2:
            return 0.0
        middle = median(self.visits)
        return (max(self.visits) - min(self.visits)) / middle if middle > 0 else 0.0

    def verdict(self) -> Noise:
        now, ours = self.read(), self.mine() - self.start_own
        if now is None or self.start is None or now.total <= self.start.total:
            return Noise(None, None, self.drift)
        total = now.total - self.start.total
        others = max(0.0, now.busy - self.start.busy - ours) / total
        return Noise(others, max(0.0, now.stolen - self.start.stolen) / total, self.drift)


def settled(
    longest: float,
    report: Callable[[float], None] = lambda share: None,
    watch: Callable[[], Watch] = Watch,
    sleep: Callable[[float], None] = time.sleep,
) -> Noise:
    """Wait until others leave the processors alone, `longest` seconds at the most; what they took in the last look.

    `report` is called with their share after every look that was not quiet.
    """
    for _ in range(max(1, round(longest / LOOK))):
        watched = watch()
        sleep(LOOK)
        noise = watched.verdict()
        if not noise.noisy:
            break
        report(max(noise.others or 0.0, noise.stolen or 0.0))
    return noise
