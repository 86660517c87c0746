"""Requests that arrive, wait in a line, are served and leave: every one of them a dot, at its own times."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ironlaw.engine.serving.line import Run
from ironlaw.widget.motion import Counter, Motion, Place, Thing, Token, Words, spread
from ironlaw.widget.quantities import format_quantity

MOST = 120  # requests that have room
TOP, TALL = 26.0, 110.0  # px
LINE, SERVERS = (0.04, 0.4), (0.46, 0.9)  # shares of the width
DEEP, APART = 5, 0.03  # the line stands so many abreast, so far apart
STEP, LEAVE = 0.004, 0.03  # of the run: how long a dot is on its way inside, and on its way out
SIZE = 4


@dataclass(frozen=True)
class Request:
    """Seconds since the first arrival, and which server took it."""

    arrive: float
    start: float
    leave: float
    server: int


def requests(run: Run, servers: int, tick: float = 1.0, most: int = MOST) -> list[Request]:
    """The first so many, each with the lowest server that is free when it starts. `tick`: seconds in one unit of the run's times."""
    first = run.arrive[0]
    arrive, start, leave = ([(time - first) * tick for time in times[: most + 1]] for times in (run.arrive, run.start, run.leave))
    free, taken = [0.0] * servers, [0] * len(arrive)
    for i in sorted(range(len(arrive)), key=start.__getitem__):
        taken[i] = next((k for k in range(servers) if free[k] <= start[i] * (1 + 1e-12)), 0)
        free[taken[i]] = leave[i]
    return [Request(*times) for times in zip(arrive, start, leave, taken, strict=True)]


def waiting_line(run: Run, servers: int, end: float, *, tick: float = 1.0, id: str = "line") -> Motion:
    """`end`: seconds to show, if there is room for all who arrive by then."""
    found = requests(run, servers, tick)
    end = min(end, found[-1].arrive if len(found) > MOST else end)
    shown = [request for request in found if request.arrive < end]
    waiting, inside, _ = counts(shown, end)
    title = f"After {format_quantity(end, 's')}, {_are(inside)} being served and {_are(waiting)} waiting"
    return Motion(
        id, title, end, TOP + TALL + 8, tuple(_things(shown, servers, end)), tuple(_events(shown, end)),
        f"{len(shown)} requests at {servers} {'server' if servers == 1 else 'servers'}. {title}.",
        film=False, begins=end / 2, seconds=12.0,
    )  # fmt: skip


def counts(shown: Sequence[Request], at: float) -> tuple[int, int, int]:
    """How many wait, are served and are done at a time."""
    waiting = sum(request.arrive <= at < request.start for request in shown)
    inside = sum(request.start <= at < request.leave for request in shown)
    return waiting, inside, sum(request.leave <= at for request in shown)


def _are(count: int) -> str:
    """`48 are`, and in words where a figure would read oddly."""
    return {0: "nobody is", 1: "one is"}.get(count, f"{count} are")


def _spot(rank: int) -> tuple[float, float]:
    """The place in the line: its head is at the right."""
    column = min(rank // DEEP, int((LINE[1] - LINE[0]) / APART))
    return LINE[1] - column * APART, TOP + TALL * (rank % DEEP + 0.5) / DEEP


def _grid(servers: int) -> tuple[int, int]:
    rows = max(1, round((servers / 4) ** 0.5))
    return math.ceil(servers / rows), rows


def _at_server(server: int, servers: int) -> tuple[float, float]:
    columns, rows = _grid(servers)
    wide = (SERVERS[1] - SERVERS[0]) / columns
    return SERVERS[0] + wide * (server % columns + 0.5), TOP + TALL * (server // columns + 0.5) / rows


def _things(shown: Sequence[Request], servers: int, end: float) -> Iterator[Thing]:
    columns, rows = _grid(servers)
    wide, tall = (SERVERS[1] - SERVERS[0]) / columns, TALL / rows
    for server in range(servers):
        x, y = _at_server(server, servers)
        yield Place(x - 0.42 * wide, x + 0.42 * wide, y - 0.42 * tall, 0.84 * tall)
    for i, request in enumerate(shown):
        if request.start > request.arrive:
            yield Token(_waits(shown, i, end), "overhead", "diamond", SIZE)
        place = _at_server(request.server, servers)
        if request.start < end:
            yield Token(((request.start, *place), (min(request.leave, end), *place)), "compute", "circle", SIZE)
        if request.leave < end:
            yield Token(((request.leave, *place), (min(request.leave + LEAVE * end, end), 0.99, place[1])), "ridge", "circle", SIZE)
    yield Words(LINE[1] + APART / 2, TOP - 8, "waiting", "overhead", "end")
    yield Words(SERVERS[0], TOP - 8, "1 server" if servers == 1 else f"{servers} servers", "compute")
    yield Words(1.0, TOP - 8, "done", "ink", "end")
    times = sorted({0.0, *(t for r in shown for t in (r.arrive, r.start, r.leave) if t <= end)})
    begun, started, left = ([getattr(r, name) for r in shown] for name in ("arrive", "start", "leave"))
    for values in (begun, started, left):
        values.sort()
    arrived, serving, gone = ([bisect_right(values, t) for t in times] for values in (begun, started, left))
    yield Counter("arrived", _points(times, arrived), steps=True)
    yield Counter("waiting", _points(times, [a - b for a, b in zip(arrived, serving, strict=True)]), steps=True, colour="overhead")
    yield Counter("being served", _points(times, [a - b for a, b in zip(serving, gone, strict=True)]), steps=True, colour="compute")
    yield Counter("done", _points(times, gone), steps=True)


def _points(times: Sequence[float], values: Sequence[int]) -> tuple[tuple[float, float], ...]:
    """Only where it changes."""
    kept = [i for i in range(len(times)) if i == 0 or values[i] != values[i - 1]]
    return tuple((times[i], float(values[i])) for i in kept)


def _waits(shown: Sequence[Request], i: int, end: float) -> tuple[tuple[float, float, float], ...]:
    """Up the line whenever somebody ahead of it starts."""
    own, until = shown[i], min(shown[i].start, end)
    ahead = sorted(r.start for r in shown[:i] if r.start > own.arrive)
    path = [(own.arrive, *_spot(len(ahead)))]
    for start in ahead:
        if start >= until:
            break
        rank = len(ahead) - bisect_right(ahead, start)
        if _spot(rank) != path[-1][1:]:
            at = max(start, path[-1][0])
            path += [(at, *path[-1][1:]), (min(at + STEP * end, until), *_spot(rank))]
    return (*path, (until, *path[-1][1:]))


def _events(shown: Sequence[Request], end: float) -> list[tuple[float, str]]:
    told = [(0.0, "The first request arrives and is served at once.")]
    late = next((r for r in shown if r.start > r.arrive), None)
    if late is not None:
        told.append((late.arrive, "A request finds every server busy. It has to wait."))
    first = min((r.leave for r in shown), default=end)
    if first < end:
        told.append((first, f"The first request is done, {format_quantity(first, 's')} after it came."))
    for at in spread(end, 8):
        waiting, inside, done = counts(shown, at)
        have = f"{waiting + inside + done} have arrived"
        told.append((at, f"{have}. Now {_are(waiting)} waiting, {_are(inside)} being served and {_are(done)} done."))
    return sorted(told, key=lambda event: event[0])
