"""Act II's words: truth, distance and slots, for the design that the learner starts from."""

from __future__ import annotations

from ironlaw import kit, lab_names
from ironlaw.labs.lab_v2_17_synthesis import record, starts
from ironlaw.labs.lab_v2_17_synthesis.act2.figures import LEVERS
from ironlaw.labs.lab_v2_17_synthesis.act2.readings import NAMES, in_a_sentence, limit, read, reading
from ironlaw.registry.traces import trace
from ironlaw.systems.serving.served_cases import CHAT
from ironlaw.systems.whole import LIMITS, Design, Faster, broken, evaluate, margins
from ironlaw.systems.whole import design as premises
from ironlaw.systems.whole.whole_levers import ASKED, CHANGE, tornado
from ironlaw.systems.whole.whole_serving import power
from ironlaw.units import significant

NOBODYS = "the course's, because you have saved none of your own yet"
WORST = "You are worst calibrated in {lab} ({right} of {answers} right), so review that first"
UNKNOWN = "Nothing can be said yet about where you are worst calibrated, because your ledger holds no prediction from another lab"


def message() -> dict[str, object]:
    return {
        "tokens": f"{significant(premises.TOKENS / 1e12)} trillion", "days": limit("days"),
        "hours": f"{significant(LIMITS['hours'].value / 1e6)} million hours",
        "energy": limit("energy"), "carbon": limit("carbon"), "ttft": limit("ttft"), "tbt": limit("tbt"),
        "up": limit("availability"), "rate": significant(premises.LOAD * trace(CHAT).rate), "epsilon": limit("epsilon"),
        "lasts": limit("goodput"), "ports": limit("ports"),
    }  # fmt: skip


def lock(lab: kit.Lab) -> dict[str, object]:
    design = starts.start_of(lab).design
    given = starts.given(lab)
    return {
        "whose": f"yours, from {given}, and the course's where you saved none" if given else NOBODYS,
        "gpus": f"{design.gpus:,}", "layout": str(design.layout), "nics": str(design.nics), "thin": f"{design.thin:g}",
        "scattered": f"{100 * design.scattered:g}%", "far": kit.amount(design.far_every, "s"), "change": f"{100 * CHANGE:g}%",
        "between": kit.amount(evaluate(design).values["between"], "s"), "storage": kit.amount(premises.STORAGE, "B/s"),
        "restart": kit.amount(premises.DETECT + premises.RESTART, "s"),
    }  # fmt: skip


def _bars(lab: kit.Lab) -> dict[str, float]:
    """Lever -> days with a tenth more."""
    return {bar.name: bar.high for bar in tornado(starts.start_of(lab).design)}


def truth(lab: kit.Lab) -> str:
    return LEVERS[str(lab.question("act2").answer)]


def distance(lab: kit.Lab) -> str:
    option = lab.choice("act2")
    if option is None:
        return ""
    if lab.correct("act2"):
        return "right"
    days, bars = evaluate(starts.start_of(lab).design).values["days"], _bars(lab)
    mine, best = (days - bars[str(name)] for name in (option.value, lab.question("act2").answer))
    return f"off, because it saves {significant(mine, 2)} days and the longest lever {significant(best, 2)}"


def reveal(lab: kit.Lab) -> dict[str, object]:
    design = starts.start_of(lab).design
    days, bars = evaluate(design).values["days"], _bars(lab)
    saved = {f"{name}_days": f"{significant(days - bars[name], 2)} days" for name in ASKED}
    return {
        "days": reading("days", days), "change": f"{100 * CHANGE:g}%", **saved,
        "nvlink_days": f"{significant(days - bars['nvlink'], 2)} days", "broken": str(len(broken(evaluate(design)))),
        "names": ", ".join(in_a_sentence(name) for name in broken(evaluate(design))) or "none",
    }  # fmt: skip


def reflection() -> dict[str, object]:
    house = Design()
    now, twice = evaluate(house).values["days"], evaluate(house, Faster(flops=2)).values["days"]
    four = evaluate(house, Faster(flops=4)).values["days"]
    lever = next(bar.lever for bar in tornado(house) if bar.name == "flops")
    return {
        "now": reading("days", now), "twice": reading("days", twice), "four": reading("days", four),
        "share": f"{significant(100 * twice / now, 2)}%",
        "lever": significant(abs(lever), 2), "promise": f"{significant(100 * 2**lever, 2)}%",
    }  # fmt: skip


def peek() -> dict[str, object]:
    house = Design()
    bars = {bar.name: bar for bar in tornado(house)}
    report = evaluate(house)
    rates = ("flops", "hbm", "nvlink", "nics")
    return {
        "lever": significant(bars["flops"].lever, 2).replace("-", "−"), "now": reading("days", report.values["days"]),
        "high": reading("days", bars["flops"].high), "change": f"{100 * CHANGE:g}%",
        "sum": significant(sum(bars[name].lever for name in rates), 2).replace("-", "−"),
        "peak": f"{significant(report.peak / 1e6)} million", "useful": f"{significant(report.useful / 1e6)} million",
        "power": kit.amount(power(), "W"), "hours": reading("hours", report.values["hours"]),
        "energy": reading("energy", report.values["energy"]),
        "carbon": reading("carbon", report.values["carbon"]),
    }  # fmt: skip


def takeaways(lab: kit.Lab) -> dict[str, object]:
    """Computed sentences: the bottleneck, the strongest lever, where the learner is worst calibrated."""
    values = lab.readouts.get("act2")
    design = starts.shown(lab) if not values else Design(**{name: values[name] for name in Design.__dataclass_fields__})
    report = evaluate(design)
    tight = min(margins(report).items(), key=lambda each: each[1])[0]
    bars = tornado(design) if not report.refusal else ()
    own = record.record(lab)
    worst = own.themes[0] if own.themes else None
    return {
        "binding": NAMES[tight], "value": read(report, tight), "limit": limit(tight),
        "state": "is broken" if broken(report) else "holds",
        "lever": LEVERS[bars[0].name] if bars else "none, because the layout doesn't divide",
        "gain": f"{significant(abs(bars[0].lever), 2)}%" if bars else "no",
        "theme": WORST.format(lab=lab_names.name(worst.lab), right=worst.right, answers=worst.answers) if worst else UNKNOWN,
    }  # fmt: skip
