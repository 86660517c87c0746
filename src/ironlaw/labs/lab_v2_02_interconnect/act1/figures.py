"""Act I's pictures: what each wire and the ring carry with the prediction on it, the ring on its box, and time by size."""

from __future__ import annotations

import math
from functools import lru_cache

from ironlaw import kit
from ironlaw.engine.cluster.links import Box
from ironlaw.labs.lab_v2_02_interconnect.act1 import local_runs
from ironlaw.labs.lab_v2_02_interconnect.act1.ring import EXCHANGE, LARGEST, REDUCE, SEND, SENT, SMALLEST, WHAT, Setting
from ironlaw.pictures import reveal_picture
from ironlaw.pictures.ends import decades
from ironlaw.pictures.lines import lines
from ironlaw.pictures.wires import HEIGHT, WIDTH, Edge, Node, places, wires
from ironlaw.registry.interconnects import BASES
from ironlaw.registry.publications import published
from ironlaw.widget.figure import Axis, Figure, Mark, Table, mark
from ironlaw.widget.hold import hold
from ironlaw.widget.quantities import exact, format_quantity

SIZES = (*(SMALLEST * 10 ** (i / 4) for i in range(27)), LARGEST)
STOPS = [[size, size / 1e6] for size in SIZES]  # the dial counts megabytes
STEP = 50e9  # bytes per second, in which the axis of rates grows
COLOURS = {"link": "memory", "bridge": "compute", "nic": "ridge"}


def on_the_wires(setting: Setting, into: float) -> Figure:
    """`into`: the share of one step that has passed; whoever is done waits for the slowest."""
    box = setting.box
    spots = places(min(2, setting.boxes), box.devices)
    nodes = [Node(str(rank), *spot, idle=rank >= setting.ranks, hover=_about(rank, box)) for rank, spot in enumerate(spots)]
    edges = _edges(setting, into)
    kind, rate = setting.binding
    waiting = sum(edge.done is not None and edge.done >= 1 for edge in edges)
    text = (
        f"{WHAT[setting.what]} over {setting.ranks} of {box.name}: "
        + "; ".join(f"{one.source} to {one.target} over {one.kind}, {one.rate}" for one in edges)
        + f". The slowest gives {format_quantity(rate, 'B/s')}, {_basis(setting, kind)}; "
        + f"{100 * into:.0f}% into a step, {waiting} of {len(edges)} have arrived."
    )
    half = WIDTH / 2
    frames = (
        {box.name: (1.0, WIDTH - 1.0, 1.0, HEIGHT - 1.0)}
        if setting.boxes == 1
        else {"box 1": (1.0, half - 12.0, 1.0, HEIGHT - 1.0), "box 2": (half + 12.0, WIDTH - 1.0, 1.0, HEIGHT - 1.0)}
    )
    waits = {each: ", which everything waits for" if each == kind else "" for each in dict.fromkeys((*_kinds(setting), kind))}
    legend = tuple({"colour": COLOURS[each], "shape": "line", "label": setting.wire(each).name + more} for each, more in waits.items())
    title = f"Every step waits for {setting.awaited}"
    return wires(nodes, edges, title, frames=frames, text=text, note=f"{100 * into:.0f}% into a step", legend=legend)


def _kinds(setting: Setting) -> list[str]:
    if setting.what == SEND:
        return [setting.binding[0]]
    return [each.kind for each in (setting.loads if setting.what == EXCHANGE else setting.edges)]


def _basis(setting: Setting, kind: str) -> str:
    """How the rate of a wire is known: a box's fast link has what was fitted to its own timed rows, where there are some."""
    return BASES["fitted" if kind == "link" and setting.box.bus else setting.wire(kind).basis]


def _about(rank: int, box: Box) -> tuple[tuple[str, str], ...]:
    return (("device", f"rank {rank}"), ("box", str(rank // box.devices + 1)), ("group", str(rank % box.devices // box.group + 1)))


def _edges(setting: Setting, into: float) -> list[Edge]:
    """What is drawn: the ring, the one message, or what rank 0 sends to everybody."""
    if setting.what == SEND:
        pairs = [(0, setting.ranks - 1, *setting.binding)]
    elif setting.what == EXCHANGE:
        rates = {load.kind: load for load in setting.loads}
        pairs = [(0, b, kind, rates[kind].rate) for b in range(1, setting.ranks) for kind in [setting.box.edge(0, b)[0]]]
    else:
        pairs = [(edge.a, edge.b, edge.kind, edge.rate) for edge in setting.edges]
    paced, labelled, found = setting.binding, set(), []
    longest = max(load.seconds for load in setting.loads) if setting.what == EXCHANGE else 0.0
    for a, b, kind, rate in pairs:
        binding = kind == paced[0]
        text = format_quantity(rate, "B/s")
        if setting.what == EXCHANGE:
            done = into * longest / next(load.seconds for load in setting.loads if load.kind == kind)
        else:
            done = into * rate / paced[1]
        label = "" if kind in labelled else f"{setting.name(kind)} {text}"
        labelled.add(kind)
        wire = setting.wire(kind)
        hover = (
            ("this rate", _basis(setting, kind)),
            ("built for, each way", format_quantity(wire.per_direction, "B/s")),
            ("printed, both ways" if wire.directions == 2 else "by its specification", format_quantity(wire.advertised, "B/s")),
            wire.name,
        )
        found.append(Edge(str(a), str(b), setting.name(kind), text, COLOURS[kind], label, binding, done=min(1.0, done), hover=hover))
    return found


@lru_cache(maxsize=64)
def published_dots(slug: str, ranks: int, per_box: int) -> tuple[tuple[float, float], ...]:
    """(bytes, seconds) of the longest message that others timed on such a box; empty where nobody did."""
    rows = published("vidur_all_reduce").where(box=slug, ranks=ranks, per_box=per_box)
    return tuple(sorted((float(row["size"]), float(row["median"])) for row in rows))


def by_size(setting: Setting) -> Figure:
    per_box = setting.ranks if setting.boxes == 1 else setting.box.devices
    dots = published_dots(setting.box.slug, setting.ranks, per_box) if setting.what == REDUCE else ()
    series = {f"{WHAT[setting.what]}, {setting.ranks} ranks": [(size, setting.at(size).seconds) for size in SIZES]}
    own = mark(
        "point", "accent", x=setting.size, y=setting.seconds, size=8, id="point", name="as set",
        label=format_quantity(setting.seconds, "s"),
        hover=[("message", exact(setting.size, "B")), ("time", exact(setting.seconds, "s"))],
        drag=hold("size", stops=STOPS),
    )  # fmt: skip
    times = [seconds for points in (*series.values(), dots) for _, seconds in points]
    return lines(
        series, Axis("log", "message", "B", (SMALLEST, LARGEST)), Axis("log", "time", "s", decades(min(times), max(times))), "Time by size",
        measured={f"NCCL, {setting.ranks} ranks": dots} if dots else {}, measured_on=f"{setting.box.name}, Vidur", extra=[own],
        note=setting.box.name, id="by-size",
    )  # fmt: skip


def staircase(lab: kit.Lab, setting: Setting) -> Figure:
    """Every rate on one axis: links, ports, the ring as set, and the learner's own steps; the prediction stands on it."""
    box = setting.box
    rows: dict[str, tuple[float, str]] = {}
    known: dict[str, str] = {}
    for kind in ("link", "bridge", "nic"):
        wire = getattr(box, kind)
        if wire is not None and not (kind == "link" and box.group == 1):
            name = "one NIC" if kind == "nic" else setting.name(kind)
            rows[name] = (min(wire.achieved, box.bus or wire.achieved) if kind == "link" else wire.achieved, COLOURS[kind])
            known[name] = _basis(setting, kind)
    own = f"this {SENT[setting.what]}"
    rows[own] = (setting.bus, COLOURS[setting.binding[0]])  # it has the pace of the wire that it waits for, and its colour
    rows |= {name: (rate, "here") for name, rate in local_runs.steps(lab).items()}
    marks: list[Mark] = [
        mark("bar", colour, x=rate, y=name, id=name, name=name, label=format_quantity(rate, "B/s"),
             emphasis=name == own, hover=[("one direction", exact(rate, "B/s"))])
        for name, (rate, colour) in rows.items()
    ]  # fmt: skip
    option, far = lab.choice("act1"), max(rate for rate, _ in rows.values())
    if option is not None:
        said, true = 1e9 * float(option.value), 1e9 * float(lab.question("act1").answer)
        marks += reveal_picture.rules(said, true, "B/s", now=setting.bus)
        far = max(far, said, true)
    words = "; ".join(f"{name} {format_quantity(rate, 'B/s')}" for name, (rate, _) in rows.items())
    note = "; ".join(f"{name}: {basis}" for name, basis in known.items())
    table = tuple((name, format_quantity(rate, "B/s"), exact(rate, "B/s")) for name, (rate, _) in rows.items())
    return Figure(
        "staircase", f"The {SENT[setting.what]} waits for {setting.pace}",
        Axis("linear", "bytes per second, one direction", "B/s", (0.0, STEP * math.ceil(1.1 * far / STEP))),
        Axis("band", names=tuple(rows)),
        tuple(marks), f"{words}. {note}.", table=Table(("step", "rate", "exactly"), table), note=note,
    )  # fmt: skip
