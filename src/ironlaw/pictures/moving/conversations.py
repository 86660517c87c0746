"""Conversations in a cache: each a thin row from when it is let in until it leaves, and how full the cache is meanwhile."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

from ironlaw.engine.serving.llm.outcome import Moment, Outcome, Stay
from ironlaw.units import significant
from ironlaw.widget.motion import Bar, Counter, Curve, Motion, Thing, Words, spread

MOST = 300  # conversations that are drawn: the picture ends when more have begun
TALL, CACHE, ROOM = 190.0, 56.0, 22.0  # px: the rows, the cache under them, between them
LARGEST = 9.0  # px of a row
POINTS = 400
LEGEND = (
    {"colour": "compute", "label": "computing its prompt"},
    {"colour": "memory", "label": "decoding, its keys and values in the cache"},
)


def placed(stays: Sequence[Stay], end: float) -> list[tuple[int, Stay]]:
    """(row, stay): each in the lowest row that is free when it begins."""
    free: list[float] = []
    found = []
    for stay in sorted((stay for stay in stays if stay.begin < end), key=lambda stay: stay.begin):
        row = next((i for i, until in enumerate(free) if until <= stay.begin), len(free))
        free[row : row + 1] = [stay.end]
        found.append((row, stay))
    return found


def conversations(out: Outcome, until: float, id: str = "conversations", note: str = "") -> Motion:
    """`out`: of a single replica. `until`: seconds to show, if there is room for all who come."""
    begins = sorted(stay.begin for stay in out.stays)
    end = min(until, begins[MOST] if len(begins) > MOST else until, max(out.leave))
    rows = placed(out.stays, end)
    moments = [moment for moment in out.moments if moment.at < end]
    last = moments[-1]
    title = f"After {significant(end)}\u202fs, {_share(held(rows)(end))} {_percent(last.used / out.blocks)} of the cache"
    return Motion(
        id, title, end, TALL + ROOM + CACHE, tuple(_things(rows, moments, out.blocks, end)), tuple(_events(out, rows, moments, end)),
        f"{len(rows):,} conversations in {significant(end)} s. {title}.", seconds=12.0, legend=LEGEND, note=note,
    )  # fmt: skip


def held(rows: Sequence[tuple[int, Stay]]) -> Callable[[float], int]:
    """How many are in the cache at a moment."""
    begins, ends = sorted(stay.begin for _, stay in rows), sorted(stay.end for _, stay in rows)
    return lambda at: bisect_right(begins, at) - bisect_right(ends, at)


def _share(count: int) -> str:
    return "1 conversation fills" if count == 1 else f"{count:,} conversations fill"


def _percent(share: float) -> str:
    return f"{significant(100 * share, 2)}%"


def _things(rows: Sequence[tuple[int, Stay]], moments: Sequence[Moment], blocks: int, end: float) -> Iterator[Thing]:
    high = min(LARGEST, TALL / (1 + max((row for row, _ in rows), default=0)))
    for row, stay in rows:
        y, stop = row * high, min(stay.end, end)
        decode = min(stay.decode, stop)
        yield Bar(stay.begin, decode, y, 0.8 * high, "compute")
        if stop > decode:
            yield Bar(decode, stop, y, 0.8 * high, "memory")
    floor = TALL + ROOM + CACHE
    used = _steps([(moment.at, moment.used / blocks) for moment in moments], end)
    yield Words(0.0, TALL + ROOM - 6, "cache in use, of all there is")
    yield Curve(((0.0, floor - CACHE), (end, floor - CACHE)), "ridge")
    yield Curve(tuple((t, floor - CACHE * share) for t, share in used), "memory", area=floor)
    inside = held(rows)
    times = sorted({0.0, *(t for _, stay in rows for t in (stay.begin, stay.end) if t <= end)})
    yield Counter("in the cache", tuple((t, float(inside(t))) for t in times), steps=True, colour="memory")
    yield Counter("waiting", tuple(_steps([(m.at, float(m.waiting)) for m in moments], end)), steps=True, colour="overhead")
    yield Counter("cache in use", tuple((t, 100 * share) for t, share in used), "%", colour="memory")


def _steps(points: Sequence[tuple[float, float]], end: float) -> list[tuple[float, float]]:
    """The steps from nothing on, as many as can be told apart."""
    each = max(1, len(points) // POINTS)
    return [(0.0, 0.0), *points[::each], (end, points[-1][1])]


def _events(out: Outcome, rows: Sequence[tuple[int, Stay]], moments: Sequence[Moment], end: float) -> list[tuple[float, str]]:
    told = [(0.0, "The cache is empty.")]
    gone = [stay.end for stay in out.stays if stay.end < out.leave[stay.place] - 1e-9 and stay.end < end]
    if gone:
        told.append((min(gone), "The cache is full. A conversation makes room, and will come back."))
    times, inside = [moment.at for moment in moments], held(rows)
    for at in spread(end, 8):
        moment = moments[max(0, bisect_right(times, at) - 1)]
        waiting = {0: "nobody waits", 1: "1 waits"}.get(moment.waiting, f"{moment.waiting:,} wait")
        told.append((at, f"{_share(inside(at))} {_percent(moment.used / out.blocks)} of the cache, and {waiting}."))
    return sorted(told, key=lambda event: event[0])
