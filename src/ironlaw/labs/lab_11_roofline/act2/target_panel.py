"""The end of the lab: a change is chosen and its effect on the whole model estimated, then a design is found on the dials and committed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ironlaw import kit
from ironlaw.kit import settings
from ironlaw.kit.formula import fraction, line, term
from ironlaw.labs.lab_11_roofline.act2 import figures, target, target_figures
from ironlaw.labs.lab_11_roofline.act2.layer import Case
from ironlaw.labs.lab_11_roofline.act2.served import weights_read
from ironlaw.registry.workloads import about, kv_cache
from ironlaw.systems.limits import fail, good, warn
from ironlaw.units import significant
from ironlaw.widget.dials import settle
from ironlaw.widget.figure import Mark, mark, tabbed

NAME = "act2_target"
FIXED = True  # the question names the device
STEP = 500  # of the estimate, in tokens per second


def _rate(value: float) -> str:
    """Tokens per second, in full: the target is compared with them."""
    return f"{value:,.0f}"


def message(lab: kit.Lab) -> dict[str, object]:
    now = target.today()
    return {
        "model": about(now.model)["name"], "context": f"{now.context:,}", "target": _rate(target.TARGET), "batch": now.batch,
        "now": _rate(now.rate),
    }  # fmt: skip


def lock(lab: kit.Lab) -> dict[str, object]:
    now = target.today()
    return {
        "model": about(now.model)["name"], "context": f"{now.context:,}", "target": _rate(target.TARGET),
        "available": kit.dress(kit.capacity(float(now.footprint.usable))),
    }  # fmt: skip


def sealed(lab: kit.Lab) -> kit.Estimate:
    return kit.Estimate(lab.fill(f"{NAME}.estimate"), "tokens/s", STEP, 2 * target.TARGET, STEP)


def dials(lab: kit.Lab) -> Any:
    names = ("batch", "weights", "cache", "fusion", "tiled")
    return lambda values: settings.dials(Case, names, batch={"high": target.BATCHES[-1], "value": target.BATCH})


def design_of(lab: kit.Lab, values: Mapping[str, Any]) -> Case:
    """The design of the dials, or a committed one; one from an import may hold what no dial can."""
    today, (values, _) = target.today(), settle(dials(lab)({}), values)
    return settings.read(Case, values, hardware=today.hardware, model=today.model, phase=today.phase, context=today.context)


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    design = design_of(lab, values)
    pictures = [tabbed(target_figures.picture(design, answer_marks(lab)), "Tokens per second"), tabbed(figures.budget(design), "Memory")]
    fits = bool(design.footprint.fits)
    return kit.View(
        pictures, cards(design), formula(design), banner(lab, design), note=kit.html(lab.fill(f"{NAME}.note")),
        readouts={"target_met": target.met(design), "tokens_per_s": round(design.rate, 1) if fits else None},
    )  # fmt: skip


def answer_marks(lab: kit.Lab) -> list[Mark]:
    """What the chosen change was expected to bring with the largest batch that then fits, and what it brings."""
    option, said = lab.first_choice(NAME), lab.sealed(NAME, "estimate")
    if option is None or said is None:
        return []
    case, words = target.after(option.id), WORDS[option.id]
    at: dict[str, Any] = {"x": float(case.batch), "shape": "diamond", "size": 8}
    return [
        mark("point", "accent", **at, y=float(said), role="prediction", id="said", name="your estimate", label=f"you said {_rate(said)}",
             hover=[("your estimate", words), ("tokens/s", _rate(said))]),
        mark("point", "ink", **at, y=case.rate, role="truth", id="truth", name=words, label=f"{words}: {_rate(case.rate)}",
             hover=[("it makes", _rate(case.rate)), ("batch", f"{case.batch:,}")]),
    ]  # fmt: skip


def cards(design: Case) -> list[dict[str, Any]]:
    need, fits, met = design.footprint, bool(design.footprint.fits), target.met(design)
    goal = f"target {_rate(target.TARGET)}"
    rate = kit.text_card("Tokens/s", _rate(design.rate) if fits else "–", tone="good" if met else "bad",
        word="met" if met else "not yet" if fits else "out of memory", note=goal)  # fmt: skip
    share = float(need.total / need.usable)
    memory = kit.card("Memory", float(need.total), "B", tone=kit.tone("memory", share), note=f"{kit.share(need.total, need.usable)} of "
                      f"{kit.capacity(float(need.usable))}")  # fmt: skip
    best = target.at_most(target.setting(design))
    return [
        rate,
        {**memory, "word": "fits" if fits else "does not fit"},
        kit.text_card("In the largest batch", _rate(best.rate), note="tokens/s, with memory full"),
        kit.text_card("Each user", significant(design.per_user) if fits else "–", "tokens/s" if fits else "", note=""),
    ]


def formula(design: Case) -> str:
    read = weights_read(design.model, design.fmt, design.weights)
    each = float(kv_cache(design.model, 1, design.context, design.cache))
    data = fraction("weights + <i>B</i> · keys and values", "<i>BW</i>")
    weights, cache = kit.amounts((read, each), "B")
    top = f"{weights} + {design.batch:,} × {cache}"
    filled = fraction(top, kit.amount(float(design.hardware.bandwidth), "B/s"))
    least = (read + design.batch * each) / float(design.hardware.bandwidth)
    return line("<i>T</i> ≥", term("memory", data), "=", term("memory", filled), "=", kit.amount(least, "s")) + line(
        "tokens/s =", fraction("<i>B</i>", "<i>T</i>"), "=", fraction(f"{design.batch:,}", kit.amount(design.seconds, "s")), "=",
        _rate(design.rate),
    )  # fmt: skip


def _full(design: Case) -> dict[str, object]:
    need = design.footprint
    return {"required": kit.amount(float(need.total), "B"), "available": kit.dress(kit.capacity(float(need.usable)))}


def _short(design: Case) -> dict[str, object]:
    return {"rate": _rate(design.rate), "short": _rate(target.TARGET - design.rate)}


def _met(design: Case) -> dict[str, object]:
    return {"rate": _rate(design.rate), "room": kit.amount(float(design.footprint.headroom), "B")}


LIMITS = (
    fail("oom", "Out of memory", lambda design: not design.footprint.fits, _full),
    warn("short", "Too few tokens per second", lambda design: not target.met(design), _short),
    good("met", "The target is met", _met),
)


def banner(lab: kit.Lab, design: Case) -> dict[str, Any]:
    return settings.verdict(lab, NAME, LIMITS, design)


GOAL = kit.Goal(design_of, LIMITS, ("batch", "weights", "cache", "fusion", "tiled"))


def task(lab: kit.Lab) -> dict[str, object]:
    return {"target": _rate(target.TARGET)}


# --- the reveal: what the chosen change does, and how far off the estimate was


def effect(lab: kit.Lab) -> str:
    option = lab.choice(NAME)
    if option is None:
        return ""
    case = target.after(option.id)
    return (
        f"{_rate(case.rate)} tokens/s at batch {case.batch:,}, which {'reaches' if target.met(case) else 'misses'} {_rate(target.TARGET)}"
    )


def distance(lab: kit.Lab) -> str:
    option, said = lab.first_choice(NAME), lab.sealed(NAME, "estimate")
    if option is None or said is None:
        return "on record without an estimate"
    true = target.after(option.id).rate
    off = 100 * abs(said / true - 1)
    way = "too high" if said > true else "too low"
    near = "within a step of the slider" if abs(said - true) <= STEP else f"{significant(off, 2)}% {way}"
    return f"{near}. You expected {_rate(said)} from {WORDS[option.id]}, and it is {_rate(true)}"


WORDS = {"batch": "the batch alone", "kernels": "better kernels", "weights": "FP8 weights", "cache": "FP8 keys and values"}


def reveal(lab: kit.Lab) -> dict[str, object]:
    rates = {f"{way}_rate": _rate(target.after(way).rate) for way in target.WAYS}
    fits = {f"{way}_batch": f"{target.after(way).batch:,}" for way in target.WAYS}
    alone = replace(target.today(), batch=1)
    gain = significant(replace(alone, weights="fp8").rate / alone.rate)
    return {**rates, **fits, "target": _rate(target.TARGET), "weights_alone": kit.dress(gain)}


# --- the design


def judge(lab: kit.Lab, values: Mapping[str, Any]) -> kit.Verdict:
    design = design_of(lab, values)
    if not design.footprint.fits:
        return kit.Verdict(False, lab.fill(f"{NAME}.judged_oom", design=_words(design)))
    slots: dict[str, object] = {"design": _words(design), "rate": _rate(design.rate)}
    if not target.met(design):
        return kit.Verdict(False, lab.fill(f"{NAME}.judged_short", **slots, short=_rate(target.TARGET - design.rate)))
    half = replace(design, cache="fp16")
    each = {fmt: kit.amount(float(kv_cache(design.model, 1, design.context, fmt)), "B") for fmt in ("fp16", design.cache)}
    slots |= {
        "share": kit.share(design.footprint.total, design.footprint.usable), "before": each["fp16"], "after": each[design.cache],
        "without": _rate(target.ceiling(target.setting(half))), "target": _rate(target.TARGET), "user": significant(design.per_user),
        "user_today": significant(target.today().per_user),
    }  # fmt: skip
    return kit.Verdict(True, lab.fill(f"{NAME}.judged_met", **slots))


def _words(design: Case) -> str:
    kernels = {"separate": "nothing fused", "adjacent": "adjacent ops fused", "all": "all element-wise ops fused"}[design.fusion]
    attention = "tiled attention" if design.tiled else "scores through memory"
    return f"Batch {design.batch:,}, {design.weights.upper()} weights, {design.cache.upper()} keys and values, {kernels}, {attention}"


def truth(lab: kit.Lab) -> str:
    return f"{kit.inline(lab.question(NAME).right.label)} {_rate(target.after(lab.question(NAME).right.id).rate)} tokens/s"


def design(lab: kit.Lab) -> dict[str, Any]:
    """What the ledger keeps: the choice, what was expected of it, and the committed design with what it makes."""
    option, event = lab.choice(NAME), lab.decision(NAME)
    case = design_of(lab, event.payload["dials"]) if event else None
    fits = bool(case and case.footprint.fits)
    return {
        "target_choice": option.id if option else None, "target_estimate": lab.sealed(NAME, "estimate"),
        "target_design": dict(event.payload["dials"]) if event else None, "target_met": bool(event.payload["met"]) if event else None,
        "target_tokens_per_s": round(case.rate, 1) if case and fits else None,
    }  # fmt: skip
