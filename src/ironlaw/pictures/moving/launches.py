"""Host and device as two lanes: what is launched when, what runs when, and when the device has nothing to do; several ways side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile

from ironlaw.engine.device.dispatch import Run
from ironlaw.units import significant
from ironlaw.widget.motion import Bar, Counter, Lane, Motion, Thing, Words, spread
from ironlaw.widget.quantities import format_quantity

FEW = 40  # operators: all of them are drawn
SOME = 16  # else so many of the slowest way
TOLD = 3  # kernels of each way that are told one by one
HAIR = 1 / 1500  # of the picture: what is closer together is drawn as one
HEAD, HOST, DEVICE, ROOM = 20, 13, 18, 14  # px
SAME = 1.02  # as good as equal
LEFT = 52  # px for the lanes' names
LEGEND = (
    {"colour": "overhead", "label": "launching"}, {"colour": "compute", "label": "kernel, compute-bound"},
    {"colour": "memory", "label": "kernel, memory-bound"},
    {"colour": "overhead", "pattern": True, "label": "kernel, mostly its fixed cost"},
)  # fmt: skip


@dataclass(frozen=True)
class Way:
    """One way to run a pass: `terms[i]` is the bottleneck of kernel i, one for all where it is one."""

    name: str
    run: Run
    terms: Sequence[str]
    chosen: bool = False

    @cached_property
    def spans(self) -> list[tuple[float, float]]:
        return [(start, start + float(kernel)) for start, kernel in zip(self.run.starts, self.run.kernels, strict=True)]

    def term(self, i: int) -> str:
        return self.terms[i] if len(self.terms) > 1 else self.terms[0]

    def before(self, end: float) -> list[tuple[float, float]]:
        """What runs until then."""
        return [(start, min(stop, end)) for start, stop in takewhile(lambda span: span[0] < end * (1 - 1e-9), self.spans)]

    def done(self, at: float) -> float:
        """The share of the pass's device time that is over."""
        return sum(stop - start for start, stop in self.before(at)) / float(self.run.busy)


def window(ways: Sequence[Way]) -> float:
    """Seconds that are drawn: the whole pass where it has few operators, else the slowest way's first ones."""
    slow = max(ways, key=lambda way: float(way.run.wall))
    if max(len(way.run.kernels) for way in ways) <= FEW:
        return float(slow.run.wall)
    return min(float(slow.run.wall), slow.spans[min(SOME, len(slow.spans)) - 1][1])


def launches(ways: Sequence[Way], id: str = "lanes") -> Motion:
    end = window(ways)
    things: list[Thing] = []
    for i, way in enumerate(ways):
        things += _panel(way, i * (HEAD + HOST + DEVICE + 4 + ROOM), end)
    looks = {(thing.colour, thing.pattern) for thing in things if isinstance(thing, Bar)}
    shares = [way.done(end) for way in ways]
    is_whole = end >= max(float(way.run.wall) for way in ways) * (1 - 1e-9)
    note = "the whole pass" if is_whole else f"the first {format_quantity(end, 's')} of the pass"
    return Motion(
        id, _title(ways, shares, end, is_whole), end, len(ways) * (HEAD + HOST + DEVICE + 4 + ROOM) - ROOM + 4, tuple(things),
        tuple(sorted(_events(ways, end), key=lambda event: event[0])), _text(ways, end),
        legend=tuple(item for item in LEGEND if (item["colour"], item.get("pattern", False)) in looks), note=note, more={"left": LEFT},
    )  # fmt: skip


def _panel(way: Way, top: float, end: float) -> Iterator[Thing]:
    host, device = top + HEAD, top + HEAD + HOST + 4
    yield Words(0.0, top + 14, way.name.capitalize(), strong=way.chosen)
    yield Lane("host", host, HOST)
    yield Lane("device", device, DEVICE)
    yield from _joined((Bar(a, b, host, HOST, "overhead") for a, b in way.run.launching if a < end), end)
    yield from _joined(
        (Bar(a, b, device, DEVICE, way.term(i), pattern=way.term(i) == "overhead") for i, (a, b) in enumerate(way.before(end))), end
    )
    yield Counter("# of the pass done", _progress(way, end), "%", y=top + 14)


def _joined(bars: Iterable[Bar], end: float) -> list[Bar]:
    """Cut off at the end; what is too fine to be seen apart becomes one bar."""
    found: list[Bar] = []
    for each in bars:
        bar = replace(each, end=min(each.end, end))
        last = found[-1] if found else None
        fine = last is not None and bar.start - last.end < HAIR * end and min(bar.end - bar.start, last.end - last.start) < 4 * HAIR * end
        if last is not None and fine and last.colour == bar.colour:
            found[-1] = replace(last, end=bar.end)
        else:
            found.append(bar)
    return found


def _progress(way: Way, end: float) -> tuple[tuple[float, float], ...]:
    """(time, percent) at every place where it bends; stretches that are drawn as one are one."""
    points, sofar, busy = [(0.0, 0.0)], 0.0, float(way.run.busy)
    for start, stop in way.before(end):
        if start - points[-1][0] > HAIR * end:
            points.append((start, 100 * sofar / busy))
        sofar += stop - start
        if stop - points[-1][0] > 4 * HAIR * end:
            points.append((stop, 100 * sofar / busy))
    return (*points, (end, 100 * sofar / busy))


def _title(ways: Sequence[Way], shares: Sequence[float], end: float, is_whole: bool) -> str:
    """How much the first way loses against the best one."""
    walls = [float(way.run.wall) for way in ways]
    best = walls.index(min(walls)) if is_whole else shares.index(max(shares))
    name, against = ways[0].name.capitalize(), ways[best].name
    if walls[0] < SAME * walls[best] if is_whole else shares[best] < SAME * shares[0]:
        return "Launching costs almost nothing: every kernel runs much longer than its launch"
    if is_whole:
        return f"{name} takes {format_quantity(walls[0], 's')}, {against} {format_quantity(walls[best], 's')}"
    rest = "finishes it" if shares[best] > 0.995 else f"does {_percent(shares[best])}"
    return f"{name} gets {_percent(shares[0])} of the pass done while {against} {rest}"


def _percent(share: float) -> str:
    return f"{significant(100 * share, 2)}%"


def _events(ways: Sequence[Way], end: float) -> Iterator[tuple[float, str]]:
    yield 0.0, "The host starts to launch. The device has nothing to do yet."
    for way in ways:
        before = 0.0
        for i, (start, stop) in enumerate(way.spans[:TOLD]):
            if start >= end:
                break
            waited = format_quantity(start - before, "s") if start - before > HAIR * end else ""
            ran = f"{way.name.capitalize()}: kernel {i + 1} runs, {format_quantity(stop - start, 's')}."
            yield start, f"{ran} The device waited {waited} for it." if waited else ran
            before = stop
        if float(way.run.wall) <= end * (1 - 1e-9):
            yield float(way.run.wall), f"{way.name.capitalize()} is done."
    for quarter in spread(end):
        yield quarter, f"{_told(ways, quarter)}."


def _text(ways: Sequence[Way], end: float) -> str:
    return f"Host and device over {format_quantity(end, 's')}. {_told(ways, end)}."


def _told(ways: Sequence[Way], at: float) -> str:
    return "Done: " + ", ".join(f"{way.name} {_percent(way.done(at))}" for way in ways) + " of the pass"
