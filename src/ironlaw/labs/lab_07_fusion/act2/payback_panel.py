"""Act II, panel B: does compiling pay? The calculator, its banner, and the mark of the prediction."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ironlaw import kit
from ironlaw.engine.device.compilation import devices_needed
from ironlaw.kit.context import the
from ironlaw.kit.formula import fraction, line, term
from ironlaw.labs.lab_07_fusion import jobs
from ironlaw.labs.lab_07_fusion.act2 import payback
from ironlaw.labs.lab_07_fusion.act2.payback import Case
from ironlaw.pictures.reveal import rules
from ironlaw.pictures.saving import Crossing, saving
from ironlaw.registry.textbooks import textbook
from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure, Table, mark, tabbed
from ironlaw.widget.quantities import exact, format_quantity

COMPILE, STAY = "compile", "eager"
FOLLOWS = ("volume", "span")  # what goes where the context goes
VOLUMES = [digit * 10**power for power in range(2, 8) for digit in (1, 2, 5)] + [10**8]


def start(lab: kit.Lab) -> tuple[int, str]:
    """Volume and span that a context begins with; the learner's own machine as the edge does."""
    entries = {entry["device"]: entry for entry in lab.sheet.contexts}
    entry = entries.get(lab.current_context.slug) or entries["orin_nx_16gb"]
    return int(entry["per_day"]), str(entry["days"])


def dials(lab: kit.Lab) -> Any:
    models = [(model, _label(model)) for model in ("resnet50", "kws", "gpt2_layer", *jobs.GRAPHS)]
    course = textbook("resnet50")
    assert course.compile_s and course.gain
    compile_s, gain = course.compile_s, round(100 * course.gain)

    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        volume, span = start(lab)
        return [
            kit.select("model", "Model: sets the eager rate", models, "resnet50"),
            kit.span("compile", "Compile time", 5, 300, compile_s, unit="s", presets=[10, 48, 120, 300]),
            kit.span("gain", "Throughput gain", 5, 100, gain, unit="%"),
            kit.span(
                "volume",
                "Calls a day",
                100,
                1e8,
                volume,
                log=True,
                whole=True,
                steps=sorted({*VOLUMES, volume}),
                presets=[1e3, 1e4, 1e6, 1e8],
            ),
            kit.choice("span", "Deployment", list(payback.SPANS.items()), span),
            kit.span("days", "Days", 1, 3650, 90, log=True, whole=True, hidden=(values.get("span") or span) != "other"),
            kit.choice("decision", "Your decision", [(COMPILE, "compile"), (STAY, "stay eager")], COMPILE),
        ]

    return dials_at


def _label(model: str) -> str:
    return f"{jobs.name_of(model)}, measured" if jobs.is_graph(model) else f"{jobs.name_of(model)}, textbook"


def case_of(lab: kit.Lab, values: Mapping[str, Any]) -> Case:
    per_day = float(values["volume"])
    days = payback.days_of(values["span"], float(values["days"]), per_day)
    rate = payback.eager_rate(values["model"], lab.current_context)
    return Case(values["model"], float(values["compile"]), values["gain"] / 100, per_day, days, rate)


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    case, decision = case_of(lab, values), values["decision"]
    figures = [
        tabbed(counts(lab, case), "Break-even"),
        tabbed(saving(case.net, case.days, Crossing(case.breakeven_days, case.breakeven_calls), duration(case)), "Saved, day by day"),
    ]
    return kit.View(
        figures,
        cards(case),
        formula(case),
        banner(lab, case, decision),
        notes(lab, case),
        readouts(case, decision),
    )


def readouts(case: Case, decision: str) -> dict[str, Any]:
    return {
        "compilation_roi_positive": case.pays,
        "breakeven_inferences": case.breakeven_calls,
        "act2_result": case.breakeven,
        "act2_decision": decision,
        "constraint_hit": decision == COMPILE and not case.pays,
    }


def counts(lab: kit.Lab, case: Case) -> Figure:
    """Break-even against what the deployment serves, and the prediction's own mark on the same axis."""
    rows = {"break-even": case.breakeven, "served": case.served}
    tones = {"break-even": "good" if case.pays else "fail", "served": "ridge"}
    bars = [
        mark("bar", tones[name], x=value, y=name, id=name, name=name, label=calls(value), hover=[("exactly", exact(value, "calls"))])
        for name, value in rows.items()
    ]
    option = lab.choice("act2")
    reveal = (
        rules(float(option.value), math.ceil(float(lab.question("act2").answer)), "calls", truth_label="as asked, it is", digits=6)
        if option
        else ()
    )
    words = f"Break-even after {calls(case.breakeven)}; the deployment serves {calls(case.served)}."
    table = Table(("what", "calls", "exactly"), tuple((name, calls(value), exact(value, "calls")) for name, value in rows.items()))
    return Figure(
        "counts", "Break-even in calls", Axis("log", "calls", "calls"), Axis("band", names=tuple(rows)), (*bars, *reveal), words, table,
        "bars as the dials stand; your mark and the truth at the question's own rates",
    )  # fmt: skip


def duration(case: Case, less: float = 0.0) -> str:
    """How long the deployment runs: `30 d`, `one run`."""
    return "one run" if case.once else format_quantity((case.days - less) * payback.DAY, "s")


def calls(value: float) -> str:
    return format_quantity(value, "calls", 6)


def cards(case: Case) -> list[dict[str, Any]]:
    good = "good" if case.pays else "bad"
    remaining = f"{duration(case, case.breakeven_days)} of gain left" if case.pays else "the cost is not earned back"
    return [
        {"label": "Break-even, calls", "value": f"{case.breakeven_calls:,}", "unit": "", "exact": exact(case.breakeven, "calls"),
         "note": f"each saves {format_quantity(case.saved_s, 's')}"},
        {**kit.card("Break-even after", case.breakeven_days * payback.DAY, "s", tone=good, note=f"of {duration(case)}"),
         "word": "within it" if case.pays else "after it ends"},
        {"label": "Served, calls", "value": format_quantity(case.served), "unit": "", "exact": exact(case.served, "calls"),
         "note": f"{significant(case.per_day, 6)} a day"},
        {**kit.card("Net time saved", case.net(case.days), "s", tone=good, note=remaining),
         "word": "positive" if case.pays else "negative"},
        {"label": "Devices", "value": f"{case.devices:,}", "note": f"{significant(case.eager_rate)} calls a second each"},
    ]  # fmt: skip


def formula(case: Case) -> str:
    bottom = "1/<i>R</i><sub>eager</sub> − 1/<i>R</i><sub>compiled</sub>"
    filled = f"1/{significant(case.eager_rate, 4)} − 1/{significant(case.compiled_rate, 4)}"
    cost = kit.amount(case.compile_s, "s") if case.devices == 1 else f"{case.devices:,} × {kit.amount(case.compile_s, 's')}"
    return line("<i>N</i> =", fraction(term("overhead", "<i>t</i><sub>compile</sub>"), bottom)) + line(
        "=", fraction(term("overhead", cost), filled), "=", kit.dress(f"{case.breakeven:,.2f}".removesuffix(".00") + " calls")
    )


def banner(lab: kit.Lab, case: Case, decision: str) -> dict[str, Any]:
    slots = {
        "calls": f"{case.breakeven_calls:,}", "day": kit.amount(case.breakeven_days * payback.DAY, "s"), "days": duration(case),
        "served": significant(case.served, 6), "net": kit.amount(abs(case.net(case.days)), "s"),
    }  # fmt: skip
    if case.pays and decision == COMPILE:
        tone, title = "good", "Compilation pays"
        text = lab.fill("act2.pays", **_but(slots, "served"), left=duration(case, case.breakeven_days))
    elif case.pays:
        tone, title = "warn", "Staying eager forgoes a gain"
        text = lab.fill("act2.forgone", **_but(slots, "served", "calls"))
    elif decision == COMPILE:
        tone, title = "fail", "Compilation not justified"
        text = (
            lab.fill("act2.fails_once", **_but(slots, "day", "days", "served"))
            if case.once
            else lab.fill("act2.fails", **slots, **ways(case))
        )
    else:
        tone, title = "good", "Staying eager is right here"
        text = lab.fill("act2.stays", **slots)
    if case.devices > 1:
        text += "\n\n" + lab.fill("act2.devices", **device_slots(case))
    return kit.banner(tone, title, kit.html(text))


def _but(slots: Mapping[str, object], *names: str) -> dict[str, object]:
    return {name: value for name, value in slots.items() if name not in names}


def ways(case: Case) -> dict[str, object]:
    """What would make it pay: a longer deployment, or a larger volume over the same one."""
    days = math.ceil(case.breakeven_days)
    return {"longer": f"{days:,} day{'s' if days > 1 else ''}", "volume": significant(math.ceil(case.breakeven / case.days), 3)}


def device_slots(case: Case) -> dict[str, object]:
    return {
        "volume": significant(case.per_day, 6), "one": significant(case.eager_rate * 86400, 3), "devices": f"{case.devices:,}",
        "fewer": f"{devices_needed(case.per_day, case.compiled_rate):,}", "cost": kit.amount(case.cost_s, "s"),
    }  # fmt: skip


def notes(lab: kit.Lab, case: Case) -> str:
    paragraphs = [
        lab.fill("act2.sensitivity", by=significant(abs(case.by_gain))),
        lab.fill("act2.rate", **rate_slots(lab, case)),
    ]
    if jobs.is_graph(case.model):
        eager, compiled = (jobs.measured_run(case.model, mode) for mode in (jobs.EAGER, jobs.COMPILED))
        gain, first = (
            kit.amount(100 * (eager.value("wall_s") / compiled.value("wall_s") - 1), "%"),
            kit.amount(compiled.value("compile_s"), "s"),
        )
        paragraphs.append(lab.fill("act2.measured", gain=gain, compile=first, source=jobs.source()))
    elif textbook(case.model).eager_rate:
        paragraphs.append(lab.fill("act2.stated", source=textbook(case.model).compiled_source))
        paragraphs += _rounded(lab, case)
    else:
        paragraphs.append(
            lab.fill("act2.from_act1", launch=kit.amount(jobs.launch_of(lab.current_context), "s"), device=the(lab.current_context))
        )
    return kit.html("\n\n".join(paragraphs))


def _rounded(lab: kit.Lab, case: Case) -> list[str]:
    """Where the dial stands at the course's gain in whole percent: what the rates of the question give."""
    course = textbook(case.model)
    if not course.gain or not course.compile_s or not course.compiled_rate or round(100 * course.gain) != round(100 * case.gain, 6):
        return []
    asked = replace(case, gain=course.compiled_rate / case.eager_rate - 1.0)
    if case.devices > 1 or case.compile_s != course.compile_s or asked.breakeven_calls == case.breakeven_calls:
        return []
    return [lab.fill("act2.rounded", gain=kit.amount(100 * asked.gain, "%", 4), calls=f"{asked.breakeven_calls:,}",
                     dial=kit.amount(100 * case.gain, "%"), here=f"{case.breakeven_calls:,}")]  # fmt: skip


def rate_slots(lab: kit.Lab, case: Case) -> dict[str, object]:
    return {
        "model": jobs.name_of(case.model), "rate": significant(case.eager_rate, 4), "each": kit.amount(1 / case.eager_rate, "s"),
        "faster": significant(case.compiled_rate, 4),
    }  # fmt: skip
