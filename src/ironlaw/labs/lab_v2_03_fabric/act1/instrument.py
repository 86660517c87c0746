"""Act I: hosts, switches, traffic and placement to the busiest link."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.kit import settings
from ironlaw.kit.formula import fraction, line
from ironlaw.labs.lab_v2_03_fabric.act1 import figures, local_runs
from ironlaw.labs.lab_v2_03_fabric.act1.setting import LOOPBACK, RAILS, TORUS, Setting, setting_of
from ironlaw.labs.tables import scrolling_table
from ironlaw.registry.timed_wires import step_latency
from ironlaw.widget.figure import tabbed

CLAIMS = ("a_thin_spine_slows_a_ring", "all_reduce_is_bound_by_the_bisection", "a_star_takes_as_many_times")
FOLLOWS = ("thin", "kind", "scattered", "per_leaf")
WAITS = {"ports": "ports", "leaf": "leaf", "pod": "pod", "half": "middle"}  # the busiest link, for a card
COLUMNS = (1, 2, 4, 8, 16, 32)  # oversubscriptions of the table
MORE = ("size",)  # dials in the fold


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        shape = lab.current_context.slug
        here = shape == LOOPBACK and local_runs.wire(lab) is not None
        tree = shape != TORUS and not here
        barred = {} if tree else {"two_level": "needs nodes of eight behind switches"}
        return settings.dials(
            Setting, kind={"disabled": barred}, thin={"hidden": not tree}, seed={"hidden": not values.get("scattered")},
            hosts={"hidden": here}, per_leaf={"hidden": not tree},
        )  # fmt: skip

    return dials_at


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    setting = setting_of(lab, values)
    return kit.View(
        figures=[
            tabbed(figures.factors(lab, setting), "Who notices"),
            tabbed(figures.fabric(setting), "The fabric"),
            tabbed(figures.by_tier(setting), "By tier"),
        ],
        cards=cards(setting),
        formula=formula(setting),
        note=kit.html(notes(lab, setting)),
        readouts={
            **settings.values(setting, "hosts", "per_leaf", "kind", "scattered", "seconds"),
            "oversubscription": setting.thin, "factor": round(setting.factor, 6),
        },
        after=table(setting),
    )  # fmt: skip


def cards(setting: Setting) -> list[dict[str, Any]]:
    slow = setting.factor > 1 + 1e-9
    return [
        kit.card("Time", setting.seconds, "s"),
        kit.card("Slowdown", setting.factor, "×", tone="bad" if slow else "good", note="relative to its ports alone"),
        kit.text_card("Everything waits for", WAITS[setting.busiest], note=figures.TIERS[setting.busiest]),
        kit.card("Across the middle", setting.fabric.across, "B/s", note="each way, if well spread"),
    ]


def formula(setting: Setting) -> str:
    terms = [
        f"{fraction(kit.amount(size, 'B'), kit.amount(rate, 'B/s'))} ({figures.TIERS[name]})"
        for name, (_, size, rate) in setting.tier_seconds.items()
    ]
    return line("<i>T</i> = max over links of", fraction("bytes", "rate")) + line(
        "= max of", ", ".join(terms), "=", kit.amount(setting.seconds, "s")
    )


def notes(lab: kit.Lab, setting: Setting) -> str:
    shape = lab.current_context.slug
    texts = []
    if shape == LOOPBACK:
        own = local_runs.wire(lab)
        texts.append(
            lab.fill("act1.own_machine", ranks=own.ranks, rate=kit.amount(own.rate, "B/s")) if own else lab.fill("act1.own_machine_open")
        )
    elif shape in (RAILS, TORUS):
        texts.append(lab.fill(f"act1.{shape}"))
    hosts, alpha = setting.fabric.hosts, step_latency("nic")
    steps = 2 * (hosts - 1)
    texts.append(
        lab.fill(
            "act1.starts", alpha=kit.amount(alpha, "s"), steps=f"{steps:,}", hosts=f"{hosts:,}", latency=kit.amount(steps * alpha, "s")
        )
    )
    return "\n\n".join(texts)


def table(setting: Setting) -> str:
    """What each collective pays for each width of the spine, placed as set."""
    if setting.shape in (TORUS, LOOPBACK):
        return ""
    rows = [
        (name, *(kit.times(setting.at(kind=kind, thin=float(thin)).factor, 3) for thin in COLUMNS))
        for kind, name in figures.kinds(setting).items()
    ]
    return scrolling_table("How much slower, by oversubscription", ("traffic", *(f"{thin}:1" for thin in COLUMNS)), rows)
