"""Act I: one matrix product under the roof. Dials, readouts, formula and notes; nothing is typed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.engine.device.types import bytes_per_element
from ironlaw.formats import intensity_unit, operation
from ironlaw.kit import settings
from ironlaw.kit.formula import fraction, line, term
from ironlaw.kit.instrument import stand
from ironlaw.labs.lab_11_roofline import intensity
from ironlaw.labs.lab_11_roofline.act1 import figures, gemm, local_runs
from ironlaw.labs.lab_11_roofline.act1.figures import INNER, Layers
from ironlaw.labs.lab_11_roofline.act1.gemm import NONE, OVERLAYS, Case, Run, Setting, runs
from ironlaw.labs.lab_11_roofline.intensity import per_byte
from ironlaw.labs.lab_11_roofline.machines import machine, missing_formats, named, options, short
from ironlaw.labs.tables import scrolling_table
from ironlaw.units import significant
from ironlaw.widget.figure import tabbed

BOUND = "a bound, not a measured MFU"
FOLLOWS = ("device",)
CLAIMS = ("gemm_16384_at_peak", "h200_n512_python")
PINNED = ("device", "dtype", "shape", "n", "m", "k")
MORE = ("shape", "m", "k", "beside", "formats", "here")  # dials in the fold


def dials(lab: kit.Lab) -> Any:
    devices = options(lab)

    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        slug = values.get("device") or lab.current_context.slug
        chosen = machine(lab, slug)
        when_apart = {"hidden": values.get("shape", "square") == "square"}
        suggest = f"{short(slug)} {str(values.get('dtype', '')).upper()} {round(values.get('n') or gemm.PREMISE_N)}"
        measured = runs(values.get("dtype") or "fp16")
        unmeasured = {} if measured else {key: "not measured in this format" for key in OVERLAYS if key != NONE}
        product = settings.dials(
            Setting,
            ("n", "shape", "m", "k", "dtype"),
            m=when_apart,
            k=when_apart,
            dtype={"disabled": missing_formats(chosen, gemm.FORMATS)},
        )
        shown = settings.dials(
            Setting,
            ("levels", "formats", "measured", "here"),
            levels={"disabled": _levels(chosen)},
            measured={"disabled": unmeasured},
            here={"hidden": lab.local_run("gemm_sweep") is None},
        )
        every = [
            *product,
            kit.select("device", "Device", devices, slug),
            kit.select("beside", "Compare with", [(NONE, "nothing"), *devices], NONE, {slug: "that is the device itself"}),
            *shown,
            kit.pins("pins", "Pinned points", PINNED, suggest),
        ]
        return [{**dial, "shows": "gap"} if dial["id"] == "measured" else dial for dial in every]

    return dials_at


def _levels(chosen: Any) -> dict[str, str]:
    names = {level.name for level in chosen.levels} - {"main"}
    why = f"no such level is known for {named(chosen.slug)}"
    return {key: why for key, present in (("cache", names & set(INNER)), ("all", names)) if not present}


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    setting = settings.read(Setting, values, hardware=machine(lab, values["device"]))
    case, measured = setting.case, setting.runs
    beside = None if values["beside"] == NONE else machine(lab, values["beside"])
    local_dots = local_runs.dots(lab, case) if setting.here else ()
    option = lab.choice("act1")
    answer = figures.answer_marks(premise_case(lab), option.id if option else None, case.hardware.slug)
    layers = Layers(beside, setting.levels, setting.formats, measured, _pins(lab, values), local_dots, answer)
    growth = tabbed(figures.growth(case, beside), "By size")
    gap = [tabbed(figures.gap(setting.nearest), "Gap to the roof")] if measured else []
    pictures = [tabbed(figures.picture(case, layers), "Roofs"), *gap, growth]
    after = sizes(case) + formats(case)
    why = lab.fill("act1.on_the_slope" if case.at.regime == "memory" else "act1.on_the_ceiling")
    return kit.View(pictures, cards(case), formula(case), None, notes(lab, setting), readouts(case), after, seen={"why": why})


def premise_case(lab: kit.Lab) -> Case:
    """The message's product on the device that was asked about: the context, if it is one of the question's two."""
    devices = [str(entry["device"]) for entry in lab.sheet.contexts]
    return gemm.premise(machine(lab, lab.current_context.slug if lab.current_context.slug in devices else devices[0]))


def _pins(lab: kit.Lab, values: Mapping[str, Any]) -> list[tuple[str, Case]]:
    """Each pin is a setting of some dials; one that can't stand where it was is put where it can, as the dials are."""
    pins = []
    for pin in values["pins"]:
        _, at, _ = stand(dials(lab), pin["values"])
        pins.append((pin["name"], settings.read(Setting, at, hardware=machine(lab, at["device"])).case))
    return pins


def readouts(case: Case) -> dict[str, Any]:
    at = case.at
    return {
        "operation": f"GEMM {case.m}×{case.n}×{case.k} {case.fmt}",
        "arithmetic_intensity": round(float(at.intensity), 4),
        "bound_type": str(at.regime),
        "peak_share_percent": round(100 * float(at.mfu), 4),  # the card and the HUD round it the same way
    }


def crossing(case: Case) -> str:
    """The smallest square product that is compute-bound."""
    return f"{math.ceil(case.crossing):,}"


def cards(case: Case) -> list[dict[str, Any]]:
    at, sources = case.at, case.hardware.figures
    share = float(at.mfu)
    side = f"intensity is {significant(float(at.intensity / at.ridge))}× the ridge of {significant(float(at.ridge))}"
    side += f"; compute-bound from N = {crossing(case)}" if case.square else ""
    return [
        intensity.card("Arithmetic intensity", at.intensity, case.fmt),
        kit.card("Share of peak", 100 * share, "%", tone=kit.tone("mfu", share), note=BOUND, source=sources.get(f"peak.{case.fmt}") or ""),
        kit.text_card("Bound by", str(at.regime), note=side, term=str(at.regime)),
    ]  # fmt: skip


def formula(case: Case) -> str:
    at, size = case.at, significant(bytes_per_element(case.fmt))
    symbols = ("2<i>N</i>", "3<i>B</i>") if case.square else ("2<i>MNK</i>", "(<i>MK</i> + <i>KN</i> + <i>MN</i>) <i>B</i>")
    flops, moved = kit.amount(float(case.work.flops), operation(case.fmt)), kit.amount(float(case.work.bytes), "B")
    filled = (f"2 × {case.n:,}", f"3 × {size}") if case.square else (flops, moved)
    peak, bandwidth = kit.amount(float(at.peak), case.unit), kit.amount(float(case.hardware.bandwidth), "B/s")
    slope = kit.amount(float(case.hardware.bandwidth * at.intensity), case.unit)
    intensity_text = per_byte(at.intensity, case.fmt)
    return (
        line("<i>AI</i> =", fraction(*symbols), "=", fraction(*filled), "=", intensity_text)
        + line(f"attainable = min({term('compute', '<i>R</i>')}, {term('memory', '<i>BW</i> × <i>AI</i>')})")
        + line(f"= min({term('compute', peak)}, {term('memory', f'{bandwidth} × {intensity_text}')})")
        + line(f"= min({term('compute', peak)}, {term('memory', slope)}) =", kit.amount(float(at.attainable), case.unit))
    )


# --- notes under the picture


def notes(lab: kit.Lab, setting: Setting) -> str:
    case = setting.case
    paragraphs = [_precision(lab, case)]
    if setting.levels != "main":
        paragraphs.append(_cached(lab, case))
    if setting.measured != NONE:
        paragraphs += [_gap_words(lab, setting.nearest), _power_words(lab, case.fmt)]
    return kit.html("\n\n".join(paragraphs))


def _precision(lab: kit.Lab, case: Case) -> str:
    ridge = per_byte(case.at.ridge, case.fmt)
    return lab.fill("act1.crossing", device=case.roof.name, ridge=ridge, crossing=crossing(case))


def _cached(lab: kit.Lab, case: Case) -> str:
    caches = [level for level in case.hardware.levels if level.name in INNER]
    if not caches:
        return lab.fill("act1.levels")
    level = caches[-1]
    fits = float(case.work.bytes) <= float(level.size)
    slots = {"bytes": kit.amount(float(case.work.bytes), "B"), "level": level.label, "size": kit.dress(kit.capacity(float(level.size)))}
    return lab.fill("act1.levels") + " " + lab.fill("act1.in_cache" if fits else "act1.out_of_cache", **slots)


def _gap_words(lab: kit.Lab, run: Run) -> str:
    gap, tiling = run.gap, run.gap.tiling
    waves = f"{tiling.waves:,} wave{'s' if tiling.waves > 1 else ''}"
    slots = {
        "n": f"{run.case.n:,}", "how": run.how, "rate": kit.amount(run.rate, run.case.unit),
        "roof": kit.amount(float(run.case.at.attainable), run.case.unit),
        "tile": f"{tiling.tile[0]} × {tiling.tile[1]}", "tiles": f"{tiling.tiles:,}", "waves": waves,
        "filled": kit.dress(kit.share(tiling.filled, 1.0)), "issue": kit.amount(gap.rate, "s"),
        "floor": kit.amount(gap.floor, "s"), "source": gemm.source(),
    }  # fmt: skip
    words = [lab.fill("act1.gap", **slots)]
    words.append(lab.fill("act1.gap_launch", launch=kit.amount(gap.launch, "s")) if gap.launch else "")
    words.append(lab.fill("act1.gap_no_replay") if gap.launch is None else "")
    return " ".join(word for word in words if word)


def _power_words(lab: kit.Lab, fmt: str) -> str:
    """The runs that were slower than a smaller one; nothing where none was."""
    slower = [run for run in runs(fmt) if run.gap.power]
    if not slower:
        return ""
    run = slower[-1]
    best = max((r for r in runs(fmt) if r.case.n < run.case.n), key=lambda r: r.rate)
    slots = {
        "n": f"{run.case.n:,}",
        "rate": kit.amount(run.rate, run.case.unit),
        "best_n": f"{best.case.n:,}",
        "best": kit.amount(best.rate, best.case.unit),
    }
    return lab.fill("act1.gap_power", **slots, power=kit.amount(run.gap.power, "s"))


def sizes(case: Case) -> str:
    """N against intensity and regime, for the chosen device and format."""
    cases = [Case(case.hardware, n, n, n, case.fmt) for n in gemm.TABLE]
    rows = [
        (f"{c.n:,}", significant(float(c.at.intensity)), kit.amount(float(c.at.attainable), c.unit),
         kit.share(c.at.attainable, c.at.peak), c.bound)
        for c in cases
    ]  # fmt: skip
    columns = ("N", f"AI, {intensity_unit(case.fmt)}", "attainable", "of the peak", "regime")
    return scrolling_table(f"Square products, {case.roof.name}", columns, rows)


def formats(case: Case) -> str:
    """The same product in every format: what precision moves, and what it leaves."""
    rows = []
    for other in (case.as_(fmt) for fmt in case.formats):
        at = other.at
        rows.append(
            (other.fmt.upper(), significant(bytes_per_element(other.fmt)), significant(float(at.intensity)), significant(float(at.ridge)),
             significant(float(at.intensity / at.ridge)), other.bound)
        )  # fmt: skip
    return scrolling_table(
        f"{case.size} in each format, {case.roof.label}", ("format", "bytes", "AI", "ridge", "AI over ridge", "regime"), rows
    )
