"""The device over time: a row per part of the model, a bar per op or module, and a separate row for idle time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from ironlaw.engine.device.iron_law import binding
from ironlaw.engine.device.predict import Prediction
from ironlaw.engine.device.timeline import Slot
from ironlaw.engine.device.timeline import timeline as schedule
from ironlaw.pictures.theme import TERM_NAMES
from ironlaw.widget.colours import TERMS
from ironlaw.widget.figure import Axis, Figure, Mark, Table, mark
from ironlaw.widget.quantities import exact, format_quantity, share

BARS, ROWS, ENOUGH = 240, 12, 5  # bars that stay quick to draw; rows that fit a screen; parts that are worth a row each
THIN_GAP = 1 / 400  # of the whole: shorter gaps are summed up in words
IDLE, OUTSIDE, OPTIMISER = "idle", "outside any module", "optimiser"


@dataclass(frozen=True)
class Stretch:
    """Slots one after the other, drawn as one bar."""

    name: str
    slots: tuple[Slot, ...]

    @property
    def start(self) -> float:
        return self.slots[0].start

    @property
    def end(self) -> float:
        return self.slots[-1].end

    @property
    def busy(self) -> float:
        return sum(float(slot.row.seconds) for slot in self.slots)

    @property
    def inner_idle(self) -> float:
        return self.end - self.start - self.busy

    @property
    def term(self) -> str:
        """What limits it for most of its time."""
        times: dict[str, float] = dict.fromkeys(TERMS, 0.0)
        for slot in self.slots:
            row = slot.row  # on the device a launch is idle time before the bar, not part of it
            times[str(binding(row.data_s, row.compute_s, row.floor_s))] += float(row.seconds)
        return max(times, key=lambda term: times[term])


def module(name: str) -> tuple[str, ...]:
    """`layer1.0.conv1.convolution.2` -> `("layer1", "0", "conv1")`; a fused kernel belongs where it begins."""
    parts = _place(name)
    return tuple(parts[:-1]) or tuple(parts)


def _place(name: str) -> list[str]:
    parts = name.partition("…")[0].partition(":")[0].split(".")
    while len(parts) > 1 and parts[-1].isdigit():
        parts.pop()
    return parts


def _bare(name: str) -> bool:
    """Outside any module, as a backward pass is."""
    return len(_place(name)) == 1


def stretches(slots: Sequence[Slot], most: int = BARS) -> tuple[Stretch, ...]:
    """Op by op where there are few; else by module, as finely as `most` allows, and outside modules by equal counts."""
    if len(slots) <= most:
        return tuple(Stretch(slot.row.name, (slot,)) for slot in slots)
    bare = sum(_bare(slot.row.name) for slot in slots)
    size = max(1, -(-2 * bare // most))
    for depth in range(max(len(module(slot.row.name)) for slot in slots), 0, -1):
        runs = [list(run) for _, run in groupby(slots, key=_Key(depth, size))]
        if len(runs) <= most:
            return tuple(Stretch(_name(run, depth), tuple(run)) for run in runs)
    size = -(-len(slots) // most)
    return tuple(Stretch(_name(slots[i : i + size], 0), tuple(slots[i : i + size])) for i in range(0, len(slots), size))


class _Key:
    """What the neighbours drawn as one bar share: their module, or `size` of them in a row where they have none."""

    def __init__(self, depth: int, size: int) -> None:
        self.depth, self.size, self.count = depth, size, 0

    def __call__(self, slot: Slot) -> tuple[object, ...]:
        name = slot.row.name
        if not _bare(name):
            return module(name)[: self.depth]
        self.count += 1
        return (_apart(name), (self.count - 1) // self.size) if _apart(name) == OUTSIDE else (name,)


def _name(run: Sequence[Slot], depth: int) -> str:
    first, last = run[0].row.name, run[-1].row.name
    if depth and not _bare(first):
        return ".".join(module(first)[:depth])
    return first if first == last else f"{first} – {last}"


def _apart(name: str) -> str:
    return OPTIMISER if name.startswith(("_foreach", "_fused_adam")) else OUTSIDE


def parts(names: Sequence[str], most: int = ROWS) -> dict[str, str]:
    """op name -> its row. A module that holds much of the model is split into its own; siblings share a row where they are too many.

    Where there are modules, what is outside them has one row, and an optimiser's step another.
    """
    bare = {name for name in names if _bare(name)}
    apart = len(bare) > ENOUGH and len(bare) < len(names)
    paths = [(_apart(name),) if apart and name in bare else module(name) for name in names]
    head = {path: path[:1] for path in paths}
    while len(set(head.values())) < most:
        largest, count = (
            Counter(head[path] for path in paths if len(path) > len(head[path])).most_common(1)[0] if _deeper(head) else ((), 0)
        )
        if count < len(paths) / ENOUGH:
            break
        head |= {path: path[: len(largest) + 1] for path in head if head[path] == largest}
    heads = list(dict.fromkeys(head[path] for path in paths))
    row: dict[tuple[str, ...], str] = {}
    alone = [head for head in heads if head in ((OUTSIDE,), (OPTIMISER,))]
    chunks: list[list[tuple[str, ...]]] = [[head] for head in alone]
    chunks += _chunks([head for head in heads if head not in alone], most - len(alone))
    for chunk in chunks:
        first, last = ".".join(chunk[0]), ".".join(chunk[-1])
        row |= dict.fromkeys(chunk, first if first == last else f"{first} – {last}")
    return {name: row[head[path]] for name, path in zip(names, paths, strict=True)}


def _deeper(head: dict[tuple[str, ...], tuple[str, ...]]) -> bool:
    return any(len(path) > len(short) for path, short in head.items())


def _chunks(heads: list[tuple[str, ...]], most: int) -> list[list[tuple[str, ...]]]:
    """Neighbours under one parent together, as few as bring the rows down to `most`; any neighbours where that is not enough."""
    if len(heads) <= most:
        return [[head] for head in heads]
    runs = [list(run) for _, run in groupby(heads, key=lambda head: head[:-1])]
    for size in range(2, len(heads) + 1):
        chunks = [run[i : i + size] for run in runs for i in range(0, len(run), size)]
        if len(chunks) <= most:
            return chunks
    size = -(-len(heads) // most)
    return [heads[i : i + size] for i in range(0, len(heads), size)]


def timeline(prediction: Prediction, id: str = "timeline") -> Figure:
    """`prediction` is a single run, not a sweep."""
    slots = schedule(prediction)
    whole, busy = float(prediction.seconds), float(prediction.busy_s)
    row_of = parts([slot.row.name for slot in slots])
    bars = stretches(slots)
    gaps = [slot for slot in slots if slot.idle > 0]
    wide = [slot for slot in gaps if slot.idle >= THIN_GAP * whole][:BARS]
    rows = tuple(dict.fromkeys(row_of.values()))
    marks = [
        *(_bar(bar, row_of[bar.slots[0].row.name], whole, i) for i, bar in enumerate(bars)),
        *(_gap(slot, i) for i, slot in enumerate(wide)),
    ]
    names = (*rows, IDLE) if wide else rows
    used = Counter(bar.term for bar in bars)
    legend: list[dict[str, Any]] = [{"colour": term, "label": f"{TERM_NAMES[term]}-bound"} for term in TERMS if used[term]]
    legend += [{"colour": "muted", "pattern": True, "label": "device idle"}] if wide else []
    note = f"{format_quantity(whole, 's')}, the device busy {share(busy, whole)}"
    note += "" if len(bars) == len(slots) else f"; {len(slots):,} operators as {len(bars):,} stretches"
    return Figure(
        id, "Device timeline", Axis("linear", "time", "s", (0.0, whole)), Axis("band", names=names), tuple(marks),
        _words(prediction, slots, gaps, wide), _table(slots, row_of, whole), note, tuple(legend), {"stacked": True},
    )  # fmt: skip


def _bar(bar: Stretch, row: str, whole: float, i: int) -> Mark:
    hover = [("starts", format_quantity(bar.start, "s")), ("busy", exact(bar.busy, "s")), ("of the run", share(bar.busy, whole))]
    hover.append(("bottleneck", TERM_NAMES[bar.term]))
    if len(bar.slots) > 1:
        hover += [("operators", f"{len(bar.slots):,}"), ("idle inside", format_quantity(bar.inner_idle, "s"))]
    else:
        hover.append(("kind", bar.slots[0].row.kind))
    return mark("bar", bar.term, x0=bar.start, x1=bar.end, y=row, id=f"bar-{i}", name=bar.name, hover=hover)


def _gap(slot: Slot, i: int) -> Mark:
    hover = [("idle", exact(slot.idle, "s")), ("before", slot.row.name), ("from", format_quantity(slot.start - slot.idle, "s"))]
    return mark("bar", "muted", x0=slot.start - slot.idle, x1=slot.start, y=IDLE, id=f"gap-{i}", name="idle", pattern=True, hover=hover)


def _words(prediction: Prediction, slots: Sequence[Slot], gaps: Sequence[Slot], wide: Sequence[Slot]) -> str:
    whole, busy = float(prediction.seconds), float(prediction.busy_s)
    text = f"{len(slots):,} operators in {format_quantity(whole, 's')} on {prediction.hardware.name}:"
    text += f" busy {format_quantity(busy, 's')}, {share(busy, whole)}"
    if not gaps:
        return f"{text}; never idle."
    longest = max(gaps, key=lambda slot: slot.idle)
    idle = format_quantity(longest.idle, "s")
    text += f"; idle once, {idle}" if len(gaps) == 1 else f"; idle {len(gaps):,} times, at most {idle}"
    text += f" before {longest.row.name}"
    thin = len(gaps) - len(wide)
    undrawn = sum(slot.idle for slot in gaps) - sum(slot.idle for slot in wide)
    return f"{text}; {thin:,} gaps are too short to draw, together {format_quantity(undrawn, 's')}." if thin else f"{text}."


def _table(slots: Sequence[Slot], row_of: dict[str, str], whole: float) -> Table:
    slots_of: dict[str, list[Slot]] = {}
    for slot in slots:
        slots_of.setdefault(row_of[slot.row.name], []).append(slot)
    rows = []
    for name, inside in slots_of.items():
        busy, idle = sum(float(s.row.seconds) for s in inside), sum(s.idle for s in inside)
        rows.append(
            (
                name,
                f"{len(inside):,}",
                format_quantity(inside[0].start, "s"),
                format_quantity(inside[-1].end, "s"),
                format_quantity(busy, "s"),
                share(busy, whole),
                format_quantity(idle, "s"),
            )
        )
    return Table(("part", "operators", "from", "to", "busy", "of the run", "idle before its operators"), tuple(rows))
