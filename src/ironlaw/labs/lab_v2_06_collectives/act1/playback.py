"""An algorithm played on eight ranks at most: which step it is in, what is on each wire, and who has the sum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ironlaw.engine.cluster.schedule_replay import Inside, addends, step_ends
from ironlaw.engine.cluster.schedules import Schedule, Step, steps
from ironlaw.labs.lab_v2_06_collectives.act1.setting import NAMES, Setting
from ironlaw.pictures.spacetime import ADDED, KEPT, LEGEND
from ironlaw.pictures.wires import HEIGHT, WIDTH, Edge, Node, places, wires
from ironlaw.widget.figure import Figure
from ironlaw.widget.quantities import format_quantity

MOST = 8  # ranks that one picture has room for
NODE = 4  # of a node where there are two
SWITCH = "switch"


@dataclass(frozen=True)
class Playback:
    name: str
    ranks: int
    per_node: int
    schedule: Schedule
    ends: tuple[float, ...]
    size: float

    @property
    def seconds(self) -> float:
        return self.ends[-1]

    @property
    def part(self) -> float:
        return self.size / self.schedule.parts

    @property
    def labels(self) -> list[str]:
        return [*map(str, range(self.ranks)), *([SWITCH] if self.name == "in_network" else [])]

    def at(self, into: float) -> tuple[int, float]:
        """(steps that are over, share of the next one) after a share of the whole."""
        now = into * self.seconds
        over = sum(end <= now * (1 + 1e-12) for end in self.ends)
        if over == len(self.ends):
            return over, 0.0
        begin = self.ends[over - 1] if over else 0.0
        return over, max(0.0, now - begin) / (self.ends[over] - begin)

    def whole_sums(self, over: int) -> set[int]:
        """Ranks that hold all of the sum."""
        held = addends(self.schedule, self.ranks, over)
        return {rank for rank, parts in enumerate(held) if all(count == self.ranks for count in parts)}


def playback(setting: Setting, name: str) -> Playback:
    """The algorithm on as many of the ranks as there is room for, with the message and the wires as set."""
    w = setting.wires
    ranks = min(w.ranks, MOST)
    if name == "rabenseifner":
        ranks = 2 ** int(math.log2(ranks))
    per_node = (NODE if w.ranks > w.per_node and ranks == MOST else w.per_node) if name == "two_level" and w.per_node > 1 else 1
    per_node = math.gcd(per_node, ranks)
    inside = Inside(per_node, setting.further["alpha_inner"], setting.further["beta_inner"]) if per_node > 1 else None
    schedule, ends = _ends(name, ranks, per_node, size=setting.size, alpha=w.alpha, beta=w.beta, inside=inside)
    return Playback(name, ranks, per_node, schedule, ends, setting.size)


@lru_cache(maxsize=64)
def _ends(
    name: str, ranks: int, per_node: int, size: float, alpha: float, beta: float, inside: Inside | None
) -> tuple[Schedule, tuple[float, ...]]:  # fmt: skip
    schedule = steps(name, ranks, per_node)
    return schedule, step_ends(schedule, size, alpha, beta, switch=ranks if name == "in_network" else None, inside=inside)


def drawn(play: Playback, into: float) -> Figure:
    """The step that goes on after a share of the whole, on wires."""
    over, share = play.at(into)
    step = play.schedule.steps[over] if over < len(play.schedule.steps) else ()
    done = play.whole_sums(over)
    nodes, edges = _nodes(play, step, done), _edges(play, step, share)
    where = f"step {over + 1} of {len(play.ends)}" if step else f"all {len(play.ends)} steps are over"
    sent = [len(send.parts) * play.part for send in step]
    load = f"; {len(step)} messages of {format_quantity(max(sent), 'B')}, {format_quantity(sum(sent), 'B')} on the wires" if sent else ""
    text = (
        f"{NAMES[play.name]} over {play.ranks} ranks, {where}{load}. "
        + "".join(f"{edge.source} to {edge.target} {edge.rate}; " for edge in edges)
        + f"{len(done)} of {play.ranks} ranks hold the whole sum."
    )
    return wires(
        nodes, edges, f"The {NAMES[play.name]} on {play.ranks} ranks, step by step", frames=_frames(play), text=text, note=where + load,
        id="steps", carries="bytes",
        legend=(*LEGEND, {"colour": "good", "shape": "circle", "label": "has the whole sum"}),
    )  # fmt: skip


def _nodes(play: Playback, step: Step, done: set[int]) -> list[Node]:
    spots = places(2, play.per_node) if 1 < play.per_node < play.ranks else places(1, play.ranks)
    active = {rank for send in step for rank in (send.source, send.target)}
    nodes = [
        Node(str(rank), *spot, idle=rank not in active and rank not in done, colour="good" if rank in done else "ink",
             hover=(("rank", str(rank)), ("in this step", "sends or takes in" if rank in active else "waits"),
                    ("the sum", "all of it" if rank in done else "not yet")))
        for rank, spot in enumerate(spots)
    ]  # fmt: skip
    return [*nodes, Node(SWITCH, WIDTH / 2, HEIGHT / 2)] if play.name == "in_network" else nodes


def _edges(play: Playback, step: Step, share: float) -> list[Edge]:
    labels, edges, written = play.labels, [], set()
    for send in step:
        size, colour = format_quantity(len(send.parts) * play.part, "B"), ADDED if send.add else KEPT
        label = "" if size in written or _crowded(play, step) else size
        written.add(size)
        edges.append(
            Edge(labels[send.source], labels[send.target], _parts(send.parts, play.schedule.parts), size, colour, label, done=share)
        )
    return edges


def _crowded(play: Playback, step: Step) -> bool:
    """Whether lines cross in the middle, where a figure would lie on them."""
    return play.name in ("in_network",) and len(step) > 1


def _parts(parts: Sequence[int], of: int) -> str:
    if of == 1:
        return "the whole buffer"
    return f"part {parts[0] + 1} of {of}" if len(parts) == 1 else f"{len(parts)} parts of {of}"


def _frames(play: Playback) -> dict[str, tuple[float, float, float, float]]:
    if not 1 < play.per_node < play.ranks:
        return {}
    half = WIDTH / 2
    return {"node 1": (1.0, half - 12.0, 1.0, HEIGHT - 1.0), "node 2": (half + 12.0, WIDTH - 1.0, 1.0, HEIGHT - 1.0)}
