"""Bytes on their way from memory to the multipliers, in parts, to scale in time: what waits for what.

A part is worked on when it has arrived and the part before it is done; memory runs ahead by as many parts as the chip holds. With more and
finer parts the whole takes what the law says if transfer and arithmetic overlap: L + max(D/BW, O/R).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ironlaw.units import significant
from ironlaw.widget.motion import Counter, Level, Motion, Place, Thing, Token, Words
from ironlaw.widget.quantities import format_quantity

PARTS = 24
AHEAD = 4  # parts that the chip holds
CELLS = (12, 6)  # multipliers drawn
DARK = 1 - 1e-4  # of the end: at the end itself nothing works any more
TOP, TALL = 26.0, 104.0  # px
MEMORY, WIRE, CHIP, UNITS = (0.0, 0.2), (0.2, 0.5), (0.5, 0.58), (0.62, 1.0)  # shares of the width


@dataclass(frozen=True)
class Part:
    """Seconds: on the wire from and to, in the multipliers from and to."""

    sent: float
    came: float
    begun: float
    done: float


def parts(data_s: float, compute_s: float, overhead_s: float, count: int = PARTS) -> list[Part]:
    found: list[Part] = []
    for i in range(count):
        before = found[-1] if found else Part(0.0, overhead_s, 0.0, 0.0)
        sent = max(before.came, found[i - AHEAD].begun if i >= AHEAD else 0.0)
        came = sent + data_s / count
        begun = max(came, before.done)
        found.append(Part(sent, came, begun, begun + compute_s / count))
    return found


def bytes_way(data_s: float, compute_s: float, overhead_s: float, bytes: float, rate: str, id: str = "way") -> Motion:
    """The three terms in seconds, the bytes that are moved, and how fast in words."""
    run = parts(data_s, compute_s, overhead_s)
    end = run[-1].done
    share = compute_s / end
    return Motion(
        id, _title(data_s, compute_s, overhead_s, end), end, TOP + TALL + 8, tuple(_things(run, overhead_s, bytes, rate, end)),
        tuple(_events(run, data_s, compute_s, overhead_s)),
        f"{format_quantity(bytes, 'B')} go from memory to the multipliers, which work {_percent(share)} of {format_quantity(end, 's')}.",
        film=False, begins=end / 2, stills=_stills(run, overhead_s),
        note=f"{format_quantity(bytes, 'B')} in {PARTS} parts, to scale in time",
    )  # fmt: skip


def _percent(share: float) -> str:
    return f"{significant(100 * share, 2)}%"


def _title(data_s: float, compute_s: float, overhead_s: float, end: float) -> str:
    worked = f"The multipliers work {_percent(compute_s / end)} of the time"
    if overhead_s > max(data_s, compute_s):
        return f"{worked}. Mostly, everything waits for the launch"
    return f"{worked} and wait for bytes the rest of the time" if data_s > compute_s else f"{worked}, and bytes wait for them"


def _things(run: list[Part], overhead_s: float, bytes: float, rate: str, end: float) -> Iterator[Thing]:
    middle = TOP + TALL / 2
    left = tuple((part.sent, 1 - i / len(run)) for i, part in enumerate(run))
    yield Level(*MEMORY, TOP, TALL, "memory", ((0.0, 1.0), *left, (run[-1].came, 0.0)))
    yield Place(*WIRE, middle - 5, 10)
    yield Place(*CHIP, TOP, TALL)
    yield Place(*UNITS, TOP, TALL, "", "compute", tuple((part.begun, min(part.done, end * DARK)) for part in run), cells=CELLS)
    if overhead_s > 0:
        yield Place(WIRE[0] + 0.03, WIRE[1] - 0.03, TOP, 14, "", "overhead", ((0.0, overhead_s),))
        yield Words(WIRE[0] + 0.03, TOP - 7, "launch", "overhead")
    for i, part in enumerate(run):
        slot = middle + (i % AHEAD - (AHEAD - 1) / 2) * TALL / (AHEAD + 1)
        yield Token(((part.sent, WIRE[0], middle), (part.came, WIRE[1], middle)), "memory", "square", 6)
        if part.begun > part.came:
            yield Token(((part.came, sum(CHIP) / 2, slot), (part.begun, sum(CHIP) / 2, slot)), "memory", "square", 6)
    yield Words(MEMORY[0], TOP - 7, "memory", "memory")
    yield Words(sum(WIRE) / 2, middle + 22, rate, "memory", "middle")
    yield Words(CHIP[0], TOP - 7, "chip", "ink")
    yield Words(UNITS[1], TOP - 7, "multipliers", "compute", "end")
    yield Counter(
        "fetched",
        ((0.0, 0.0), (overhead_s, 0.0), *((part.came, bytes * (i + 1) / len(run)) for i, part in enumerate(run))),
        "B",
        colour="memory",
    )
    yield Counter("multipliers worked", _busy(run, end), "%", colour="compute")


def _busy(run: list[Part], end: float) -> tuple[tuple[float, float], ...]:
    """(time, percent of the time so far in which the multipliers worked)."""
    points, worked = [(0.0, 0.0)], 0.0
    for part in run:
        points.append((part.begun, 100 * worked / part.begun if part.begun else 0.0))
        worked += part.done - part.begun
        points.append((part.done, 100 * worked / part.done if part.done else 0.0))
    return (*points, (end, 100 * worked / end))


def _stills(run: list[Part], overhead_s: float) -> tuple[float, ...]:
    """The launch, multipliers at work, half-way between two parts, the end."""
    one, other = run[len(run) // 2 : len(run) // 2 + 2]
    return (overhead_s / 2, (one.begun + one.done) / 2, (one.done + other.begun) / 2, run[-1].done)


def _events(run: list[Part], data_s: float, compute_s: float, overhead_s: float) -> Iterator[tuple[float, str]]:
    first, last = run[0], run[-1]
    if overhead_s > 0:
        yield 0.0, f"The launch takes {format_quantity(overhead_s, 's')}. Memory and multipliers wait."
    each, work = format_quantity(data_s / len(run), "s"), format_quantity(compute_s / len(run), "s")
    yield first.sent, f"The first part leaves memory. A part is on its way for {each}."
    yield first.begun, f"The first part has arrived. The multipliers are done with it after {work}."
    second = run[1]
    if second.begun > first.done:
        yield first.done, f"From now on the multipliers wait {format_quantity(second.begun - first.done, 's')} for every part."
    else:
        yield second.came, "The second part arrives before the multipliers are done with the first. From now on bytes wait on the chip."
    if data_s <= compute_s and run[AHEAD].sent > run[AHEAD - 1].came:
        yield run[AHEAD - 1].came, "The chip is full. Memory waits."
    yield last.came, f"Everything has arrived. That took memory {format_quantity(data_s, 's')} at full rate."
    law = overhead_s + max(data_s, compute_s)
    why = "the last part is worked on once it has arrived" if data_s > compute_s else "there is no work before the first part has arrived"
    worked = f"The multipliers worked {format_quantity(compute_s, 's')} of {format_quantity(last.done, 's')}."
    more = f"That is {format_quantity(last.done - law, 's')} more than {format_quantity(law, 's')}, because {why}."
    yield last.done, f"All done. {worked} {more}"
