"""Act I's pictures: time by size with the crossing, who sends when, and bus beside algorithm bandwidth."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise

from ironlaw import kit
from ironlaw.labs.lab_v2_06_collectives.act1 import local_runs
from ironlaw.labs.lab_v2_06_collectives.act1.playback import playback
from ironlaw.labs.lab_v2_06_collectives.act1.setting import LARGEST, NAMES, SMALLEST, Setting
from ironlaw.labs.lab_v2_06_collectives.wires_of_context import BOX, NVLINK
from ironlaw.pictures import reveal_picture
from ironlaw.pictures.lines import COLOURS, lines
from ironlaw.pictures.spacetime import spacetime
from ironlaw.registry.publications import published
from ironlaw.widget.figure import Axis, Figure, Mark, mark
from ironlaw.widget.hold import hold
from ironlaw.widget.quantities import exact, format_quantity, share

SIZES = (*(SMALLEST * 10 ** (i / 5) for i in range(36)), LARGEST)
STOPS = [[size, size / 1e6] for size in SIZES]  # the dial counts megabytes
TIMES = (1e-6, 1e1)
NEVER = 1e12  # a message that nobody sends: "never"
TIMED = 8  # ranks of the published rows


def by_size(lab: kit.Lab, setting: Setting) -> Figure:
    """Two algorithms, or all, over the message; shaded by the faster one; what was predicted and what it is stand on it."""
    series = {NAMES[name]: _held([(size, setting.seconds(name, size)) for size in SIZES]) for name in (setting.first, setting.second)}
    extra = [*_winners(setting), *_others(setting), *_reveal(lab), *_crossing(setting), _own(setting)]
    dots = published_dots() if lab.current_context.slug == NVLINK and setting.wires.ranks == TIMED else ()
    return lines(
        series, Axis("log", "message", "B", (SMALLEST, LARGEST)), Axis("log", "time", "s", TIMES), _title(setting),
        measured={"ring by NCCL": dots} if dots else {}, measured_on="DGX H100, Vidur", extra=extra, local=local_runs.dots(lab, setting),
        note=_note(setting), id="by-size",
    )  # fmt: skip


def _title(setting: Setting) -> str:
    found = setting.crossing
    if found is not None:
        return f"From {format_quantity(found[0], 'B')} on, the {NAMES[found[1]]} is faster"
    if setting.first == setting.second:
        return f"The {NAMES[setting.first]} by message size"
    faster = min((setting.first, setting.second), key=lambda name: setting.seconds(name, LARGEST))
    return f"The {NAMES[faster]} is faster at every size"


def _held(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points within the time axis; one at its end if there is none."""
    inside = [(size, seconds) for size, seconds in points if TIMES[0] <= seconds <= TIMES[1]]
    return inside or [(points[0][0], TIMES[1])]


def _note(setting: Setting) -> str:
    w = setting.wires
    return f"{w.ranks:,} ranks, {format_quantity(w.alpha, 's')} per step, {format_quantity(w.beta, 'B/s')}"


def _others(setting: Setting) -> list[Mark]:
    return [
        mark("line", "muted", points=_held([(size, setting.seconds(name, size)) for size in SIZES]), id=f"other-{name}", name=NAMES[name],
             label=NAMES[name], along=True)
        for name in setting.shown if name not in (setting.first, setting.second)
    ]  # fmt: skip


def _winners(setting: Setting) -> list[Mark]:
    """A strip for each stretch of sizes with one winner."""
    edges = [(SMALLEST, setting.winner(SMALLEST))]
    for before, size in pairwise(SIZES):
        winner = setting.winner(size)
        if winner != edges[-1][1]:
            edges.append((_edge(setting, before, size), winner))
    ends = [*(at for at, _ in edges[1:]), LARGEST]
    return [
        mark("area", _colour(setting, name), x0=low, x1=high, y0=TIMES[0], y1=TIMES[1], id=f"wins-{name}",
             name=f"{NAMES[name]} is fastest", label=NAMES[name] if math.log10(high / low) > 1.2 else "",
             hover=[("fastest", NAMES[name]), ("from", format_quantity(low, "B")), ("to", format_quantity(high, "B"))])
        for (low, name), high in zip(edges, ends, strict=True)
    ]  # fmt: skip


def _colour(setting: Setting, name: str) -> str:
    """The colour of an algorithm's line."""
    return COLOURS[0] if name == setting.first else COLOURS[1] if name == setting.second else "ridge"


def _edge(setting: Setting, low: float, high: float) -> float:
    before = setting.winner(low)
    for _ in range(12):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if setting.winner(middle) == before else (low, middle)
    return high


def _crossing(setting: Setting) -> list[Mark]:
    found = setting.crossing
    if found is None or not SMALLEST <= found[0] <= LARGEST:
        return []
    at, winner = found
    seconds = setting.seconds(winner, at)
    hover = [("they cross at", exact(at, "B")), ("both take", exact(seconds, "s")), ("from there on", NAMES[winner])]
    # the title and the truth's mark say where: beside the point that can be dragged a figure would seem to be that one's
    return [mark("point", "overhead", x=at, y=seconds, size=7, shape="diamond", id="crossing", name="they cross", hover=hover)]


def _reveal(lab: kit.Lab) -> list[Mark]:
    option = lab.choice("act1")
    if option is None:
        return []
    truth = float(lab.question("act1").answer)
    said, true = reveal_picture.rules(min(float(option.value), LARGEST), truth, "B")
    if float(option.value) >= NEVER:
        said = mark("rule", "accent", x=LARGEST, role="prediction", id="prediction", name="your prediction", label="you said never",
                    hover=[("your prediction", "never")])  # fmt: skip
    return [said, true]


def _own(setting: Setting) -> Mark:
    seconds = min(max(setting.seconds(setting.first), TIMES[0]), TIMES[1])
    return mark(
        "point", "accent", x=setting.size, y=seconds, size=8, id="point", name="as set",
        hover=[("message", exact(setting.size, "B")), (NAMES[setting.first], exact(setting.seconds(setting.first), "s"))],
        drag=hold("size", stops=STOPS),
    )  # fmt: skip


@lru_cache(maxsize=1)
def published_dots() -> tuple[tuple[float, float], ...]:
    """(bytes, seconds) as Vidur's authors timed eight H100, at three sizes."""
    rows = published("vidur_by_size").where(box=BOX, ranks=TIMED)
    return tuple((float(row["size"]), float(row["median"])) for row in rows)


def over_time(setting: Setting, into: float) -> Figure:
    """The first algorithm; the axis is as long as the slower of the two."""
    plays = [playback(setting, name) for name in (setting.first, setting.second)]
    first, whole = plays[0], max(play.seconds for play in plays)
    note = f"{first.ranks} ranks, {share(first.seconds, whole)} of the slower one's {format_quantity(whole, 's')}"
    title = f"The {NAMES[first.name]} takes {format_quantity(first.seconds, 's')}"
    return spacetime(
        first.schedule,
        first.ends,
        first.labels,
        first.size,
        title,
        whole=whole,
        now=into * first.seconds,
        drag=hold("into", per=first.seconds / whole),
        note=note,
        id="spacetime",
    )
