"""A model that one device does not hold: its ops cut into stages, one a device, that run one after the other.

A pass takes as long as on one device that held it all, and the transfers between. With a pass under way in each stage, one ends whenever
the slowest stage does. What a run of ops needs grows with the run, so stages that are filled one after the other are the fewest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from ironlaw.engine.cluster.links import Box, transfer
from ironlaw.engine.device.memory import homes, live_profile
from ironlaw.engine.device.prediction import Prediction
from ironlaw.engine.device.types import Graph

KEPT = ("weight", "buffer", "cache")  # roles of what stays on its device from pass to pass
HALVINGS = 12  # of the slowest stage's time while stages are made even
NEAR = 48  # ops that a cut may move: about a layer
SLACK = 0.05  # by which the slowest stage may take longer where a cut then sends less


@dataclass(frozen=True, slots=True)
class Stage:
    """Ops `first` to `last` − 1 on one device. `bytes`: what it holds at most; `sends`: what goes on to the next one."""

    first: int
    last: int
    bytes: float
    seconds: float
    sends: float = 0.0


@dataclass(frozen=True, slots=True)
class Group:
    """The fewest devices that hold a model, with a stage each. `box`: what joins them; without one the transfers are not counted."""

    stages: tuple[Stage, ...]
    hops: tuple[float, ...]  # seconds of each transfer
    box: Box | None

    @property
    def devices(self) -> int:
        return len(self.stages)

    @property
    def seconds(self) -> float:
        """One pass, from the first stage to the last."""
        return sum(stage.seconds for stage in self.stages) + sum(self.hops)

    @property
    def interval(self) -> float:
        """Seconds between the ends of two passes, with one under way in each stage. A transfer runs beside the next pass."""
        return max(stage.seconds for stage in self.stages)


def smallest_group(p: Prediction, box: Box | None = None) -> Group | None:
    """The fewest devices like this one, as even as they can be; None where one op alone is too large."""
    usable = float(p.memory.usable)
    needs = Needs(p)
    fewest = needs.cut(usable, float("inf"))
    if fewest is None:
        return None
    low, high = 0.0, sum(needs.seconds)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        even = needs.cut(usable, middle)
        if even is None or len(even) > len(fewest):
            low = middle
        else:
            fewest, high = even, middle
    stages = needs.thinned(fewest, usable)
    return Group(stages, tuple(_hops(stages, box)) if box else (), box)


def _hops(stages: tuple[Stage, ...], box: Box) -> Iterator[float]:
    for i, (stage, _) in enumerate(pairwise(stages)):
        kind, wire = box.edge(i, i + 1)
        yield float(transfer(stage.sends, wire, box.network_start if kind == "nic" else box.start))


class Needs:
    """What each op adds to a stage: seconds, what it keeps, what is alive while it runs, what crosses a cut behind it."""

    def __init__(self, p: Prediction) -> None:
        graph = p.graph
        busy = sum(float(row.seconds) for row in p.ops)
        wall = float(p.seconds)
        # where the host sets the pace, a stage has the share of the wall time that its kernels have of theirs
        self.seconds = [float(row.seconds) / busy * wall if busy else 0.0 for row in p.ops]
        self.kept = [{t.name: float(t.bytes) for t in (*op.inputs, *op.outputs) if t.role in KEPT} for op in graph.ops]
        self.live = [float(live) for live in live_profile(graph)[1:]]
        self.crossing = _crossing(graph)

    def cut(self, room: float, seconds: float) -> list[tuple[int, int]] | None:
        """Runs of ops, each filled as far as memory and time allow; None where a single op exceeds them."""
        runs: list[tuple[int, int]] = []
        first, kept, held, live, spent = 0, set[str](), 0.0, 0.0, 0.0
        for i, mine in enumerate(self.kept):
            more = sum(size for name, size in mine.items() if name not in kept)
            fits = held + more + max(live, self.live[i]) <= room and spent + self.seconds[i] <= seconds
            if not fits:
                if sum(mine.values()) + self.live[i] > room or self.seconds[i] > seconds:
                    return None
                runs.append((first, i))
                first, kept, held, live, spent, more = i, set[str](), 0.0, 0.0, 0.0, sum(mine.values())
            kept.update(mine)
            held, live, spent = held + more, max(live, self.live[i]), spent + self.seconds[i]
        return [*runs, (first, len(self.kept))]

    def thinned(self, runs: list[tuple[int, int]], room: float) -> tuple[Stage, ...]:
        """The stages of these runs, each cut moved a little to where the least is sent on: between layers rather than inside one."""
        stages = [self.stage(first, last) for first, last in runs]
        limit = (1.0 + SLACK) * max(stage.seconds for stage in stages)

        for i in range(len(stages) - 1):
            first, even, last = stages[i].first, stages[i].last, stages[i + 1].last
            near = range(max(first + 1, even - NEAR), min(last, even + NEAR + 1))
            for at in sorted(near, key=self.crossing.__getitem__):
                two = self.stage(first, at), self.stage(at, last)
                if all(each.bytes <= room and each.seconds <= limit for each in two):
                    stages[i : i + 2] = two
                    break
        return tuple(stages)

    def stage(self, first: int, last: int) -> Stage:
        kept = {name: size for mine in self.kept[first:last] for name, size in mine.items()}
        needs = sum(kept.values()) + max(self.live[first:last])
        return Stage(first, last, needs, sum(self.seconds[first:last]), self.crossing[last])


def _crossing(graph: Graph) -> list[float]:
    """Bytes that are made before op i and read by it or later, for each i: what a cut there sends on. Nothing after the last op."""
    home = homes(graph)
    starts = {t.name: 0 for t in graph.tensors.values() if t.role == "input"}
    read: dict[str, int] = {}
    for i, op in enumerate(graph.ops):
        read.update({home.get(t.name, t.name): i for t in op.inputs})
        starts.update({t.name: i + 1 for t in op.outputs if t.role == "activation" and t.name not in home})
    changes = [0.0] * (len(graph.ops) + 2)
    for name, start in starts.items():
        if read.get(name, -1) >= start:
            size = float(graph.tensors[name].bytes)
            changes[start] += size
            changes[read[name] + 1] -= size
    sums, alive = [], 0.0
    for change in changes[:-1]:
        alive += change
        sums.append(alive)
    return sums
