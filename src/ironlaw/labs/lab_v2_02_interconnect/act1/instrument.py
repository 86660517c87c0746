"""Act I: box, ranks, order and message to the pace of a ring."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.engine.cluster.library import switch_adds, switch_factor
from ironlaw.kit import settings
from ironlaw.kit.context import LOCAL
from ironlaw.kit.formula import fraction, line
from ironlaw.labs.lab_v2_02_interconnect.act1 import figures
from ironlaw.labs.lab_v2_02_interconnect.act1.ring import EXCHANGE, REDUCE, SEND, SWITCH, TWO_LEVEL, Setting, setting_of
from ironlaw.labs.lab_v2_02_interconnect.act1.slots import cliffs
from ironlaw.labs.lab_v2_02_interconnect.box_of_context import box_of, most_ranks, own_box
from ironlaw.labs.tables import scrolling_table
from ironlaw.registry.boxes import boxes, fitted
from ironlaw.registry.interconnects import interconnect
from ironlaw.units import show, significant
from ironlaw.widget.figure import tabbed

CLAIMS = ("pcie_is_good_enough", "ports_make_the_cliff", "more_cards_same_bus")
FOLLOWS = ("ranks", "nics", "order", "first", "second", "algorithm")
MORE = ("algorithm", "first", "second")  # dials in the fold


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        box = box_of(lab)
        most = most_ranks(box)
        what, ranks = values.get("what") or REDUCE, min(round(values.get("ranks") or box.devices), most)
        across = ranks > box.devices
        groups = what == REDUCE and (across or (box.group < box.devices and ranks > box.group))
        adds = switch_adds(box, REDUCE, ranks)
        barred = {} if across and ranks % box.devices == 0 else {TWO_LEVEL: "needs full boxes" if across else "needs a second box"}
        barred |= {} if adds else {SWITCH: "needs one switch that adds" if box.sums else "this box's switch does not add"}
        port = {"high": max(1, box.nics), "value": max(1, box.nics), "hidden": not across or what == SEND}
        swap = {"high": most - 1, "hidden": what != REDUCE}
        return [
            *settings.dials(
                Setting, ranks={"high": most, "value": box.devices}, nics=port,
                algorithm={"disabled": barred, "hidden": not (across or adds) or what != REDUCE}, order={"hidden": not groups},
                first=swap, second=swap,
            ),
            kit.span("into", "Progress of the step", 0, 100, 40, step=2, unit="%", play=6, shows="wires"),
        ]  # fmt: skip

    return dials_at


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    setting = setting_of(box_of(lab), values)
    return kit.View(
        figures=[
            tabbed(figures.staircase(lab, setting), "Wires and ring"),
            tabbed(figures.on_the_wires(setting, values["into"] / 100), "The wires"),
            tabbed(figures.by_size(setting), "Time by size"),
        ],
        cards=cards(setting),
        formula=formula(setting),
        note=kit.html(notes(lab, setting)),
        readouts={
            **settings.values(setting, "ranks", "what"), "box": setting.box.slug, "nics": setting.used_nics,
            "bus_bytes_per_s": round(setting.bus), "beta_bytes_per_s": round(setting.binding[1]), "alpha_s": setting.latency,
            "alpha_step_s": setting.alpha,
        },
        after=table(lab),
    )  # fmt: skip


def cards(setting: Setting) -> list[dict[str, Any]]:
    kind, rate = setting.binding
    return [
        kit.card("Bus bandwidth", setting.bus, "B/s", note="what a wire carries"),
        kit.card("Algorithm bandwidth", setting.algorithm_bandwidth, "B/s", note="message size over time"),
        kit.card("Time", setting.seconds, "s"),
        kit.text_card("Slowest edge", setting.name(kind), note=show(rate, "B/s")),
    ]


def formula(setting: Setting) -> str:
    """Both terms of the law, with the figures that stand in them."""
    rate = kit.amount(setting.binding[1], "B/s")
    steps, count, over = _symbols(setting)
    symbols = line("<i>T</i> =", kit.term("overhead", f"{steps} <i>α</i>"), "+", kit.term("memory", over))
    if setting.levels:
        written = ""
    else:
        carried = setting.bytes_seconds * setting.binding[1]
        written = line(
            "=", kit.term("overhead", f"{count} × {kit.amount(setting.alpha, 's')}"), "+",
            kit.term("memory", fraction(kit.amount(carried, "B"), rate)),
        )  # fmt: skip
    parts = kit.term("overhead", kit.amount(setting.latency, "s")), "+", kit.term("memory", kit.amount(setting.bytes_seconds, "s"))
    return symbols + written + line("=", *parts, "=", kit.amount(setting.seconds, "s"))


def _symbols(setting: Setting) -> tuple[str, int, str]:
    """(steps as a formula, how many, seconds of the bytes as a formula)."""
    message = fraction("<i>M</i>", "<i>B</i>")
    if setting.what == SEND:
        return "", 1, message
    if setting.what == EXCHANGE:
        return "(<i>N</i> − 1)", setting.steps, fraction("bytes on the busiest wire", "<i>B</i>")
    if setting.levels:
        return "steps ·", 0, "bytes inside, across, inside"
    if setting.adds:
        return "2", setting.steps, "(1 + " + fraction("1", "<i>N</i>") + ") · " + message
    return "2(<i>N</i> − 1)", setting.steps, fraction("2(<i>N</i> − 1)", "<i>N</i>") + " · " + message


def notes(lab: kit.Lab, setting: Setting) -> str:
    texts = []
    if lab.current_context.slug == LOCAL:
        texts.append(lab.fill("act1.own_machine") if own_box(lab) else lab.fill("act1.own_machine_open"))
    if setting.box.slug == "dgx_a100" and setting.boxes > 1:
        nic = interconnect("hdr200")
        rows = figures.published_dots("dgx_a100", setting.ranks, setting.box.devices)
        if rows:
            size, seconds = rows[-1]
            bus = setting.at(size).factor * size / seconds
            texts.append(
                lab.fill("act1.other_cluster", bus=kit.amount(bus, "B/s"), size=kit.amount(size, "B"), port=kit.amount(nic.achieved, "B/s"))
            )
    if setting.adds:
        texts.append(lab.fill("act1.switch", share=significant(switch_factor(setting.ranks)), ring=significant(setting.factor)))
    held_out = fitted(setting.box.slug).get("held_out") if setting.box.slug in boxes() else None
    if held_out:
        texts.append(lab.fill("act1.dots", alpha=kit.amount(setting.alpha, "s"), held_out=kit.amount(100 * held_out, "%", 2)))
    return "\n\n".join(texts)


def table(lab: kit.Lab) -> str:
    """The cliffs, one under the other."""
    rows = [(name, kit.amount(high, "B/s"), kit.amount(low, "B/s"), kit.times(high / low)) for name, high, low in cliffs()]
    return scrolling_table("Five cliffs, and how deep each is", ("from, to", "before", "after", "falls by"), rows)
