"""Act II: what the instrument shows for a case, and what the words need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ironlaw import kit
from ironlaw.formats import intensity_unit, operation
from ironlaw.kit import settings
from ironlaw.kit.context import pick, the
from ironlaw.labs.lab_01_magnitude import models
from ironlaw.labs.lab_01_magnitude.act2 import figures, local_runs, slots
from ironlaw.labs.lab_01_magnitude.act2.case import CONVENTIONS, EACH, LAUNCH, Case, models_by_fit, premise
from ironlaw.labs.lab_01_magnitude.devices import CLOUD
from ironlaw.pictures.beside import beside as with_measured
from ironlaw.pictures.terms import terms as term_bars
from ironlaw.registry.workloads import about
from ironlaw.systems.limits import fail, good, hit, warn
from ironlaw.units import show, significant
from ironlaw.widget.figure import tabbed

NAMES = {"memory": "Memory, D/BW", "compute": "Compute, O/R", "overhead": "Overhead, L"}
FITS = {"good": "fits", "middling": "tight", "bad": "does not fit"}
FOLLOWS = ("device",)
CLAIMS = ("resnet_4_gflop", "overhead_negligible", "resnet_memory_outweighs")


def dials(lab: kit.Lab) -> Any:
    models.warm()
    devices = [(c.slug, c.menu_label) for c in lab.contexts]

    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        slug = values.get("device") or lab.current_context.slug
        context = pick(lab.contexts, slug)
        has = ", ".join(fmt.upper() for fmt in models.FORMATS if fmt in context.hardware.peaks)
        lacking = {f: f"{the(context)} has no {f.upper()} unit; it has {has}" for f in models.FORMATS if f not in context.hardware.peaks}
        return [kit.select("device", "Device", devices, slug), *settings.dials(Case, dtype={"disabled": lacking})]

    return dials_at


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    case = settings.read(Case, values, hardware=pick(lab.contexts, values["device"]).hardware)
    at_premise = case == premise(CLOUD)
    option = lab.choice("act2")
    claim = str(option.value) if option else None
    said = (claim, str(premise(CLOUD).prediction.bound)) if claim else ()
    bars = with_measured(term_bars(case.prediction, *said), local_runs.bars(lab, case))
    drawn = [
        tabbed(bars, "Three terms"), tabbed(figures.needs(case), "Memory"),
        tabbed(figures.curves(case), "Intensity by batch"),
    ]  # fmt: skip
    return kit.View(
        drawn,
        cards(case),
        formula(case),
        banner(lab, case),
        notes(lab, case, at_premise),
        readouts(case),
        seen={"why": _why(lab, at_premise)},
    )


def _why(lab: kit.Lab, at_premise: bool) -> str:
    return lab.fill("act2.fetched", **slots.fetched()) if at_premise else lab.fill("act2.longest")


def readouts(case: Case) -> dict[str, Any]:
    fits = bool(case.footprint.fits)
    return {"bottleneck": case.bottleneck, "constraint_hit": not fits, "oom_triggered": not fits}


def cards(case: Case) -> list[dict[str, Any]]:
    prediction, figures = case.prediction, case.hardware.figures
    sources = {"memory": figures.get("bandwidth"), "compute": figures.get(f"peak.{case.dtype}"), "overhead": figures.get("launch")}
    terms = [
        kit.card(NAMES[name], value, "s", note="bottleneck" if name == prediction.bound else "", source=sources[name] or "", term=name)
        for name, value in case.seconds.items()
    ]
    low, high = prediction.overlap
    terms.append(kit.card("Total, overlapped", low, "s", note=f"to {show(high, 's')} in sequence"))
    return [*terms, _memory_card(case)]


def _memory_card(case: Case) -> dict[str, Any]:
    need = case.footprint
    ratio = float(need.total / need.usable)
    tone = kit.tone("memory", ratio)
    of = f"{significant(ratio)}× the" if ratio > 1 else f"{kit.share(need.total, need.usable)} of"
    return kit.card("Memory needed", need.total, "B", tone=tone, note=f"{of} {show(need.usable, 'B')}", word=FITS[tone])


def formula(case: Case) -> str:
    machine, work = case.hardware, case.work
    seconds = (case.seconds["memory"], case.seconds["compute"], case.seconds["overhead"])
    rate, done = machine.peak(case.dtype), work.matmul_flops if machine.has_matrix_units(case.dtype) else work.flops
    return kit.iron_law(work.bytes, machine.bandwidth, done, rate, case.launches, machine.launch, seconds, operation(case.dtype))


def _needs(case: Case) -> dict[str, object]:
    need = case.footprint
    return {"required": kit.amount(need.total, "B"), "available": kit.amount(need.usable, "B")}


def _room(case: Case) -> dict[str, object]:
    return _needs(case) | {"room": kit.amount(case.footprint.headroom, "B")}


def _weights(case: Case) -> dict[str, object]:
    return {"weights": kit.amount(case.facts.needs.weights, "B")}


def _fits(case: Case) -> dict[str, object]:
    activations = {} if case.from_flash else {"activations": kit.amount(case.footprint.activations, "B")}
    return _room(case) | _weights(case) | activations


def _fits_barely(case: Case) -> bool:
    return kit.tone("memory", case.footprint.total / case.footprint.usable) == "middling"


LIMITS = (
    fail("oom", "Out of memory: there is no room to run it", lambda case: not case.footprint.fits),
    warn("tight", "It fits, barely", _fits_barely,
         lambda case: _room(case) | {"share": kit.share(case.footprint.total, case.footprint.usable)}),
    good("fits", "It fits", _fits),
)  # fmt: skip


def banner(lab: kit.Lab, case: Case) -> dict[str, Any]:
    """A microcontroller's SRAM has sentences of its own."""
    limit = hit(LIMITS, case)
    if limit.tone == "fail":
        return kit.banner(limit.tone, limit.title, kit.html(_too_much(lab, case, _needs(case))))
    section = "act2.fits_sram" if case.from_flash and limit.tone == "good" else f"act2.{limit.name}"
    return kit.banner(limit.tone, limit.title, kit.inline(lab.fill(section, **limit.slots(case))))


def _too_much(lab: kit.Lab, case: Case, slots: Mapping[str, object]) -> str:
    """How much too large it is, in every format; on a microcontroller it is the activations that count."""
    need, each = case.footprint, {f: replace(case, dtype=f) for f in models.FORMATS}
    factor = kit.times(need.total / need.usable)
    if case.from_flash:
        per = ", ".join(f"{kit.times(c.footprint.total / need.usable)} in {f.upper()}" for f, c in each.items() if f in case.hardware.peaks)
        text = lab.fill("act2.oom_sram", **slots, factor=factor, per_format=kit.Markup(per), **_weights(case))
    else:
        per = ", ".join(f"{kit.times(c.footprint.weights / need.usable)} in {f.upper()}" for f, c in each.items())
        text = lab.fill("act2.oom", **slots, factor=factor, per_format=kit.Markup(per))
    return f"{text}\n\n{_what_fits(lab, case)}" if _never_fits(case) else text


def _never_fits(case: Case) -> bool:
    """Whether it fits at no batch and in no format."""
    formats = [f for f in models.FORMATS if f in case.hardware.peaks]
    return not case.largest_batch and not any(replace(case, batch=1, dtype=f).footprint.fits for f in formats)


def _what_fits(lab: kit.Lab, case: Case) -> str:
    inside, outside = models_by_fit(case.hardware)
    lists = [", ".join(f"{name} in {fmt} ({kit.amount(size, 'B')})" for name, fmt, size in group) or "none" for group in (inside, outside)]
    return lab.fill("act2.oom_none", fitting=kit.Markup(lists[0]), failing=kit.Markup(lists[1]))


def notes(lab: kit.Lab, case: Case, at_premise: bool) -> str:
    paragraphs = [lab.fill(f"act2.convention_{case.convention}")]
    if case.from_flash:
        rates = {"flash": case.hardware.bandwidth, "sram": case.hardware.activation_bandwidth}
        amounts = {name: kit.amount(rate, "B/s") for name, rate in rates.items()}
        paragraphs.append(lab.fill("act2.flash", weights=kit.amount(case.facts.needs.weights, "B"), **amounts))
    if case.launch == EACH:
        paragraphs.append(lab.fill("act2.bare") if case.launches == 1 else lab.fill("act2.kernels", **slots.kernels(case)))
    if case.batch > 1:
        paragraphs.append(_saturation(lab, case))
    if case.hardware.reserved:
        machine = case.hardware
        sizes = {"capacity": machine.capacity, "reserved": machine.reserved}
        available = kit.amount(machine.usable, "B")
        paragraphs.append(lab.fill("act2.kept", **{name: kit.capacity(size) for name, size in sizes.items()}, available=available))
    paragraphs.append(lab.fill("act2.mark_here") if at_premise else lab.fill("act2.mark_elsewhere", case=premise_label(lab)))
    return kit.html("\n\n".join(paragraphs))


def premise_label(lab: kit.Lab) -> str:
    """The prediction's own settings in words."""
    case = premise(CLOUD)
    device = pick(lab.contexts, CLOUD).label
    model = f"{about(case.workload)['name']} on the {device}, batch {case.batch}, {case.dtype.upper()}"
    return f"{model}, {CONVENTIONS[case.convention]}, {LAUNCH[case.launch]}"


def _saturation(lab: kit.Lab, case: Case) -> str:
    last = models.BATCHES[-1]
    ends = {c: models.facts(case.workload, last, case.dtype).whole[c].work.intensity for c in ("ops", "fused")}
    ridge = case.hardware.ridge(case.dtype, case.hardware.activations or "main")  # many images: nearly all that moves is activations
    over = [CONVENTIONS[c] for c, intensity in ends.items() if intensity >= ridge]
    unit = intensity_unit(case.dtype)
    text = lab.fill(
        "act2.levelling", batch=str(last), unfused=kit.amount(ends["ops"], unit), fused=kit.amount(ends["fused"], unit),
        format=case.dtype.upper(), ridge=kit.amount(ridge, unit),
    )  # fmt: skip
    return text + " " + (lab.fill("act2.crosses", which=" and ".join(over)) if over else lab.fill("act2.below"))
