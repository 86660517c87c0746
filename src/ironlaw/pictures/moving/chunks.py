"""Chunks of a buffer on their way between ranks, step by step, and who has the whole sum; several algorithms on one clock."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ironlaw.engine.cluster.schedule_replay import addends
from ironlaw.engine.cluster.schedules import Schedule
from ironlaw.pictures.spacetime import ADDED, KEPT
from ironlaw.widget.motion import Counter, Motion, Thing, Token, Words
from ironlaw.widget.quantities import format_quantity

HEAD, TALL = 40.0, 150.0  # px
GAP = 0.08  # of the width between two
LARGEST, LEAST, RANK = 9.0, 2.5, 7.0  # px: a dot's area is its bytes; a rank
LEGEND = (
    {"colour": ADDED, "shape": "diamond", "label": "on its way, to be added"},
    {"colour": KEPT, "shape": "diamond", "label": "the sum, on its way"},
    {"colour": "good", "shape": "circle", "label": "has the whole sum"},
)


@dataclass(frozen=True)
class Played:
    """An algorithm as it runs: `ends[i]` is when step i is over; a switch is the rank after the last."""

    name: str
    ranks: int
    schedule: Schedule
    ends: tuple[float, ...]
    switch: bool = False

    @property
    def seconds(self) -> float:
        return self.ends[-1]

    def whole(self, rank: int) -> float:
        """When a rank has all of the sum."""
        for over in range(len(self.ends) + 1):
            if all(count == self.ranks for count in addends(self.schedule, self.ranks, over)[rank]):
                return self.ends[over - 1] if over else 0.0
        return self.seconds


def chunks(played: Sequence[Played], size: float, id: str = "chunks") -> Motion:
    """`size`: bytes of the buffer."""
    end = max(each.seconds for each in played)
    wide = (1 - GAP * (len(played) - 1)) / len(played)
    things: list[Thing] = []
    for i, each in enumerate(played):
        things += _panel(each, i * (wide + GAP), wide, end, size)
    quick = min(played, key=lambda each: each.seconds)
    slow = max(played, key=lambda each: each.seconds)
    title = f"{quick.name.capitalize()} done after {format_quantity(quick.seconds, 's')}"
    title += f", {slow.name} after {format_quantity(slow.seconds, 's')}" if slow is not quick else ""
    return Motion(
        id, title, end, HEAD + TALL + 6, tuple(things), tuple(_events(played, size)),
        f"{title}, for {format_quantity(size, 'B')} over {played[0].ranks} ranks.", film=False, begins=0.3 * quick.seconds, seconds=12.0,
        legend=LEGEND, note=f"{format_quantity(size, 'B')} on {played[0].ranks} ranks; a dot's area is its share of the bytes",
    )  # fmt: skip


def _spots(each: Played, left: float, wide: float) -> list[tuple[float, float]]:
    """Round an ellipse, the first at the top; a switch in the middle."""
    middle = HEAD + TALL / 2
    turns = [2 * math.pi * rank / each.ranks for rank in range(each.ranks)]
    spots = [(left + wide * (0.5 + 0.42 * math.sin(turn)), middle - 0.36 * TALL * math.cos(turn)) for turn in turns]
    return [*spots, (left + wide / 2, middle)]


def _panel(each: Played, left: float, wide: float, end: float, size: float) -> Iterator[Thing]:
    spots = _spots(each, left, wide)
    yield Words(left, 14, each.name.capitalize(), strong=True)
    for rank in range(each.ranks + each.switch):
        x, y = spots[rank]
        yield Token(((0.0, x, y), (end, x, y)), "ridge", "square" if rank == each.ranks else "circle", RANK)
        if rank < each.ranks:
            yield Words(x, y - 11 if y < HEAD + TALL / 2 + 1 else y + 22, str(rank), anchor="middle")
            yield Token(((each.whole(rank), x, y), (end, x, y)), "good", "circle", RANK)
    begins = (0.0, *each.ends)
    for i, step in enumerate(each.schedule.steps):
        for send in step:
            radius = max(LEAST, LARGEST * math.sqrt(len(send.parts) / each.schedule.parts))
            path = ((begins[i], *spots[send.source]), (each.ends[i], *spots[send.target]))
            yield Token(path, ADDED if send.add else KEPT, "diamond", radius)
    steps = ((0.0, 1.0), *((at, float(i + 2)) for i, at in enumerate(each.ends[:-1])))
    yield Counter(f"step # of {len(each.ends)}", steps, steps=True, x=left, y=31)


def _events(played: Sequence[Played], size: float) -> list[tuple[float, str]]:
    told = []
    for each in played:
        begins = (0.0, *each.ends)
        for i, step in enumerate(each.schedule.steps):
            sent = max(len(send.parts) for send in step) * size / each.schedule.parts
            bytes_each, takes = format_quantity(sent, "B"), format_quantity(each.ends[i] - begins[i], "s")
            many = f"one message of {bytes_each}" if len(step) == 1 else f"{len(step)} messages of {bytes_each} at once"
            told.append((begins[i], f"{each.name.capitalize()}, step {i + 1} of {len(each.ends)}, sends {many} and takes {takes}."))
        told.append((each.seconds, f"{each.name.capitalize()} done after {format_quantity(each.seconds, 's')}. Every rank has the sum."))
    return sorted(told, key=lambda event: event[0])
