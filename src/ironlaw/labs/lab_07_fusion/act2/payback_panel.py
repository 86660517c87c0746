"""Act II, panel B: does compiling pay? The calculator, its banner, and the mark of the prediction."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ironlaw import kit
from ironlaw.engine.device.compilation import devices_needed
from ironlaw.kit import settings
from ironlaw.kit.context import Context, the
from ironlaw.kit.formula import fraction, line, term
from ironlaw.labs.lab_07_fusion import jobs
from ironlaw.labs.lab_07_fusion.act2 import payback
from ironlaw.labs.lab_07_fusion.act2.payback import COMPILE, STAY, Case
from ironlaw.pictures.ends import snug
from ironlaw.pictures.reveal_picture import rules
from ironlaw.pictures.saving import Crossing, saving
from ironlaw.registry.textbooks import textbook
from ironlaw.systems.fields import among, figure, hundredths
from ironlaw.systems.limits import Limit, fail, good, hit, warn
from ironlaw.units import show, significant
from ironlaw.widget.figure import Axis, Figure, Table, mark, tabbed
from ironlaw.widget.quantities import exact, format_quantity

FOLLOWS = ("volume", "span")  # what goes where the context goes
VOLUMES = [digit * 10**power for power in range(2, 8) for digit in (1, 2, 5)] + [10**8]
MORE = ("model",)  # dials in the fold


def start(lab: kit.Lab) -> tuple[int, str]:
    """Volume and span that a context begins with; the learner's own machine as the edge does."""
    entries = {entry["device"]: entry for entry in lab.sheet.contexts}
    entry = entries.get(lab.current_context.slug) or entries["orin_nx_16gb"]
    return int(entry["per_day"]), str(entry["days"])


def _label(model: str) -> str:
    return f"{jobs.name_of(model)}, measured" if jobs.is_graph(model) else f"{jobs.name_of(model)}, textbook"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Where the dials stand. What has no default begins as the course or the context has it."""

    model: str = among(
        ("resnet50", "kws", "gpt2_layer", *jobs.GRAPHS), "resnet50", "Model (sets the eager rate)", dial="select", shown=_label
    )
    compile: float = figure(label="Compile time", unit="s", low=5, high=300, dial="span", presets=[10, 48, 120, 300])
    gain: float = figure(label="Throughput gain", unit="%", low=5, high=100, dial="span", means=hundredths)
    volume: float = figure(label="Calls per day", low=100, high=1e8, dial="span", log=True, whole=True, presets=[1e3, 1e4, 1e6, 1e8])
    span: str = among(payback.SPANS, label="Length of the deployment")
    days: float = figure(90, "Days", low=1, high=3650, dial="span", log=True, whole=True)
    decision: str = among({COMPILE: "compile", STAY: "stay eager"}, COMPILE, "Your decision")

    def case(self, context: Context) -> Case:
        days = payback.days_of(self.span, self.days, self.volume)
        rate = payback.eager_rate(self.model, context)
        return Case(self.model, self.compile, self.gain, self.volume, days, eager_rate=rate, decision=self.decision)


def dials(lab: kit.Lab) -> Any:
    course = textbook("resnet50")
    assert course.compile_s and course.gain
    compile_s, gain = course.compile_s, 100 * course.gain

    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        volume, span = start(lab)
        return settings.dials(
            Setting,
            compile={"value": compile_s},
            gain={"value": gain},
            volume={"value": volume, "steps": sorted({*VOLUMES, volume})},
            span={"value": span},
            days={"hidden": (values.get("span") or span) != "other"},
        )

    return dials_at


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    case = settings.read(Setting, values).case(lab.current_context)
    figures = [
        tabbed(counts(lab, case), "Break-even"),
        tabbed(saving(case.net, case.days, Crossing(case.breakeven_days, case.breakeven_calls), duration(case)), "Saved, day by day"),
    ]
    return kit.View(figures, cards(case), formula(case), banner(lab, case), notes(lab, case), readouts(case), seen=_seen(case))


def _seen(case: Case) -> dict[str, object]:
    return {"each": kit.amount(case.saved_s, "s"), "cost": kit.amount(case.cost_s, "s")}


def readouts(case: Case) -> dict[str, Any]:
    return {
        "compilation_roi_positive": case.pays,
        "breakeven_inferences": case.breakeven_calls,
        "act2_result": case.breakeven,
        "act2_decision": case.decision,
        "constraint_hit": settings.broken(LIMITS, case) is not None,
    }


def counts(lab: kit.Lab, case: Case) -> Figure:
    """Break-even against what the deployment serves, and the prediction's own mark on the same axis."""
    rows = {"break-even": float(case.breakeven_calls), "served": case.served}
    tones = {"break-even": "good" if case.pays else "fail", "served": "ridge"}
    dots = [
        mark(
            "point",
            tones[name],
            x=value,
            y=name,
            size=8,
            id=name,
            name=name,
            label=f"{value:,.0f}",  # the axis has the unit
            hover=[("exactly", exact(value, "calls"))],
        )
        for name, value in rows.items()
    ]
    option = lab.choice("act2")
    reveal = (
        rules(float(option.value), math.ceil(float(lab.question("act2").answer)), "calls", truth_label="as asked, it is", digits=6)
        if option
        else ()
    )
    ends = [*rows.values(), *(float(dict(one.at)["x"]) for one in reveal)]
    across = Axis("log", "calls", "calls", snug(0.8 * min(ends), 1.25 * max(ends)))
    title = f"The deployment serves {'enough' if case.pays else 'too few'} calls"
    words = f"Break-even after {calls(case.breakeven_calls)}; the deployment serves {calls(case.served)}."
    table = Table(("what", "calls", "exactly"), tuple((name, calls(value), exact(value, "calls")) for name, value in rows.items()))
    return Figure(
        "counts", title, across, Axis("band", names=tuple(rows)), (*dots, *reveal), words, table,
        "dots follow the dials; your mark and the answer use the question's rates",
    )  # fmt: skip


def duration(case: Case, less: float = 0.0) -> str:
    """How long the deployment runs: `30 days`, `one run`."""
    return "one run" if case.once else _spelled(case.days - less)


def calls(value: float) -> str:
    return format_quantity(value, "call" if value == 1 else "calls", 6)


def cards(case: Case) -> list[dict[str, Any]]:
    good = "good" if case.pays else "bad"
    remaining = f"{duration(case, case.breakeven_days)} left to gain" if case.pays else "the compile time is not paid back"
    return [
        kit.text_card("Break-even, calls", f"{case.breakeven_calls:,}", exact=exact(case.breakeven, "calls"),
            note=f"each saves {format_quantity(case.saved_s, 's')}"),
        kit.card("Break-even after", case.breakeven_days * payback.DAY, "s", tone=good, note=f"deployed for {duration(case)}",
            word="before the end" if case.pays else "after the end"),
        kit.text_card("Served, calls", format_quantity(case.served), exact=exact(case.served, "calls"),
            note=f"{significant(case.per_day, 6)} per day"),
        kit.card("Net time saved", case.net(case.days), "s", tone=good, note=remaining, word="positive" if case.pays else "negative"),
        kit.text_card("Devices", f"{case.devices:,}", note=f"{significant(case.eager_rate)} calls per second each"),
    ]  # fmt: skip


def formula(case: Case) -> str:
    bottom = "1/<i>R</i><sub>eager</sub> − 1/<i>R</i><sub>compiled</sub>"
    filled = f"1/{significant(case.eager_rate, 4)} − 1/{significant(case.compiled_rate, 4)}"
    cost = kit.amount(case.compile_s, "s") if case.devices == 1 else f"{case.devices:,} × {kit.amount(case.compile_s, 's')}"
    return line("<i>N</i> =", fraction(term("overhead", "<i>t</i><sub>compile</sub>"), bottom)) + line(
        "=", fraction(term("overhead", cost), filled), "=", f"{kit.dress(f'{case.breakeven:,.2f}')}, so call {case.breakeven_calls:,}"
    )


def _spelled(days: float) -> str:
    """For a sentence: `13.4 days`, but `19.2 min`."""
    return re.sub(" d$", " days", show(days * payback.DAY, "s"))


def _slots(*names: str) -> Callable[[Case], dict[str, object]]:
    def slots(case: Case) -> dict[str, object]:
        every = {
            "calls": f"{case.breakeven_calls:,}", "day": _spelled(case.breakeven_days),
            "days": "one run" if case.once else _spelled(case.days),
            "served": significant(case.served, 6), "net": kit.amount(abs(case.net(case.days)), "s"),
            "left": _spelled(case.days - case.breakeven_days),
        }  # fmt: skip
        return {name: every[name] for name in names}

    return slots


ALL = ("calls", "day", "days", "served", "net")
LIMITS = (
    Limit(
        "pays",
        "good",
        "Compiling pays",
        lambda case: case.pays and case.decision == COMPILE,
        _slots("calls", "day", "days", "net", "left"),
    ),
    warn("forgone", "Staying eager gives up a gain", lambda case: case.pays, _slots("day", "days", "net")),
    fail("fails_once", "Compiling does not pay", lambda case: case.decision == COMPILE and case.once, _slots("calls", "net")),
    fail("fails", "Compiling does not pay", lambda case: case.decision == COMPILE, _slots(*ALL)),
    good("stays", "Staying eager is right here", _slots(*ALL)),
)


def banner(lab: kit.Lab, case: Case) -> dict[str, Any]:
    limit = hit(LIMITS, case)
    text = lab.fill(f"act2.{limit.name}", **limit.slots(case))
    if case.devices > 1:
        text += "\n\n" + lab.fill("act2.devices", **device_slots(case))
    return kit.banner(limit.tone, limit.title, kit.html(text))


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
        gain = kit.amount(100 * (eager.value("wall_s") / compiled.value("wall_s") - 1), "%")
        first = kit.amount(compiled.value("compile_s"), "s")
        paragraphs.append(lab.fill("act2.measured", gain=gain, compile=first, source=jobs.source()))
    elif textbook(case.model).eager_rate:
        paragraphs.append(lab.fill("act2.stated", source=textbook(case.model).compiled_source))
        paragraphs += _rounded(lab, case)
    else:
        launch = kit.amount(jobs.launch_of(lab.current_context), "s")
        paragraphs.append(lab.fill("act2.from_act1", launch=launch, device=the(lab.current_context)))
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
