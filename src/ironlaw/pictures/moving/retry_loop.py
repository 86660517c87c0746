"""A spike, its retries, and a server that works for nobody: answers come out in time or too late, and who was late asks again.

What is sent and answered is counted in stretches of the engine's run; a dot stands for as many requests as leave room for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ironlaw.engine.arrays import interpolate
from ironlaw.engine.serving.storms import Storm
from ironlaw.units import significant
from ironlaw.widget.motion import Counter, Level, Motion, Place, Thing, Token, Words
from ironlaw.widget.quantities import format_quantity

DOTS = 420
TOP, TALL, LOW = 26.0, 80.0, 140.0  # px
USERS, SERVER = (0.0, 0.14), (0.52, 0.66)  # shares of the width
ENTRY = 0.34  # where retries come back
NEW, RETRY, GOOD, LATE = ("compute", "circle"), ("overhead", "diamond"), ("good", "circle"), ("fail", "square")
Point = tuple[float, float, float]  # seconds, sent, answered in time: shares of what can be done


def flows(points: Sequence[Point], storm: Storm) -> list[tuple[float, float, float, float, float]]:
    """(seconds, new, retries, in time, for nobody): shares of what the server can do. What is sent beyond what comes new are retries;
    a server that is sent enough works all the time, and what it does not answer in time nobody waits for."""
    found = []
    for at, sent, good in points:
        new = min(sent, storm.rate(at) / storm.capacity)
        found.append((at, new, sent - new, good, max(0.0, min(1.0, sent) - good)))
    return found


def retry_loop(points: Sequence[Point], storm: Storm, id: str = "loop") -> Motion:
    found = flows(points, storm)
    window = points[1][0] - points[0][0]
    end = points[-1][0] + window / 2
    total = sum(sum(flow[1:]) for flow in found) * window
    each = max(total / DOTS, 1 / storm.capacity)  # seconds of the server's work that a dot stands for
    over = storm.begins + storm.lasts
    tail = [flow for flow in found if flow[0] > end - 10]
    last, again = (sum(flow[k] for flow in tail) / len(tail) for k in (3, 2))
    title = (
        f"{significant(end - over, 2)} s after the spike, retries are still {_percent(again)} of capacity"
        if again > 0.1 and last < 0.9 * storm.load
        else f"After the spike, {_percent(last)} of capacity is answered in time again"
    )
    return Motion(
        id, title, end, LOW + 24, tuple(_things(found, window, each, end)), tuple(_events(found, storm, window, end)),
        f"{title}.", film=False, begins=min(end, over + 5), seconds=16.0,
        stills=(storm.begins / 2, storm.begins + storm.lasts / 2, min(end, over + 5), end - 2 * window),
        note=f"a dot is {significant(each * storm.capacity, 2)} requests of one replica",
        legend=tuple({"colour": colour, "shape": shape, "label": label} for (colour, shape), label in (
            (NEW, "new requests"), (RETRY, "retries"), (GOOD, "answered in time"), (LATE, "answered after the client gave up"))),
    )  # fmt: skip


def _percent(share: float) -> str:
    return f"{significant(100 * share, 2)}%"


def _things(found: Sequence[tuple[float, float, float, float, float]], window: float, each: float, end: float) -> Iterator[Thing]:
    middle = TOP + TALL / 2
    yield Place(*USERS, TOP, TALL)
    yield Words(USERS[0], TOP - 8, "users")
    half = (SERVER[0] + SERVER[1]) / 2
    yield Level(SERVER[0], half, TOP, TALL, "good", _level(found, 3, end))
    yield Level(half, SERVER[1], TOP, TALL, "fail", _level(found, 4, end))
    yield Words(SERVER[0], TOP - 8, "server")
    yield Words(1.0, TOP - 8, "answered", anchor="end")
    yield Words(ENTRY + 0.02, LOW + 18, "asked again", "overhead")
    ways = {
        1: (NEW, ((USERS[1], middle), (SERVER[0], middle))),
        2: (RETRY, ((SERVER[0] + 0.05, LOW), (ENTRY, LOW), (ENTRY, middle + 14), (SERVER[0], middle + 14))),
        3: (GOOD, ((SERVER[1], middle - 16), (0.98, middle - 16))),
        4: (LATE, ((SERVER[1], middle + 16), (0.98, middle + 16))),
    }
    for k, ((colour, shape), corners) in ways.items():
        for at in _moments([(flow[0] - window / 2, flow[k]) for flow in found], window, each):
            yield Token(_path(corners, at, window, end), colour, shape, 4)
    for k, label, colour in ((1, "new", "compute"), (2, "retries", "overhead"), (3, "in time", "good"), (4, "for nobody", "fail")):
        yield Counter(label, tuple((t, 100 * share) for t, share in _course(found, k, window)), "%", colour=colour)


def _level(found: Sequence[tuple[float, float, float, float, float]], k: int, end: float) -> tuple[tuple[float, float], ...]:
    return ((0.0, 0.0), *((flow[0], min(1.0, flow[k])) for flow in found), (end, min(1.0, found[-1][k])))


def _moments(rates: Sequence[tuple[float, float]], window: float, each: float) -> Iterator[float]:
    """When a dot sets out: as often as its share of the work adds up."""
    due = 0.0
    for start, share in rates:
        due += share * window
        count = int(due / each)
        due -= count * each
        yield from (start + window * (i + 0.5) / count for i in range(count))


def _path(corners: Sequence[tuple[float, float]], at: float, window: float, end: float) -> tuple[tuple[float, float, float], ...]:
    """Along its corners, in one stretch of time."""
    begin = min(max(at, 0.0), end)
    step = min(window, end - begin) / (len(corners) - 1)
    return tuple((min(begin + i * step, end), x, y) for i, (x, y) in enumerate(corners))


def _course(found: Sequence[tuple[float, float, float, float, float]], k: int, window: float) -> list[tuple[float, float]]:
    """A share over time: what the counters show, and what the events tell of a moment."""
    return [(max(0.0, flow[0] - window / 2), flow[k]) for flow in found]


def _events(found: Sequence[tuple[float, float, float, float, float]], storm: Storm, window: float, end: float) -> list[tuple[float, str]]:
    courses = [zip(*_course(found, k, window), strict=True) for k in (1, 2, 3)]
    curves = [(tuple(times), tuple(shares)) for times, shares in courses]

    def at(t: float) -> str:
        new, again, good = (_percent(float(interpolate(t, *curve))) for curve in curves)
        return f"New requests take {new} of capacity and retries {again}, and {good} goes into answers in time."

    over = storm.begins + storm.lasts
    told = [
        (0.0, f"A calm day, at {_percent(storm.load)} of the server's capacity."),
        (storm.begins, f"The spike begins and lasts {format_quantity(storm.lasts, 's')}. More arrives than the server can handle."),
        (storm.begins + storm.lasts / 2, at(storm.begins + storm.lasts / 2)),
        (over, "The spike is over. New requests are back to normal, but the late ones are being retried."),
    ]
    told += [(t, at(t)) for t in (over + 5, over + 20, over + 40, end - 2 * window) if t < end]  # the last is a still's
    return sorted([*told, (end, at(end))], key=lambda event: event[0])
