"""What a profile on a CUDA device says about an op's kernels: which time is whose."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from ironlaw.backends.evidence_ops import OPS
from ironlaw.backends.kernel import Kernel, Sample, launched
from ironlaw.backends.rows import Row
from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.types import Op

Lowering = Callable[[Op, Hardware], Sequence[Kernel]]
Samples = Callable[[Row, Hardware], Iterator[Sample]]

TINY = ("Memset", "splitKreduce")
LAYOUT = ("nchwToNhwc", "nhwcToNchw")
BESIDE = ("tiny", "layout", "layout_weight", "layout_first", "copy", "broadcast")  # kernels that accompany the one that works


def seconds_of(row: Row, words: Sequence[str]) -> float:
    """Seconds of the kernels whose name holds one of the words."""
    return sum(k.seconds for k in row.kernel_times if any(word in k.name for word in words))


def tiny_seconds(row: Row) -> float:
    return seconds_of(row, TINY)


def single(kernel: Kernel) -> bool:
    return kernel.curve not in BESIDE


def plain(row: Row, kernels: Sequence[Kernel], seconds: float | None) -> Iterator[Sample]:
    """An op of one kernel that works: its time is the row's, without what is cleared and joined."""
    kernels = launched(kernels)
    heavy = [k for k in kernels if single(k)]
    if seconds and (len(heavy) == 1 or len(kernels) == 1):
        yield Sample((heavy or list(kernels))[0], seconds - tiny_seconds(row))


def by_name(row: Row, kernels: Sequence[Kernel], curves: Mapping[str, str]) -> Iterator[Sample]:
    """One sample for each part of an op whose kernels have telling names: word in a name -> curve."""
    for curve in dict.fromkeys(curves.values()):
        words = [word for word, name in curves.items() if name == curve]
        seconds = seconds_of(row, words)
        parts = [k for k in launched(kernels) if k.curve == curve]
        if parts and seconds and row.busy_s:
            yield Sample(replace(parts[0], count=1.0), seconds / parts[0].count)


def named(lower: Lowering, curves: Mapping[str, str]) -> Samples:
    """The samples of a row by the names of its kernels."""

    def samples(row: Row, machine: Hardware) -> Iterator[Sample]:
        return by_name(row, lower(OPS[row.op](row.params), machine), curves)

    return samples
