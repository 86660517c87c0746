"""Act I: bits, scales, ranges and a spread of the channels; what they do to a trained net."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.engine.numerics.grids import levels, noise_power, step
from ironlaw.kit import settings
from ironlaw.kit.formula import fraction, line
from ironlaw.labs.lab_10_frontier.act1 import figures, local_runs
from ironlaw.labs.lab_10_frontier.act1.setting import ASKED, FIRST, FORMATS, LAST, Setting, tested
from ironlaw.registry.compression_tables import weights_seen
from ironlaw.units import show, significant
from ironlaw.widget.figure import Figure

CLAIMS = ("int8_free", "int4_cliff", "four_times_a_bit")


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        plain = {"hidden": int(values.get("bits") or 8) in FORMATS}
        asked = {"value": ASKED.scale, **plain}
        return settings.dials(Setting, scale=asked, clip=plain, zero=plain, spread={"value": ASKED.spread})

    return dials_at


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    setting = settings.read(Setting, values)
    option = lab.choice("act1")
    pictures: list[Figure] = [
        figures.accuracy(setting, float(option.value) if option else None, float(lab.question("act1").answer)),
        figures.divergence(setting, local_runs.dots(lab, setting)), figures.weights(setting),
    ]  # fmt: skip
    return kit.View(
        figures=pictures,
        cards=cards(setting),
        formula=formula(setting) + figures.flips(setting),
        note=kit.html(note(lab, setting)),
        readouts=readouts(setting),
        seen={"why": lab.fill("act1.one_scale" if setting.spread > 1 and setting.scale == "tensor" else "act1.hidden_damage")},
    )


def cards(setting: Setting) -> list[dict[str, Any]]:
    answers = setting.answers
    share = answers.accuracy
    interval = f"95%: {significant(100 * share.low)} to {significant(100 * share.high)}%"
    factor = kit.text_card("Each lost bit", f"×{significant(setting.factor)}", note=f"divergence, mean of {FIRST} to {LAST} bits")
    return [
        kit.text_card("Divergence", _small(answers.kl), note=f"nats, {setting.format}"),
        kit.card("Right answers", 100 * share.value, "%", note=interval),
        kit.text_card("Flipped", str(answers.flips), note=f"of {tested()} answers, against FP32"),
        factor,
        kit.text_card("On disk", significant(setting.stored), note=f"bits per weight, with {figures.scale_words(setting)}"),
    ]


def formula(setting: Setting) -> str:
    """The step and its noise, with the current figures, for the layer that is drawn."""
    if not setting.narrow:
        return line(f"{setting.format}: nothing is rounded to levels")
    seen = weights_seen(setting.net, setting.spread)
    bound = {"tensor": seen["layer_bound"], "channel": seen["channel_bound"]}.get(setting.scale)
    bound = float(seen["group_bounds"][setting.scale] if bound is None else bound)
    symmetric = not setting.zero
    below = f"{levels(setting.bits, symmetric)} − 1"
    size = step(bound, setting.bits, symmetric)
    return line("Δ =", fraction("2·max", "levels − 1"), "=", fraction(f"2 × {significant(bound)}", below), "=", significant(size)) + line(
        "noise =", fraction("Δ²", "12"), "=", _small(noise_power(setting.bits, bound, symmetric))
    )


def _small(value: float) -> str:
    """`4.46 × 10⁻⁷`, without a unit."""
    return show(value, "nats").removesuffix(" nats")


def note(lab: kit.Lab, setting: Setting) -> str:
    drift = weights_seen(setting.net, setting.spread)["drift"]
    same = lab.fill("act1.same", spread=str(setting.spread), drift=_small(drift)) if setting.spread > 1 else lab.fill("act1.as_trained")
    return same + "\n\n" + lab.fill("act1.llama")


def readouts(setting: Setting) -> dict[str, Any]:
    answers = setting.answers
    return {
        "net": setting.net, "bits": setting.bits, "scheme": f"{setting.scale}, {setting.clip}{', zero point' if setting.zero else ''}",
        "spread": setting.spread, "kl": answers.kl, "accuracy": round(100 * answers.accuracy.value, 2), "flips": answers.flips,
    }  # fmt: skip
