"""Act I: how far two devices are apart on four axes. Compositions of registry figures; nothing is typed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ironlaw import kit
from ironlaw.kit import settings
from ironlaw.kit.context import Context, pick, the
from ironlaw.labs.lab_01_magnitude.devices import CLOUD, TINY
from ironlaw.labs.tables import scrolling_table
from ironlaw.pictures.ladder import QUANTITIES, ladder, unit_of, value_of
from ironlaw.pictures.reveal_picture import rules
from ironlaw.pictures.theme import context_colour
from ironlaw.systems.fields import among
from ironlaw.units import show, significant
from ironlaw.widget.figure import Figure, tabbed

HEADLINE, COMMON = "headline", "int8"
LOG, LINEAR = "log", "linear"
TERMS = {"compute": "compute", "bandwidth": "memory"}  # axis -> the term whose colour it has
CLAIMS = ("h100_peak_1979", "compute_gap")


def in_format(context: Context, formats: str) -> Context | None:
    """A device in the format that the rates are shown in; None where it lacks it."""
    if formats == HEADLINE:
        return context
    return replace(context, format=COMMON, sparse=False) if COMMON in context.hardware.peaks else None


def gap(a: Context, b: Context, axis: str, formats: str = HEADLINE) -> float | None:
    """A over B on an axis; None where one of them has no figure."""
    top, bottom = reading(a, axis, formats), reading(b, axis, formats)
    return top / bottom if top and bottom else None


def reading(context: Context, axis: str, formats: str = HEADLINE) -> float | None:
    rated = in_format(context, formats if axis == "compute" else HEADLINE)
    return value_of(rated, axis)[0] if rated else None


def unit(context: Context, axis: str, formats: str = HEADLINE) -> str:
    return unit_of(in_format(context, formats) or context, axis)


@dataclass(frozen=True)
class Setting:
    a: Context
    b: Context
    formats: str = among({HEADLINE: "each device's headline", COMMON: "INT8 for all"}, HEADLINE, "Number format of the rates")
    scale: str = among({LOG: "log: equal factors", LINEAR: "linear: true lengths"}, LOG, "Scale")


def dials(lab: kit.Lab) -> Any:
    devices = [(c.slug, c.menu_label) for c in lab.contexts]
    pair = [kit.select("a", "Device A", devices, CLOUD), kit.select("b", "Device B", devices, TINY)]
    return lambda values: [*pair, *settings.dials(Setting)]


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    setting = settings.read(Setting, values, a=pick(lab.contexts, values["a"]), b=pick(lab.contexts, values["b"]))
    a, b, formats = setting.a, setting.b, setting.formats
    gaps = {axis: gap(a, b, axis, formats) for axis in QUANTITIES}
    rated = [context for context in (in_format(c, formats) for c in lab.contexts) if context]
    marks = marks_of(lab) if formats == HEADLINE else ()
    drawn: dict[str, Any] = {"chosen": lab.current_context.slug, "scale": setting.scale, "tags": _tags(a, b)}
    return kit.View(
        figures=[
            ladder(rated, "compute", extra=marks, foot=felt(a, b, gaps["compute"]), **drawn),
            *scaled(a, b, gaps["compute"]),
            *(
                tabbed(ladder(lab.contexts, axis, width="third", **drawn), "Bandwidth, capacity, power")
                for axis in QUANTITIES
                if axis != "compute"
            ),
        ],
        cards=[_card(axis, ratio) for axis, ratio in gaps.items()],
        formula=_formula(a, b, formats),
        note=_table(a, b, formats, gaps) + _notes(lab, formats),
        seen={"multipliers": width(lab)["multipliers"]} | _squares(lab, a, b, gaps["compute"]),
    )


def marks_of(lab: kit.Lab) -> Sequence[Any]:
    """Where you said the H100 would be, counted from the Cortex-M7, and where it is."""
    option = lab.choice("act1")
    if option is None:
        return ()
    tiny = pick(lab.contexts, TINY)
    return rules(float(option.value), float(lab.question("act1").answer), "×", base=tiny.peak)


def width(lab: kit.Lab) -> dict[str, object]:
    """How many multiply-adds the H100 does in one clock of its tensor cores, and how much faster than the Cortex-M7 it ticks."""
    cloud, tiny = pick(lab.contexts, CLOUD), pick(lab.contexts, TINY)
    clock = cloud.hardware.units["tensor_clock"]
    return {
        "multipliers": kit.dress(significant(cloud.peak / (2 * clock), 2)),
        "clocks": kit.dress(significant(clock / tiny.hardware.units["clock"], 2)),
    }


def _tags(a: Context, b: Context) -> dict[str, str]:
    return {a.slug: "A and B"} if a.slug == b.slug else {a.slug: "A", b.slug: "B"}


def felt(a: Context, b: Context, ratio: float | None) -> str:
    """The gap as lengths: the shorter one is a millimetre."""
    if ratio is None or a.slug == b.slug:
        return ""
    large, small, factor = ordered(a, b, ratio)
    return f"Drawn to scale, with 1 mm for {the(small)}, {the(large)} would need {length(1e-3 * factor)}."


def ordered(a: Context, b: Context, ratio: float) -> tuple[Context, Context, float]:
    """The larger one, the smaller one, and how often it goes into the larger."""
    return (a, b, ratio) if ratio >= 1 else (b, a, 1 / ratio)


def scaled(a: Context, b: Context, ratio: float | None) -> list[Figure]:
    """The gap in compute as squares, where both have a rate."""
    if ratio is None:
        return []
    from ironlaw.pictures import million  # not before the commit

    large, small, factor = ordered(a, b, ratio)
    one, other = (million.Side(context.label, context_colour(context.regime)) for context in (large, small))
    return [tabbed(million.to_scale(one, other, factor, f"{significant(factor)} to 1, to scale"), "To scale")]


def _squares(lab: kit.Lab, a: Context, b: Context, ratio: float | None) -> dict[str, object]:
    if ratio is None:
        return {}
    from ironlaw.pictures import million

    large, small, factor = ordered(a, b, ratio)
    section = "act1.squares" if factor <= million.MANY else "act1.squares_of_squares"
    return {"squares": lab.fill(section, large=the(large), small=the(small))}


def length(metres: float) -> str:
    """`2.5 mm`, `67 m`, `989 km`."""
    unit, factor = ("km", 1e3) if metres >= 1e3 else ("m", 1.0) if metres >= 1 else ("mm", 1e-3)
    return f"{significant(metres / factor)} {unit}"


def _card(axis: str, ratio: float | None) -> dict[str, Any]:
    label = f"{axis.capitalize()}, A over B"
    if ratio is None:
        return kit.text_card(label, "–", note="no common number format")
    factor = max(ratio, 1 / ratio)
    tone = kit.tone("gap", factor) if factor >= 10 else ""  # two devices that are alike are not a bad thing
    return kit.card(label, ratio, "×", tone=tone, word=in_words(ratio), term=TERMS.get(axis, ""))


def _formula(a: Context, b: Context, formats: str) -> str:
    top, bottom = reading(a, "compute", formats), reading(b, "compute", formats)
    if not top or not bottom:
        return ""
    result = f"{kit.times(top / bottom)}, {in_words(top / bottom)} of magnitude"
    over, under = (kit.amount(rate, unit(context, "compute", formats)) for context, rate in ((a, top), (b, bottom)))
    return kit.ratio("R<sub>A</sub> / R<sub>B</sub>", over, under, result)


def _table(a: Context, b: Context, formats: str, gaps: Mapping[str, float | None]) -> str:
    def cell(context: Context, axis: str) -> str:
        value = reading(context, axis, formats)
        if value is None:
            return "–"
        return kit.dress(kit.capacity(value) if axis == "capacity" else show(value, unit(context, axis, formats)))

    rows = [
        (QUANTITIES[axis][0], cell(a, axis), cell(b, axis), kit.times(ratio) if ratio else "–", orders(ratio) if ratio else "–")
        for axis, ratio in gaps.items()
    ]
    return scrolling_table("Gap table", ("Axis", f"A: {a.label}", f"B: {b.label}", "A over B", "Orders"), rows)


def _notes(lab: kit.Lab, formats: str) -> str:
    paragraphs = [lab.fill("act1.context_row", context=lab.current_context.label)]
    if formats == HEADLINE:
        paragraphs.insert(0, lab.fill("act1.formats", formats="; ".join(f"{c.label} {c.format_label}" for c in lab.contexts)))
    else:
        lacking = [c.label for c in lab.contexts if COMMON not in c.hardware.peaks]
        paragraphs = [lab.fill("act1.common"), *([lab.fill("act1.lacking", names=", ".join(lacking))] if lacking else []), *paragraphs]
        paragraphs.append(lab.fill("act1.mark_hidden"))
    return kit.html("\n\n".join(paragraphs))


def orders(ratio: float) -> str:
    """`6.0`, `−3.3`, and `0` for less than a twentieth of one."""
    text = f"{math.log10(ratio):.1f}".replace("-", "−")
    return "0" if text in ("0.0", "−0.0") else text


def in_words(ratio: float) -> str:
    count = orders(ratio)
    return f"{count} {'order' if count in ('1.0', '−1.0') else 'orders'}"
