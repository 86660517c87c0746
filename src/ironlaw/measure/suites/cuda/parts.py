"""The parts that the wide sweep of a GPU comes in, the most important first. Nothing is run here: a list for help costs no PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ironlaw.errors import BadValue
from ironlaw.measure.devices.kernel_events import WARMUP
from ironlaw.measure.suites.cuda import cases as cases_cuda
from ironlaw.measure.suites.cuda import cases_more as cases_cuda_more


@dataclass(frozen=True)
class SweepPart:
    """Some cases, how many share a session of the profiler, and how long they may take when no time was given."""

    wanted: Callable[[], Iterator[cases_cuda.Wanted]]
    seconds: float
    chunk: int
    warmup: int = WARMUP


PARTS = {
    "ops": SweepPart(cases_cuda.ops, 330.0, 96),
    "more": SweepPart(cases_cuda_more.more, 240.0, 64),
    "norms": SweepPart(cases_cuda_more.norms, 120.0, 32),
    "generated": SweepPart(cases_cuda_more.generated, 240.0, 1, warmup=4),
    "recurrent": SweepPart(cases_cuda_more.recurrent, 120.0, 16),
    "narrow": SweepPart(cases_cuda_more.narrow, 120.0, 96),
    "experts": SweepPart(cases_cuda_more.experts, 60.0, 16),
    "groups": SweepPart(cases_cuda_more.groups, 150.0, 1, warmup=4),
}
FIRST = "ops"  # the part that launch rows go with


def named(text: str) -> tuple[str, ...]:
    """`"norms,ops"` -> the parts of those names."""
    names = tuple(name.strip() for name in text.split(","))
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        raise BadValue(f"no part {unknown[0]!r} of the sweep; choose from {', '.join(PARTS)}")
    return names
