"""Where the time of a traced run goes: the device computes, moves data between devices, or waits, and for what.

A gap between two kernels is as long as the second was launched too late. Had the host not waited in between (for the next batch, or for
the device itself), it would have launched by so much earlier: that much of the gap is the wait's, and the rest is launching. A collective
ends on all ranks together, so whoever came last takes the least time for it; what the others take longer, they wait for that one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from ironlaw.errors import BadValue
from ironlaw.report.kineto import DATA, SYNC, Kernel, Trace
from ironlaw.units import show

COLLECTIVES = ("nccl", "rccl", "oneccl")
SENDS = ("sendrecv", "_send", "_recv")  # between two devices: who came last is not in the name
Span = tuple[float, float]
WHERE = {
    "computing": "computing",
    "communicating": "exposed communication",
    "other_rank": "waiting for another rank",
    "data": "idle: waiting for the next batch",
    "synchronising": "idle: the host had waited for the device",
    "launching": "idle: the host launches too slowly",
}  # the parts of the time, in words


BUSY = {
    "computing": "computing",
    "data": "waiting for its next batch",
    "synchronising": "waits of its host for the device",
    "launching": "launching",
}  # what keeps the rank that comes last
NOTABLE = 0.02  # of the run, from which on a wait for another rank is said


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Seconds of one rank, which add up to `total`; `hidden` is communication behind computing, and no part of the sum."""

    rank: int | None
    total: float
    computing: float
    communicating: float  # and nothing computes meanwhile
    other_rank: float  # in a collective, for one that has not come yet
    data: float
    synchronising: float
    launching: float
    hidden: float

    def name(self, place: int) -> str:
        """`place`: among the traces, where the file does not say which rank it is."""
        return f"rank {self.rank if self.rank is not None else place}"

    @property
    def overlap(self) -> float | None:
        """The share of communication that computing hides; None where there is none."""
        whole = self.hidden + self.communicating + self.other_rank
        return self.hidden / whole if whole > 0 else None


def whereabouts(traces: Sequence[Trace]) -> tuple[Whereabouts, ...]:
    """One for each rank. Empty where a trace has no kernels."""
    if any(not trace.kernels for trace in traces):
        return ()
    known: dict[int, str] = {}
    for trace in traces:
        if trace.rank is not None and known.setdefault(trace.rank, trace.name) != trace.name:
            raise BadValue(f"{known[trace.rank]} and {trace.name} are both of rank {trace.rank}; give one trace for each rank")
    talks = [[k for k in trace.kernels if is_collective(k)] for trace in traces]
    waits = _for_others(talks)
    return tuple(_of(trace, late) for trace, late in zip(traces, waits, strict=True))


def table(ranks: Sequence[Whereabouts]) -> list[tuple[str, list[float]]]:
    """The parts of the time that any rank has, and the seconds of each rank."""
    rows = [(words, [float(getattr(one, name)) for one in ranks]) for name, words in WHERE.items()]
    return [(words, seconds) for words, seconds in rows if any(s > 0 for s in seconds)]


def last_to_come(ranks: Sequence[Whereabouts]) -> str:
    """Which rank the others wait for, and with what it is busy meanwhile; empty where none stands out."""
    if len(ranks) < 2:
        return ""
    last = min(ranks, key=lambda one: one.other_rank)
    longest = max(one.other_rank for one in ranks)
    if longest < NOTABLE * last.total or last.other_rank > longest / 2:
        return ""
    others = [one for one in ranks if one is not last]
    more = {name: getattr(last, name) - min(getattr(one, name) for one in others) for name in BUSY}
    name = max(more, key=more.__getitem__)
    who = last.name(list(ranks).index(last))
    return (
        f"The others wait for {who}, up to {show(longest, 's')}. It spends {show(more[name], 's')} more than the quickest on {BUSY[name]}."
    )


def is_collective(kernel: Kernel) -> bool:
    return any(word in kernel.name.lower() for word in COLLECTIVES)


def _for_others(talks: Sequence[Sequence[Kernel]]) -> list[dict[Kernel, float]]:
    """For each rank and collective, how much longer it took than on the rank that arrived last."""
    if len(talks) < 2:
        return [{} for _ in talks]
    names = [[k.name for k in talk] for talk in talks]
    if any(other != names[0] for other in names[1:]):
        raise BadValue(
            "the traces hold different collectives, so they are not ranks of one run, or not of the same steps;"
            " give traces that were written together"
        )
    late: list[dict[Kernel, float]] = [{} for _ in talks]
    for same in zip(*talks, strict=True):
        if not any(word in same[0].name.lower() for word in SENDS):
            least = min(k.seconds for k in same)
            for rank, kernel in enumerate(same):
                late[rank][kernel] = kernel.seconds - least
    return late


def _of(trace: Trace, late: dict[Kernel, float]) -> Whereabouts:
    work = _merged([(k.start, k.start + k.seconds) for k in trace.kernels if not is_collective(k)])
    talk = [k for k in trace.kernels if is_collective(k)]
    busy = _merged([*work, *((k.start, k.start + k.seconds) for k in talk)])
    computing, any_work = _length(work), _length(busy)
    whole_talk = _length(_merged([(k.start, k.start + k.seconds) for k in talk]))
    exposed = any_work - computing
    waited = min(exposed, sum(min(late.get(k, 0.0), k.seconds - _inside(work, k.start, k.start + k.seconds)) for k in talk))
    begin = min(busy[0][0], trace.ops[0].start if trace.ops else busy[0][0])
    idle = {DATA: 0.0, SYNC: 0.0, "": 0.0}
    for gap, seconds in _gaps(trace, busy, begin).items():
        idle[gap] += seconds
    return Whereabouts(
        trace.rank, busy[-1][1] - begin, computing, exposed - waited, waited, idle[DATA], idle[SYNC], idle[""], whole_talk - exposed
    )


def _gaps(trace: Trace, busy: Sequence[Span], begin: float) -> dict[str, float]:
    """Time in which the device does nothing, by why."""
    kernels = sorted(trace.kernels, key=lambda k: k.start)
    starts = [k.start for k in kernels]
    found = {DATA: 0.0, SYNC: 0.0, "": 0.0}
    before, since = begin, begin  # the end of what ran last, and when the host had launched that
    for start, end in busy:
        gap = start - before
        first = kernels[bisect_left(starts, start)]
        if gap > 0:
            for what in (DATA, SYNC):
                waited = sum(_common(w.start, w.start + w.seconds, since, first.launched) for w in trace.waits if w.what == what)
                part = min(gap, waited)
                found[what] += part
                gap -= part
            found[""] += gap
        before = end
        here = [k.launched for k in kernels[bisect_left(starts, start) : bisect_left(starts, end)]]
        since = max([since, *here])
    return found


def _common(a: float, b: float, c: float, d: float) -> float:
    return max(0.0, min(b, d) - max(a, c))


def _inside(spans: Sequence[Span], start: float, end: float) -> float:
    return sum(_common(a, b, start, end) for a, b in spans)


def _merged(spans: Sequence[Span]) -> list[Span]:
    """The stretches in order, with those that touch merged."""
    out: list[Span] = []
    for start, end in sorted(spans):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out


def _length(spans: Sequence[Span]) -> float:
    return sum(end - start for start, end in spans)
