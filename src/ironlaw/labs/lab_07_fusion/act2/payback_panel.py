"""Act II, panel B: does compiling pay? The calculator, its banner, and the mark of the prediction."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.engine.compilation import devices_needed
from ironlaw.kit.formula import fraction, line, term
from ironlaw.labs.lab_07_fusion import jobs
from ironlaw.labs.lab_07_fusion.act2 import payback
from ironlaw.labs.lab_07_fusion.act2.payback import Investment
from ironlaw.pictures.reveal import rules
from ironlaw.pictures.saving import Crossing, saving
from ironlaw.registry.textbooks import textbook
from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure, Table, mark
from ironlaw.widget.quantities import exact, format_quantity

COMPILE, STAY = "compile", "eager"
FOLLOWS = ("volume", "span")  # what goes where the context goes
VOLUMES = [digit * 10**power for power in range(2, 8) for digit in (1, 2, 5)] + [10**8]
INPUTS = {"compile_s": "the compile time", "eager_rate": "the eager rate", "compiled_rate": "the compiled rate"}


def start(lab: kit.Lab) -> tuple[int, str]:
    """Volume and span that a context begins with; the learner's own machine as the edge does."""
    entries = {entry["device"]: entry for entry in lab.sheet.contexts}
    found = entries.get(lab.chosen.slug) or entries["orin_nx_16gb"]
    return int(found["per_day"]), str(found["days"])


def dials(lab: kit.Lab) -> Any:
    models = [(model, _label(model)) for model in ("resnet50", "kws", "gpt2_layer", *jobs.GRAPHS)]
    stated = textbook("resnet50")
    assert stated.compile_s and stated.gain
    compile_s, gain = stated.compile_s, round(100 * stated.gain)

    def made(values: Mapping[str, Any]) -> list[Any]:
        volume, span = start(lab)
        return [
            kit.select("model", "Model: sets the eager rate", models, "resnet50"),
            kit.span("compile", "Compile time", 5, 300, compile_s, unit="s", presets=[10, 48, 120, 300]),
            kit.span("gain", "Throughput gain", 5, 100, gain, unit="%"),
            kit.span("volume", "Calls a day", 100, 1e8, volume, log=True, steps=sorted({*VOLUMES, volume}), presets=[1e3, 1e4, 1e6, 1e8]),
            kit.choice("span", "Deployment", list(payback.SPANS.items()), span),
            kit.span("days", "Days", 1, 3650, 90, log=True, hidden=(values.get("span") or span) != "other"),
            kit.choice("decision", "Your decision", [(COMPILE, "compile"), (STAY, "stay eager")], COMPILE),
        ]

    return made


def _label(model: str) -> str:
    return f"{jobs.name_of(model)}, measured" if jobs.is_graph(model) else f"{jobs.name_of(model)}, textbook"


def investment_of(lab: kit.Lab, values: Mapping[str, Any]) -> Investment:
    per_day = float(values["volume"])
    days = payback.days_of(values["span"], float(values["days"]), per_day)
    rate = payback.eager_rate(values["model"], lab.chosen)
    return Investment(values["model"], float(values["compile"]), values["gain"] / 100, per_day, days, rate)


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    found, decision = investment_of(lab, values), values["decision"]
    figures = [saving(found.net, found.days, Crossing(found.breakeven_days, found.breakeven_calls), lasting(found)), counts(lab, found)]
    return kit.View(figures, cards(found), formula(found), banner(lab, found, decision), notes(lab, found), readouts(found, decision))


def readouts(found: Investment, decision: str) -> dict[str, Any]:
    return {
        "compilation_roi_positive": found.pays,
        "breakeven_inferences": found.breakeven_calls,
        "act2_result": found.breakeven,
        "act2_decision": decision,
        "constraint_hit": decision == COMPILE and not found.pays,
    }


def counts(lab: kit.Lab, found: Investment) -> Figure:
    """Break-even against what the deployment serves, and the prediction's own mark on the same axis."""
    rows = {"break-even": found.breakeven, "served": found.served}
    tones = {"break-even": "good" if found.pays else "fail", "served": "ridge"}
    bars = [
        mark("bar", tones[name], x=value, y=name, id=name, name=name, label=calls(value), hover=[("exactly", exact(value, "calls"))])
        for name, value in rows.items()
    ]
    option = lab.choice("act2")
    reveal = rules(float(option.value), float(lab.question("act2").answer), "calls") if option else ()
    words = f"Break-even after {calls(found.breakeven)}; the deployment serves {calls(found.served)}."
    table = Table(("what", "calls", "exactly"), tuple((name, calls(value), exact(value, "calls")) for name, value in rows.items()))
    return Figure(
        "counts", "Break-even in calls", Axis("log", "calls", "calls"), Axis("band", names=tuple(rows)), (*bars, *reveal), words, table,
        "your mark is for ResNet-50 as asked",
    )  # fmt: skip


def lasting(found: Investment, less: float = 0.0) -> str:
    """How long the deployment runs: `30 d`, `one run`."""
    return "one run" if found.once else format_quantity((found.days - less) * payback.DAY, "s")


def calls(value: float) -> str:
    return format_quantity(value, "calls", 6)


def cards(found: Investment) -> list[dict[str, Any]]:
    good = "good" if found.pays else "bad"
    left = f"{lasting(found, found.breakeven_days)} of gain left" if found.pays else "the cost is not earned back"
    return [
        {"label": "Break-even, calls", "value": f"{found.breakeven_calls:,}", "unit": "", "exact": exact(found.breakeven, "calls"),
         "note": f"each saves {format_quantity(found.saved_s, 's')}"},
        {**kit.card("Break-even after", found.breakeven_days * payback.DAY, "s", tone=good, note=f"of {lasting(found)}"),
         "word": "within it" if found.pays else "after it ends"},
        {"label": "Served, calls", "value": format_quantity(found.served), "unit": "", "exact": exact(found.served, "calls"),
         "note": f"{significant(found.per_day, 6)} a day"},
        {**kit.card("Net time saved", found.net(found.days), "s", tone=good, note=left), "word": "positive" if found.pays else "negative"},
        {"label": "Devices", "value": f"{found.devices:,}", "note": f"{significant(found.eager_rate)} calls a second each"},
    ]  # fmt: skip


def formula(found: Investment) -> str:
    bottom = "1/<i>R</i><sub>eager</sub> − 1/<i>R</i><sub>compiled</sub>"
    filled = f"1/{significant(found.eager_rate, 4)} − 1/{significant(found.compiled_rate, 4)}"
    cost = kit.amount(found.compile_s, "s") if found.devices == 1 else f"{found.devices:,} × {kit.amount(found.compile_s, 's')}"
    return line("<i>N</i> =", fraction(term("overhead", "<i>t</i><sub>compile</sub>"), bottom)) + line(
        "=", fraction(term("overhead", cost), filled), "=", kit.dress(f"{found.breakeven:,.2f}".removesuffix(".00") + " calls")
    )


def banner(lab: kit.Lab, found: Investment, decision: str) -> dict[str, Any]:
    slots = {
        "calls": f"{found.breakeven_calls:,}", "day": kit.amount(found.breakeven_days * payback.DAY, "s"), "days": lasting(found),
        "served": significant(found.served, 6), "net": kit.amount(abs(found.net(found.days)), "s"),
    }  # fmt: skip
    if found.pays and decision == COMPILE:
        tone, title = "good", "Compilation pays"
        told = lab.fill("act2.pays", **_but(slots, "served"), left=lasting(found, found.breakeven_days))
    elif found.pays:
        tone, title = "warn", "Staying eager forgoes a gain"
        told = lab.fill("act2.forgone", **_but(slots, "served", "calls"))
    elif decision == COMPILE:
        tone, title = "fail", "Compilation not justified"
        told = (
            lab.fill("act2.fails_once", **_but(slots, "day", "days", "served"))
            if found.once
            else lab.fill("act2.fails", **slots, **ways(found))
        )
    else:
        tone, title = "good", "Staying eager is right here"
        told = lab.fill("act2.stays", **slots)
    if found.devices > 1:
        told += "\n\n" + lab.fill("act2.devices", **device_slots(found))
    return kit.banner(tone, title, kit.html(told))


def _but(slots: Mapping[str, object], *names: str) -> dict[str, object]:
    return {name: value for name, value in slots.items() if name not in names}


def ways(found: Investment) -> dict[str, object]:
    """What would make it pay: a longer deployment, or a larger volume over the same one."""
    days = math.ceil(found.breakeven_days)
    return {"longer": f"{days:,} day{'s' if days > 1 else ''}", "volume": significant(math.ceil(found.breakeven / found.days), 3)}


def device_slots(found: Investment) -> dict[str, object]:
    return {
        "volume": significant(found.per_day, 6), "one": significant(found.eager_rate * 86400, 3), "devices": f"{found.devices:,}",
        "fewer": f"{devices_needed(found.per_day, found.compiled_rate):,}", "cost": kit.amount(found.cost_s, "s"),
    }  # fmt: skip


def notes(lab: kit.Lab, found: Investment) -> str:
    name, by = found.strongest
    told = [
        lab.fill("act2.sensitivity", input=INPUTS[name], by=significant(abs(by)), way="more" if by > 0 else "fewer"),
        lab.fill("act2.rate", **rate_slots(lab, found)),
    ]
    if jobs.is_graph(found.model):
        eager, compiled = (jobs.measured(found.model, mode) for mode in (jobs.EAGER, jobs.COMPILED))
        gain, first = kit.amount(100 * (eager["wall_s"] / compiled["wall_s"] - 1), "%"), kit.amount(compiled["compile_s"], "s")
        told.append(lab.fill("act2.measured", gain=gain, compile=first, source=jobs.source()))
    elif textbook(found.model).eager_rate:
        told.append(lab.fill("act2.stated", source=textbook(found.model).compiled_source))
    else:
        told.append(lab.fill("act2.from_act1", launch=kit.amount(jobs.launch_of(lab.chosen), "s"), device=lab.chosen.label))
    return kit.html("\n\n".join(told))


def rate_slots(lab: kit.Lab, found: Investment) -> dict[str, object]:
    return {
        "model": jobs.name_of(found.model), "rate": significant(found.eager_rate, 4), "each": kit.amount(1 / found.eager_rate, "s"),
        "faster": significant(found.compiled_rate, 4),
    }  # fmt: skip
