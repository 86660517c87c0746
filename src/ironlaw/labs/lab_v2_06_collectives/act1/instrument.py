"""Act I: ranks, message and wires to what each algorithm takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.kit import settings
from ironlaw.kit.formula import fraction, line
from ironlaw.labs.lab_v2_06_collectives.act1 import figures
from ironlaw.labs.lab_v2_06_collectives.act1.playback import drawn, playback
from ironlaw.labs.lab_v2_06_collectives.act1.setting import ALL, FIXED, NAMES, Setting, setting_of
from ironlaw.labs.lab_v2_06_collectives.wires_of_context import HERE, NVLINK, SAVED, Wires, lab_02, own_fit, wires_of
from ironlaw.labs.tables import scrolling_table
from ironlaw.registry.timed_wires import timed_wire
from ironlaw.units import show, significant
from ironlaw.widget.figure import tabbed

CLAIMS = ("all_reduce_reaches_its_wire", "bus_bandwidth_is_the_wire", "ring_is_always_best")
FOLLOWS = ("ranks", "alpha", "beta", "per_node")
MORE = ("alpha", "beta", "per_node", "pieces", "chunk")  # dials in the fold


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        start = wires_of(lab)
        count = round(values.get("ranks") or start.ranks)
        uneven = {} if not count & (count - 1) else {"rabenseifner": "needs a power of two"}
        per_node = int(values.get("per_node") or start.per_node)
        if count % per_node:
            uneven["two_level"] = f"{count:,} ranks do not fill nodes of {per_node}"
        trees = "double_tree" in (values.get("first"), values.get("second")) or values.get("lines") == ALL
        chunk = {"hidden": not trees or values.get("pieces") != FIXED}
        ranks, *wires = settings.dials(
            Wires, ranks={"value": start.ranks}, alpha={"value": _tidy(1e6 * start.alpha)}, beta={"value": _tidy(start.beta / 1e9)},
            per_node={"value": start.per_node},
        )  # fmt: skip
        *algorithms, pieces, piece = settings.dials(
            Setting, first={"disabled": uneven}, second={"disabled": uneven}, pieces={"hidden": not trees}, chunk=chunk
        )
        into = kit.span("into", "Progress of the sum", 0, 100, 10, step=1, unit="%", play=10, shows="steps")
        return [ranks, *algorithms, *wires, pieces, piece, into]

    return dials_at


def _tidy(value: float) -> float:
    """Three digits, as the dial shows it."""
    return float(f"{value:.3g}")


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    setting = setting_of(wires_of(lab), values)
    into = float(values["into"]) / 100
    return kit.View(
        figures=[
            tabbed(figures.by_size(lab, setting), "Time by size"),
            tabbed(drawn(playback(setting, setting.first), into), "Step by step"),
            tabbed(figures.over_time(setting, into), "Who, when"),
        ],
        cards=cards(setting),
        formula=formula(setting),
        note=kit.html(notes(lab, setting)),
        readouts={"ranks": setting.wires.ranks, "alpha_s": setting.wires.alpha, "beta_bytes_per_s": round(setting.wires.beta),
                  "size_bytes": round(setting.size), **settings.values(setting, "first", "second"),
                  "crossing_bytes": round(setting.crossing[0]) if setting.crossing else None},
        after=table(setting),
    )  # fmt: skip


def cards(setting: Setting) -> list[dict[str, Any]]:
    found, first, second = setting.crossing, setting.seconds(setting.first), setting.seconds(setting.second)
    names = NAMES[setting.first].capitalize(), NAMES[setting.second].capitalize()
    cross: dict[str, Any] = (
        {**kit.card("They cross at", found[0], "B"), "note": f"above it: {NAMES[found[1]]}"} if found
        else kit.text_card("They cross at", "no size")
    )  # fmt: skip
    both = [] if setting.first == setting.second else [kit.card(names[1], second, "s")]
    return [
        kit.card(names[0], first, "s"), *both, cross,
        kit.card("Bus bandwidth", setting.bus(setting.first), "B/s", note=NAMES[setting.first]),
        kit.card("Algorithm bandwidth", setting.size / first, "B/s", note="message size over time"),
    ]  # fmt: skip


def formula(setting: Setting) -> str:
    """Both terms of the first algorithm, with the figures that stand in them."""
    terms, w = setting.terms(setting.first), setting.wires
    symbols = line("<i>T</i> =", kit.term("overhead", "steps · <i>α</i>"), "+", kit.term("memory", fraction("bytes", "<i>β</i>")))
    if setting.first == "two_level":
        return symbols + line("=", *_sum(setting))
    steps, carried = float(terms.latency) / w.alpha, float(terms.bandwidth) * w.beta
    written = line(
        "=", kit.term("overhead", f"{significant(steps, 4)} × {kit.amount(w.alpha, 's')}"), "+",
        kit.term("memory", fraction(kit.amount(carried, "B"), kit.amount(w.beta, "B/s"))),
    )  # fmt: skip
    return symbols + written + line("=", *_sum(setting))


def _sum(setting: Setting) -> tuple[str, ...]:
    terms = setting.terms(setting.first)
    parts = kit.term("overhead", kit.amount(float(terms.latency), "s")), "+", kit.term("memory", kit.amount(float(terms.bandwidth), "s"))
    return (*parts, "=", kit.amount(float(terms.total), "s"))


def notes(lab: kit.Lab, setting: Setting) -> str:
    slug, texts = lab.current_context.slug, []
    if slug == NVLINK:
        timed = timed_wire("dgx_h100", 8)
        texts.append(
            lab.fill("act1.timed", rows=timed.rows, alpha=kit.amount(timed.wire.alpha, "s"), beta=kit.amount(timed.wire.beta, "B/s"),
                     error=kit.amount(100 * timed.error, "%", 2))
        )  # fmt: skip
    if slug == SAVED:
        design = lab_02(lab)
        texts.append(
            lab.fill("act1.begins", ranks=design["ranks"], beta=kit.amount(float(design["beta_bytes_per_s"]), "B/s"))
            if design else lab.fill("act1.begins_empty")
        )  # fmt: skip
    if slug == HERE:
        fitted = own_fit(lab)
        texts.append(
            lab.fill("act1.own_machine", error=kit.amount(100 * fitted[2], "%", 2)) if fitted else lab.fill("act1.own_machine_open")
        )
    if "double_tree" in setting.shown:
        texts.append(lab.fill("act1.pieces"))
    if "in_network" in (setting.first, setting.second):
        texts.append(lab.fill("act1.switch"))
    return "\n\n".join(texts)


def table(setting: Setting) -> str:
    """Every algorithm at this message."""
    rows = []
    for name in (*setting.able, *(("in_network",) if "in_network" not in setting.able else ())):
        terms = setting.terms(name)
        rows.append(
            (NAMES[name], show(float(terms.latency), "s"), show(float(terms.bandwidth), "s"), show(float(terms.total), "s"),
             show(setting.bus(name), "B/s"))
        )  # fmt: skip
    rows.sort(key=lambda row: setting.seconds(next(name for name in NAMES if NAMES[name] == row[0])))
    return scrolling_table(
        f"All algorithms at {show(setting.size, 'B')}", ("algorithm", "latency", "bytes", "together", "bus bandwidth"), rows
    )
