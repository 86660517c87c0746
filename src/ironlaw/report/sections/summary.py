"""The first screens: what was captured, what it takes on each machine in each mode, and the same over several machines."""

from __future__ import annotations

from ironlaw.engine.device.complex_work import flops, product_flops, spoken_format
from ironlaw.engine.device.predict import Prediction
from ironlaw.engine.device.stored_weights import OWN
from ironlaw.formats import intensity_unit, operation
from ironlaw.pictures.stack import stack
from ironlaw.pictures.theme import TERM_NAMES
from ironlaw.pictures.waterfall import Part
from ironlaw.report import accuracy, host_words
from ironlaw.report.analysis import Analysis
from ironlaw.report.markup import Cell, items, pairs, paragraph, table
from ironlaw.report.model_variants import Variant, comparable, ordered
from ironlaw.report.too_large import too_large
from ironlaw.units import significant
from ironlaw.widget.figure import Figure
from ironlaw.widget.quantities import format_quantity, share

UNBROKEN = "\u00a0"  # a space that no line ends at
NUMBERS = (2, *range(4, 13))
CLASSES = {"memory": "c-memory", "compute": "c-compute", "overhead": "c-overhead"}


def captured(analysis: Analysis) -> str:
    g = analysis.graph
    work = g.work
    facts = [
        ("operators", f"{len(g.ops):,}"),
        ("parameters", format_quantity(float(g.params))),
        ("in matrix products", format_quantity(float(product_flops(g)), operation(g.dtype))),
        ("all arithmetic", format_quantity(float(sum(map(flops, g.ops))), operation(g.dtype))),
        ("bytes moved, eager", format_quantity(float(work.bytes), "B")),
        ("intensity", f"{significant(float(work.intensity))}\u202f{intensity_unit(g.dtype)}"),
        ("weights", format_quantity(float(g.weight_bytes), "B")),
        ("number format", spoken_format(g) if "weights" not in g.settings else f"{g.dtype}, weights in {g.settings['weights']}"),
        ("pass", "training step" if g.settings.get("training") else "forward"),
    ]
    out = pairs(facts)
    if analysis.unknown:
        out += paragraph("These operators are not known, so they are counted by their tensors alone:")
        out += items([f"{name} ×{count}" for name, count in analysis.unknown.items()])
    else:
        out += paragraph("Every operator is known.", "il-quiet")
    if analysis.notes:
        out += paragraph("What capturing had to assume:") + items(list(analysis.notes))
    return out


def summary(analysis: Analysis) -> str:
    columns = (
        "machine", "mode", "time", "bound by", "likely", "overlap", "data", "compute", "overhead", "busy", "kernels", "memory", "energy",
        "figures",
    )  # fmt: skip
    out = table(columns, [_row(p) for p in ordered(analysis.predictions)], "What each machine takes in each mode", NUMBERS)
    for p in analysis.predictions:
        said = [f"{p.hardware.name}, {p.plan.mode}: {words}" for words in accuracy.caveats(p, lambda part: share(part, 1.0))]
        out += paragraph(". ".join(said) + ".", "refused") if said else ""
    words = f"{accuracy.LIKELY.capitalize()}. " if any(p.interval for p in analysis.predictions) else ""
    words += "Overlap: if data and compute overlap fully, and if not at all. Busy: the share of the time in which the device works."
    words += " Energy: rated power × time, an estimate."
    words += "".join(f" {mark}." for mark in accuracy.marks(analysis.predictions))
    out += paragraph(words, "il-quiet")
    apart = {f"{p.hardware.name}, {p.plan.mode}": accuracy.apart(p, format_quantity) for p in analysis.predictions}
    if any(apart.values()):
        out += items([f"{name}: {text}" for name, text in apart.items() if text], "il-quiet")
    out += paragraph(" ".join(host_words.each(analysis.predictions, format_quantity, lambda p: p.hardware.name)), "il-quiet")
    out += "".join(paragraph(words, "refused") for words in host_words.caveats(analysis.predictions))
    if large := too_large(list(analysis.predictions)):
        out += "<h3>Too large for one</h3>" + items([each["reason"] for each in large], "refused")
    if analysis.refused:
        reasons = [why if why.startswith(machine) else f"{machine}: {why}" for machine, why in analysis.refused.items()]
        out += "<h3>Left out</h3>" + items(reasons, "refused")
    return out


def _row(p: Prediction) -> list[Cell]:
    bound = str(p.bound)
    m = p.memory
    terms: list[Cell] = []
    for name, value in (("memory", p.data_s), ("compute", p.compute_s), ("overhead", p.overhead_s)):
        shown = format_quantity(float(value), "s")
        terms.append((shown, CLASSES[name]) if name == bound else shown)
    held = f"{format_quantity(float(m.total), 'B')} of {format_quantity(float(m.usable), 'B')}"
    memory: Cell = held if p.fits else (f"{held}: does not fit", "c-fail")
    seconds = (accuracy.time(p, format_quantity).replace(" ", UNBROKEN), "strong" if p.calibrated else "il-quiet")
    return [
        p.hardware.name.replace(" GB", f"{UNBROKEN}GB"), p.plan.mode, seconds, (TERM_NAMES[bound], CLASSES[bound]),
        accuracy.between(p.interval, format_quantity) if p.interval else "–", _span(p.overlap), *terms,
        share(float(p.busy_s), float(p.seconds)), f"{float(p.kernels):,.0f}", memory, _energy(p),
        p.label,
    ]  # fmt: skip


def _energy(p: Prediction) -> str:
    return f"≈\u202f{format_quantity(float(p.energy_j), 'J')}"


def _span(ends: tuple[object, object]) -> str:
    low, high = (format_quantity(float(end), "s") for end in ends)  # type: ignore[arg-type]
    return low if low == high else f"{low} – {high}"


def shares(p: Prediction) -> list[Part]:
    """A run as parts that add up: kernels by their bottleneck, the fixed cost of each kernel, and the idle device."""
    work = {"memory": 0.0, "compute": 0.0}
    for row in p.ops:
        work[str(row.regime)] += float(row.cost.work)
    floors = sum(float(row.floor_s) for row in p.ops)
    idle = max(0.0, float(p.seconds) - float(p.busy_s))
    return [
        Part("memory-bound kernels", work["memory"], "memory"), Part("compute-bound kernels", work["compute"], "compute"),
        Part("fixed cost of kernels", floors, "overhead"), Part("device idle", idle, "muted", pattern=True),
    ]  # fmt: skip


def modes(analysis: Analysis) -> dict[str, Figure]:
    """Machines and modes under each other on one axis: a picture for each kind of figure, since kinds don't compare."""
    kinds = {basis: [p for p in analysis.predictions if p.basis == basis] for basis in dict.fromkeys(p.basis for p in analysis.predictions)}
    several = len(analysis.machines) > 1
    return {
        f"modes-{basis}": stack(
            {f"{p.hardware.slug} {p.plan.mode}" if several else p.plan.mode: shares(p) for p in mine},
            "s", f"Machines and modes, {basis}" if several else analysis.machines[0].name, label="time", id=f"modes-{basis}",
        )
        for basis, mine in kinds.items()
    }  # fmt: skip


def devices(analysis: Analysis) -> str:
    """The fastest mode of each machine, side by side; where they rest on different grounds, all of them on the same."""
    shown, mixed = comparable(analysis.predictions, analysis.graph)
    best = Variant(None, OWN, analysis.graph, shown).fastest()
    first = best[0]
    rows: list[list[Cell]] = [
        [p.hardware.name, p.plan.mode, accuracy.time(p, format_quantity), f"{significant(float(first.seconds) / float(p.seconds))}×",
         TERM_NAMES[str(p.bound)], share(float(p.memory.total), float(p.memory.usable)), _energy(p), p.label]
        for p in best
    ]  # fmt: skip
    columns = ("machine", "fastest mode", "time", f"speed, {first.hardware.slug} = 1", "bound by", "memory used", "energy", "figures")
    words = paragraph(accuracy.LIKE_WITH_LIKE[mixed]) if mixed else ""
    return words + table(columns, rows, "The same over several machines", (2, 3, 5, 6))
