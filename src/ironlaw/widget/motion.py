"""A moving picture as the widget takes it: what is where at which moment, all of it known beforehand, drawn to scale in time.

A film has time from left to right: lanes with bars and curves, uncovered as time passes. A stage is a plan seen from above: places that
light up, levels that rise, tokens on their way. `x` is a share of the picture's width, `y` and heights are px, times are in `unit`.
Both carry counters, and events: the same story as sentences, which the step buttons go by and a screen reader hears.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ironlaw.errors import BadValue, unknown
from ironlaw.units import spoken
from ironlaw.widget.colours import COLOURS
from ironlaw.widget.figure import SHAPES

MOST = 700  # things to draw; a frame has 16 ms
STILLS = 4


@dataclass(frozen=True, slots=True)
class Lane:
    """A row of a film, named above it."""

    name: str
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Bar:
    """Something in a film that lasts from `start` to `end`."""

    start: float
    end: float
    y: float
    height: float
    colour: str
    label: str = ""
    pattern: bool = False


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve in a film, as (time, y) pairs; `area` fills it down to that y."""

    points: tuple[tuple[float, float], ...]
    colour: str
    label: str = ""
    area: float | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """A box in a stage, lit in each of its `spans`; one that lasts to the end is lit there, too."""

    x0: float
    x1: float
    y: float
    height: float
    label: str = ""
    colour: str = "ink"
    spans: tuple[tuple[float, float], ...] = ()
    plain: bool = False  # no outline: only what is lit is seen
    cells: tuple[int, int] = (1, 1)  # columns and rows that it is divided into


@dataclass(frozen=True, slots=True)
class Level:
    """A box in a stage that fills from its foot, as (time, share) pairs."""

    x0: float
    x1: float
    y: float
    height: float
    colour: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Token:
    """Something on its way: (time, x, y) triples, straight between them; it is there from the first time to the last."""

    path: tuple[tuple[float, float, float], ...]
    colour: str
    shape: str = "circle"
    size: float = 5


@dataclass(frozen=True, slots=True)
class Words:
    x: float
    y: float
    text: str
    colour: str = "ink"
    anchor: str = "start"
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Counter:
    """A figure that runs: (time, value) pairs, straight between them, or in steps. With `y` it stands in the picture, else over it; a `#`
    in its label is where the figure stands."""

    label: str
    points: tuple[tuple[float, float], ...]
    unit: str = ""
    steps: bool = False
    x: float = 1.0
    y: float | None = None
    colour: str = "ink"


Thing = Lane | Bar | Curve | Place | Level | Token | Words | Counter
KINDS: dict[type, str] = {
    Lane: "lanes", Bar: "bars", Curve: "curves", Place: "places", Level: "levels", Token: "tokens", Words: "words", Counter: "counters",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Motion:
    """`seconds`: how long a run takes on the screen. `stills`: the moments of the strip. `begins`: where it stands until it is played."""

    id: str
    title: str
    end: float
    height: float
    things: tuple[Thing, ...]
    events: tuple[tuple[float, str], ...]
    text: str  # one sentence that says what the picture shows
    unit: str = "s"
    film: bool = True
    seconds: float = 8.0
    stills: tuple[float, ...] = ()
    begins: float | None = None
    legend: tuple[dict[str, Any], ...] = ()
    note: str = ""
    caption: str = ""
    more: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.text.strip() or not self.title.strip() or not self.events:
            raise BadValue(f"moving picture {self.id!r} needs a title, a sentence and events that say what moves")
        if not (math.isfinite(self.end) and self.end > 0):
            raise BadValue(f"moving picture {self.id!r} ends at {self.end}; give a time above 0")
        if len(self.things) > MOST:
            raise BadValue(f"moving picture {self.id!r} has {len(self.things)} things to draw; at most {MOST} fit a frame")
        if list(self.events) != sorted(self.events, key=lambda event: event[0]):
            raise BadValue(f"moving picture {self.id!r}: its events are not in order of time; sort them")
        for time in (*_times(self.things), *(at for at, _ in self.events), *self.stills):
            if not -1e-9 * self.end <= time <= self.end * (1 + 1e-9):
                raise BadValue(f"moving picture {self.id!r} goes from 0 to {self.end}; something in it is at {time}")
        for thing in self.things:
            colour = getattr(thing, "colour", "ink")
            if colour not in COLOURS:
                raise unknown("semantic colour", colour, COLOURS)
            if isinstance(thing, Token) and thing.shape not in SHAPES:
                raise unknown("shape", thing.shape, SHAPES)

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = {
            "id": self.id, "title": self.title, "end": _short(self.end), "height": self.height, "unit": self.unit, "film": self.film,
            "seconds": self.seconds, "text": spoken(self.text), "events": [[_short(at), text] for at, text in self.events],
            "stills": _short(self.stills or spread(self.end)), "begins": _short(self.end if self.begins is None else self.begins),
            **self.more,
        }  # fmt: skip
        out |= {name: value for name in ("note", "caption") if (value := getattr(self, name))}
        if self.legend:
            out["legend"] = [dict(item) for item in self.legend]
        for thing in self.things:
            out.setdefault(KINDS[type(thing)], []).append([_short(getattr(thing, name)) for name in type(thing).__slots__])
        return out


def spread(end: float, count: int = STILLS) -> tuple[float, ...]:
    """`count` moments of a run, evenly spaced, the last at its end."""
    return tuple(end * (i + 1) / count for i in range(count))


def stepped(times: Iterable[float], end: float) -> tuple[tuple[float, float], ...]:
    """A count that goes up by one at each of these times."""
    return ((0.0, 0.0), *((at, i + 1.0) for i, at in enumerate(sorted(times)) if at <= end))


def _times(things: Sequence[Thing]) -> Iterable[float]:
    for thing in things:
        match thing:
            case Bar():
                yield from (thing.start, thing.end)
            case Place():
                yield from (time for span in thing.spans for time in span)
            case Curve() | Level() | Counter():
                yield from (point[0] for point in thing.points)
            case Token():
                yield from (point[0] for point in thing.path)
            case _:
                pass


def _short(value: Any) -> Any:
    """Six digits are finer than a pixel, and keep the message small."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    return [_short(item) for item in value] if isinstance(value, tuple) else value
