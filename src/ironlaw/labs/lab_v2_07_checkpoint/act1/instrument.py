"""Act I: GPUs, saves, restarts and an interval to what is left of the time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.engine.cluster.failures import waste
from ironlaw.kit import settings
from ironlaw.kit.formula import fraction, line
from ironlaw.labs.lab_v2_07_checkpoint.act1 import figures, local_runs
from ironlaw.labs.lab_v2_07_checkpoint.act1.interval import MINUTE, SHORTEST, Setting, band
from ironlaw.labs.lab_v2_07_checkpoint.clusters import FEWEST, HOUR, MOST, RSC, RUN, SAVED, cluster_of, earlier, llama
from ironlaw.registry.runs import about
from ironlaw.units import show, significant
from ironlaw.widget.figure import tabbed

CLAIMS = ("young_is_optimal", "the_minimum_is_sharp", "llama_trained_nine_tenths")
FOLLOWS = ("gpus", "unit")
POINT = 0.01  # of the time
MORE = ("unit",)  # dials in the fold


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        cluster = cluster_of(lab)
        stops = [FEWEST * 2**k for k in range(12) if FEWEST * 2**k <= MOST]
        gpus = {"value": cluster.gpus, "steps": sorted({*stops, cluster.gpus})}
        return [
            *settings.dials(Setting, gpus=gpus, unit={"value": round(cluster.unit / HOUR)}),
            kit.span("into", "Hour of the day", 0, 24, 24, step=0.25, unit="h", play=8, shows="day"),
        ]

    return dials_at


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    setting = settings.read(Setting, values)
    run = lab.local_run(local_runs.NAME)
    return kit.View(
        figures=[
            tabbed(figures.waste(lab, setting), "By interval"), tabbed(figures.day(setting, float(values["into"])), "A day"),
            *([tabbed(figures.killed(run), "Killed here")] if run else []),
        ],
        cards=cards(setting),
        formula=formula(setting),
        note=kit.html(notes(lab, setting)),
        readouts={
            "gpus": setting.gpus, "mtbf_s": round(setting.between, 3), "save_s": setting.save, "restart_s": setting.restart,
            "interval_s": round(setting.interval, 3), "wasted": round(setting.wasted, 6),
        },
    )  # fmt: skip


def cards(setting: Setting) -> list[dict[str, Any]]:
    least = setting.at(setting.best).wasted
    low, high = band(setting.at(1.0), least + POINT)
    near = setting.wasted <= least + POINT
    return [
        kit.card("Between failures", setting.between, "s", note="of the whole job"),
        kit.card("Best interval", setting.best, "s"),
        kit.card("Wasted, as set", 100 * setting.wasted, "%", tone="good" if near else "bad"),
        kit.card("Wasted at best", 100 * least, "%"),
        kit.text_card("Within one point", "–".join(significant(end / MINUTE, 2) for end in (low, high)), "min", note="of the best"),
    ]


def formula(setting: Setting) -> str:
    if setting.law != 1.0:
        return line(
            "useful work =", fraction("<i>τ</i>", "<i>M</i>"),
            "· Σ<sub><i>n</i></sub> <i>S</i>(<i>R</i> + <i>n</i>(<i>τ</i> + <i>δ</i>)) =",
            kit.amount(100 * (1 - setting.wasted), "%"),
        )  # fmt: skip
    first = 100 * float(waste(setting.interval, setting.save, setting.restart, setting.between))
    exact = line(
        "wall time per second of work =", fraction("<i>M</i>", "<i>τ</i>"),
        "e<sup><i>R</i>/<i>M</i></sup> (e<sup>(<i>τ</i>+<i>δ</i>)/<i>M</i></sup> − 1) =",
        f"{show(1 / (1 - setting.wasted), '') if setting.wasted < 1 else 'infinite'}",
    )  # fmt: skip
    terms = " + ".join(
        (
            fraction(kit.amount(setting.save, "s"), kit.amount(setting.interval, "s")),
            fraction(kit.amount(setting.interval, "s"), f"2 × {kit.amount(setting.between, 's')}"),
            fraction(kit.amount(setting.restart, "s"), kit.amount(setting.between, "s")),
        )
    )
    return exact + line(
        "wasted to first order = <i>δ</i>/<i>τ</i> + <i>τ</i>/2<i>M</i> + <i>R</i>/<i>M</i> =", terms, "=", kit.amount(first, "%")
    )


def notes(lab: kit.Lab, setting: Setting) -> str:
    texts = []
    slug = lab.current_context.slug
    if slug == SAVED:
        design = earlier(lab)
        texts.append(lab.fill("act1.saved", gpus=f"{cluster_of(lab).gpus:,}") if design else lab.fill("act1.saved_open"))
    if slug == RSC:
        texts.append(lab.fill("act1.research"))
    else:
        stops = about(RUN)["interruptions"]
        texts.append(lab.fill("act1.causes", stops=stops["unexpected"], unit=kit.dress(f"{llama().unit / HOUR:,.0f} h"), **stops["causes"]))
    if setting.law != 1.0:
        texts.append(lab.fill("act1.laws"))
    if setting.interval < MINUTE * SHORTEST * 2:
        texts.append(lab.fill("act1.often", share=kit.amount(100 * float(setting.shares.writing), "%")))
    return "\n\n".join(texts)
