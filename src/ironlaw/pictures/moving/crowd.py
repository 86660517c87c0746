"""A server that stands still, the users who ask meanwhile, and a tester who sends nothing until the answer comes."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from ironlaw.widget.motion import Counter, Motion, Place, Thing, Token, Words, spread
from ironlaw.widget.quantities import format_quantity

DOTS = 120  # where more wait, each stands for several
COLUMNS, ROWS = 24, 5
SERVER, TOP, TALL = 22.0, 64.0, 100.0  # px
USERS, TESTER = (0.0, 0.7), (0.78, 1.0)  # shares of the width
SIZE = 5
BEFORE, AFTER = 0.15, 0.15  # of the stall, and of what follows: how much is shown around it

Asked = tuple[float, float]  # when, and how long until the answer


def around(asked: Sequence[Asked], begin: float, end: float) -> list[Asked]:
    return [(at - begin, took) for at, took in asked if begin <= at < end]


def crowd(users: Sequence[Asked], tester: Sequence[Asked], stall: tuple[float, float], late: float, id: str = "crowd") -> Motion:
    """`users`, `tester`: what each asked around a stall from and to these seconds. Who takes longer than `late` has waited for it."""
    start, stop = stall
    begin = start - min(start, BEFORE * (stop - start))
    waits = [(at, took) for at, took in users if took > late and at + took > start]
    over = max([stop, *(at + took for at, took in waits)])
    end = over - begin + AFTER * (over - start)
    held = around(waits, begin, math.inf)
    polite = around([(at, took) for at, took in tester if took > late and at + took > start], begin, begin + end)
    due = sum(0 <= at < end for at, _ in around(users, begin, math.inf)) - sum(at < end for at, _ in around(tester, begin, math.inf))
    each = max(1, math.ceil(len(held) / DOTS))
    title = f"{_users(len(held))} wait for one stall, and the tester sends {len(polite)} into it"
    return Motion(
        id, title, end, TOP + TALL + 4, tuple(_things(held, polite, (start - begin, stop - begin), each, end)),
        tuple(_events(held, polite, (start - begin, stop - begin), end, max(0, due))),
        f"{title}, around a stall of {format_quantity(stop - start, 's')}.", film=False, begins=(start + stop) / 2 - begin, seconds=10.0,
        stills=(*(start - begin + (stop - start) * part for part in (0.25, 0.75)), stop - begin, end),
        note="" if each == 1 else f"a dot is {each:,} users",
    )  # fmt: skip


def _users(count: int) -> str:
    return "1 user" if count == 1 else f"{count:,} users"


def _are_waiting(count: int) -> str:
    return f"{_users(count)} {'is' if count == 1 else 'are'} waiting"


def _things(held: Sequence[Asked], polite: Sequence[Asked], stall: tuple[float, float], each: int, end: float) -> Iterator[Thing]:
    yield Place(0.0, 1.0, SERVER, 12, "the server, lit while it stands still", "warn", (stall,))
    yield Words(USERS[0], TOP - 8, "users who wait", "accent")
    yield Words(TESTER[1], TOP - 8, "the tester's", "ink", "end")
    for i, (at, took) in enumerate(held[::each]):
        x = USERS[0] + (USERS[1] - USERS[0]) * (i % COLUMNS + 0.5) / COLUMNS
        y = TOP + TALL * (i // COLUMNS % ROWS + 0.5) / ROWS
        yield Token(((at, x, y), (min(at + took, end), x, y)), "accent", "circle", SIZE)
    for i, (at, took) in enumerate(polite[:DOTS]):
        x, y = TESTER[1] - 0.02 - 0.025 * (i % 8), TOP + 12 + 18 * (i // 8 % ROWS)
        yield Token(((at, x, y), (min(at + took, end), x, y)), "ink", "square", SIZE)
    yield Counter("users waiting", _waiting(held, stall, end), steps=True, colour="accent")
    yield Counter("tester's requests waiting", _waiting(polite, stall, end), steps=True)


def _waiting(asked: Sequence[Asked], stall: tuple[float, float], end: float) -> tuple[tuple[float, float], ...]:
    """How many wait, at two hundred moments and at those that an event tells of."""
    told = (stall[0] + (stall[1] - stall[0]) * part for part in (0.25, 0.5, 0.75, 1.0))
    came, gone = sorted(at for at, _ in asked), sorted(at + took for at, took in asked)
    points = [(t, float(bisect_right(came, t) - bisect_right(gone, t))) for t in sorted({0.0, *spread(end, 200), *told})]
    return tuple(point for i, point in enumerate(points) if i == 0 or point[1] != points[i - 1][1])


def _events(held: Sequence[Asked], polite: Sequence[Asked], stall: tuple[float, float], end: float, unsent: int) -> list[tuple[float, str]]:
    def waiting(at: float) -> int:
        return sum(came <= at < came + took for came, took in held)

    start, stop = stall
    told = [(0.0, "Every request is answered at once."), (start, "The server stalls. Anyone who asks now has to wait.")]
    if polite:
        told.append((min(polite[0][0], end), "The tester has sent one request, and sends no more until the answer comes."))
    told += [(start + (stop - start) * part, f"{_are_waiting(waiting(start + (stop - start) * part))}.") for part in (0.25, 0.5, 0.75)]
    told.append((stop, f"The server works again. {_are_waiting(waiting(stop))}, to be served one by one."))
    told.append((end, f"All are served. {_users(len(held))} waited; the tester left out {unsent:,} of the requests that were due."))
    return sorted(told, key=lambda event: event[0])
