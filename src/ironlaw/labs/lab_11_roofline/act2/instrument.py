"""Act II: a whole layer under the roof. Dials, readouts, formula, banner and notes; nothing is typed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ironlaw import kit
from ironlaw.engine.device.roofline import roofline
from ironlaw.formats import intensity_unit
from ironlaw.kit import settings
from ironlaw.kit.formula import fraction, line, term
from ironlaw.labs.lab_11_roofline import intensity
from ironlaw.labs.lab_11_roofline.act2 import figures, kernels, layer
from ironlaw.labs.lab_11_roofline.act2.layer import Case, parts
from ironlaw.labs.lab_11_roofline.act2.notes import norm_in_one_kernel, notes
from ironlaw.labs.lab_11_roofline.machines import KINDS, best_kind, machine, no_curves, options
from ironlaw.systems.limits import fail, good, hit, warn
from ironlaw.units import counted, show, significant
from ironlaw.widget.figure import halved, tabbed

FITS = {"good": "fits", "middling": "tight", "bad": "does not fit"}
KERNELS = {"projection": "Projection GEMM", "norm": "Norm", "softmax": "Softmax", "attention": "Attention (softmax inside)"}
FOLLOWS = ("device",)
CLAIMS = ("decode_weight_floor", "prefill_arithmetic_floor", "flash_wall_2_to_4x")
NOTES = {"calibrated": "", "transferred": "; ≈", "bound": "; a bound"}  # after a rate, by the kind of its times
MORE = ("device", "model", "cache", "measured")  # dials in the fold


def dials(lab: kit.Lab) -> Any:
    devices = options(lab)

    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        slug = values.get("device") or lab.current_context.slug
        chosen = machine(lab, slug)
        best = best_kind(chosen)
        curves = {True: no_curves(slug)} if best == "bound" else {}
        every = [
            kit.select("device", "Device", devices, slug),
            *settings.dials(Case, measured={"options": rates(best), "disabled": curves}),
        ]
        return every

    return dials_at


def rates(best: str) -> dict[bool, str]:
    """What the dial of rates offers: the datasheet, and the nearest that there is beside it."""
    return {False: KINDS["bound"], True: KINDS["calibrated" if best == "bound" else best]}


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    case = settings.read(Case, values, hardware=machine(lab, values["device"]))
    option = lab.choice("act2")
    own_case = kernels.picture(option.id if option else None)
    pictures = [
        tabbed(own_case, "Three kernels"), tabbed(figures.picture(case), "The layer"),
        *(halved(one, "Time and memory") for one in (figures.times(case), figures.budget(case))),
    ]  # fmt: skip
    return kit.View(pictures, cards(case), formula(case), banner(lab, case), readouts=readouts(case), after=notes(lab, case))


def readouts(case: Case) -> dict[str, Any]:
    out = not case.footprint.fits
    return {
        "fusion": case.fusion,
        "constraint_hit": out,
        "oom_triggered": out,
        "tokens_per_s": None if out else round(case.rate, 1),
        "model": case.model,
        "phase": case.phase,
    }


def cards(case: Case) -> list[dict[str, Any]]:
    kernel_cards = []
    for name, work in parts(case).items():
        side = str(roofline(work.flops, work.bytes, case.hardware, case.fmt, work=work.kind).regime)
        one = significant(norm_in_one_kernel(case)[1]) if name == "norm" else ""  # where the picture of three kernels has it
        apart = f"; {one} in one kernel" if one not in ("", significant(work.intensity)) else ""
        kernel_cards.append(
            {
                **intensity.card(KERNELS[name], work.intensity, case.fmt, f"{intensity_unit(case.fmt)}, {side}-bound{apart}"),
                "unit": "",
                "term": side,
            }
        )
    order = list(KERNELS.values())
    kernel_cards.sort(key=lambda card: order.index(card["label"]))
    fits = bool(case.footprint.fits)
    each = f"{significant(case.per_user)} per user" if case.phase == "decode" else f"first token after {show(case.seconds, 's')}"
    note = f"{each}{NOTES[case.basis]}"
    rate = {**kit.card("Tokens/s", case.rate, "tokens/s", note=note), "unit": ""}
    return [
        *kernel_cards,
        rate if fits else kit.text_card("Tokens/s", "–", note="does not fit"),
        _memory_card(case),
    ]


def _memory_card(case: Case) -> dict[str, Any]:
    need = case.footprint
    ratio = float(need.total / need.usable)
    tone = kit.tone("memory", ratio)
    of = f"{significant(ratio)}× the" if ratio > 1 else f"{kit.share(need.total, need.usable)} of"
    return kit.card("Memory", float(need.total), "B", tone=tone, note=f"{of} {kit.capacity(float(need.usable))}", word=FITS[tone])


def formula(case: Case) -> str:
    need, params = case.footprint, layer.settings_of(case.model)
    *sizes, total = kit.amounts([float(size) for size in (need.weights, need.kv_cache, need.activations, need.total)], "B")
    shape = (params["layers"], params["kv_heads"], params["head_dim"])
    cache = " × ".join(str(v) for v in (2, *shape, significant(case.kept_bytes), case.batch, case.context))
    bound = term("memory", "Σ max(<i>D/BW</i>, <i>O/R</i>)")
    rate = fraction(counted(case.tokens, "token"), kit.amount(case.seconds, "s"))
    return (
        line("memory = weights + KV cache + live activations =", " + ".join(sizes), "=", total)
        + line("KV cache = 2 <i>L h</i><sub>kv</sub> <i>d b B S</i> =", cache, "=", kit.amount(float(need.kv_cache), "B"))
        + line("tokens/s =", fraction("tokens", f"{bound} + <i>L</i>"), "=", rate, "=", significant(case.rate))
    )


# --- the banner


def _sizes(case: Case) -> dict[str, object]:
    need = case.footprint
    parts = [float(size) for size in (need.weights, need.kv_cache, need.activations, need.total)]
    sizes = kit.amounts(parts, "B") if need.fits else [kit.amount(size, "B") for size in parts]  # else one may be a thousand times another
    named = dict(zip(("weights", "cache", "activations", "required"), sizes, strict=True))
    return {**named, "available": kit.dress(kit.capacity(float(need.usable)))}


def _oom(case: Case) -> dict[str, object]:
    return _sizes(case) | {"over": kit.amount(float(-case.footprint.headroom), "B")}


def _room(case: Case) -> dict[str, object]:
    return _sizes(case) | {"room": kit.amount(float(case.footprint.headroom), "B")}


def _tight(case: Case) -> dict[str, object]:
    return _room(case) | {"share": kit.share(case.footprint.total, case.footprint.usable)}


def _fits(case: Case) -> dict[str, object]:
    return _room(case) | {"batch": f"{case.largest_batch:,}", "context": f"{case.largest_context:,}"}


def _fits_barely(case: Case) -> bool:
    return kit.tone("memory", float(case.footprint.total / case.footprint.usable)) == "middling"


LIMITS = (
    fail("oom", "Out of memory", lambda case: not case.footprint.fits, _oom),
    warn("tight", "It only just fits", _fits_barely, _tight),
    good("fits", "It fits", _fits),
)


def banner(lab: kit.Lab, case: Case) -> dict[str, Any]:
    limit = hit(LIMITS, case)
    text = lab.fill(f"act2.{limit.name}", **limit.slots(case))
    return kit.banner(limit.tone, limit.title, kit.html(f"{text}\n\n{way_out(lab, case)}" if limit.tone == "fail" else text))


def way_out(lab: kit.Lab, case: Case) -> str:
    batch, context = case.largest_batch, case.largest_context
    if batch and context:
        return lab.fill("act2.oom_less", batch=f"{batch:,}", context=f"{context:,}")
    if batch:
        return lab.fill("act2.oom_less_batch", batch=f"{batch:,}")
    if context:
        return lab.fill("act2.oom_less_context", context=f"{context:,}")
    smaller = [fmt for fmt in layer.WEIGHTS if replace(case, weights=fmt, batch=1, context=256).footprint.fits]
    if smaller:
        way = lab.fill("act2.way_format", formats=", ".join(fmt.upper() for fmt in smaller))
    else:
        models = layer.models_that_fit(case.hardware)
        way = lab.fill("act2.way_model", models=", ".join(models)) if models else lab.fill("act2.way_none")
    return lab.fill("act2.oom_weights", way=way)
