"""Act I's pictures: the fabric in the colours of its load, seconds of every tier, and who notices the thin spine."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.engine.cluster.topology import Tier, sides
from ironlaw.labs.lab_v2_03_fabric.act1.setting import KINDS, LOOPBACK, RAILS, TORUS, Setting
from ironlaw.pictures import fabric as drawing
from ironlaw.pictures import reveal_picture
from ironlaw.pictures.ends import up_to
from ironlaw.units import percent
from ironlaw.widget.figure import Axis, Figure, Mark, Table, mark
from ironlaw.widget.quantities import exact, format_quantity

RINGS = ("ring", "all_gather")  # each host sends to the next one
TIERS = {"ports": "out of a host", "leaf": "out of a leaf", "pod": "out of a pod", "half": "across the middle"}


def kinds(setting: Setting) -> dict[str, str]:
    """What can be sent here: nodes of eight are for two-level sums, and a torus and this machine have none."""
    return {kind: name for kind, name in KINDS.items() if kind != "two_level" or setting.shape not in (TORUS, LOOPBACK)}


def fabric(setting: Setting) -> Figure:
    built = setting.fabric
    across = format_quantity(built.across, "B/s")
    loads = setting.uplink_loads()
    busiest = max((max(tier) for tier in loads), default=0.0)
    text = (
        f"{KINDS[setting.kind]} over {built.hosts:,} hosts: the busiest uplink is offered {percent(busiest)} of what it carries;"
        f" {across} fit across the middle."
    )
    ports = setting.port_seconds / setting.seconds
    title = "Every link is as full as the ports" if setting.shape == TORUS else f"The busiest uplink is {percent(busiest)} full"
    if busiest > drawing.FULL:
        title = f"The busiest uplink is offered {percent(busiest)} of what it carries"
    cut = f"the middle: {across}"
    if setting.shape == TORUS:
        longest = max(sides(setting.hosts))
        along = [max(1.0, loads[0][0] * side / longest) for side in sides(setting.hosts)]
        return drawing.torus(sides(setting.hosts), along, title, text=text, cut=cut)
    tiers = [
        [drawing.Subtree(f"{tier.name} {i + 1}", load, _about(tier), ports) for i, load in enumerate(each)]
        for tier, each in zip(built.tiers, loads, strict=True)
    ]
    top = "one wire" if setting.shape == LOOPBACK else "top tier" if len(tiers) == 2 else "spine"
    note = "one plane of eight" if setting.shape == RAILS else ""
    ring = "the ring" if setting.kind in RINGS and not setting.scattered and setting.shape != LOOPBACK else ""
    return drawing.tree(tiers, title, top=top, text=text, cut=cut, note=note, ring=ring)


def _about(tier: Tier) -> tuple[tuple[str, str], ...]:
    return (("hosts", f"{tier.hosts:,}"), ("carries", format_quantity(tier.uplink, "B/s")))


def by_tier(setting: Setting) -> Figure:
    rows = {TIERS[name]: each for name, each in setting.tier_seconds.items()}
    slowest = TIERS[setting.busiest]
    marks, table = [], []
    for name, (seconds, size, rate) in rows.items():
        took, sent, carried = format_quantity(seconds, "s"), format_quantity(size, "B"), format_quantity(rate, "B/s")
        hover = [("busiest link", sent), ("it carries", carried), ("takes", exact(seconds, "s"))]
        marks.append(
            mark("bar", "overhead" if name == slowest else "memory", x=seconds, y=name, id=name, name=name, label=took, hover=hover)
        )
        table.append((name, sent, carried, took, "the slowest" if name == slowest else ""))
    far = max(seconds for seconds, _, _ in rows.values())
    words = "; ".join(f"{name} {took}" for name, _, _, took, _ in table)
    return Figure(
        "by-tier", f"The bottleneck is the way {slowest}",
        Axis("linear", "bytes over rate, busiest link", "s", (0.0, up_to(1.2 * far))),
        Axis("band", names=tuple(rows)),
        tuple(marks), f"{words}. The bottleneck is the way {slowest}.",
        table=Table(("where", "bytes", "bytes per second", "takes", ""), tuple(table)), note=KINDS[setting.kind],
    )  # fmt: skip


def factors(lab: kit.Lab, setting: Setting) -> Figure:
    """Every collective at the same setting, over its time on a fabric that holds nobody up; the prediction stands on it."""
    rows = {name: setting.at(kind=kind).factor for kind, name in kinds(setting).items()}
    marks: list[Mark] = [
        mark("bar", "overhead" if factor > 1 + 1e-9 else "memory", x=factor, y=name, id=name, name=name, label=format_quantity(factor, "×"),
             emphasis=name == KINDS[setting.kind], hover=[("relative to its ports alone", exact(factor, "×"))])
        for name, factor in rows.items()
    ]  # fmt: skip
    option, far = lab.choice("act1"), max(rows.values())
    if option is not None:
        marks += reveal_picture.rules(float(option.value), float(lab.question("act1").answer), "×")
        far = max(far, float(option.value))
    words = "; ".join(f"{name} {format_quantity(factor, '×')}" for name, factor in rows.items())
    table = tuple((name, format_quantity(factor, "×"), exact(factor, "×")) for name, factor in rows.items())
    own = setting.factor
    what = KINDS[setting.kind]
    title = f"The {what} takes {format_quantity(own, '×')} as long" if own > 1 + 1e-9 else f"The {what} does not notice the spine"
    return Figure(
        "factors", title, Axis("linear", "time, relative to the ports alone", "×", (0.0, up_to(1.1 * far))),
        Axis("band", names=tuple(rows)),
        tuple(marks), f"{words}.", table=Table(("traffic", "times as long", "exactly"), table),
    )  # fmt: skip
