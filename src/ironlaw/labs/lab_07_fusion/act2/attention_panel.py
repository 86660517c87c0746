"""Act II: attention both ways. Tiling is another mechanism than fusing neighbours, with dials of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ironlaw import kit
from ironlaw.claims import claim
from ironlaw.kit import settings
from ironlaw.kit.formula import fraction, line, term
from ironlaw.labs.lab_07_fusion.act2 import fusion
from ironlaw.labs.lab_07_fusion.act2 import fusion_figures as figures
from ironlaw.systems.fields import among, figure
from ironlaw.units import significant
from ironlaw.widget.figure import tabbed

HEADS = (64, 128)


def nearest(seq: float) -> int:
    """Sequences are those that the slider stops at; one that was typed goes to the nearest."""
    return min(fusion.SEQUENCES, key=lambda stop: abs(stop / seq - 1) if seq else stop)


@dataclass(frozen=True)
class Setting:
    seq: int = figure(
        2048,
        "Sequence length",
        "tokens",
        low=256,
        high=16384,
        dial="span",
        log=True,
        whole=True,
        steps=list(fusion.SEQUENCES),
        means=nearest,
    )
    head: int = among(HEADS, 128, "Head size")


def dials(lab: kit.Lab) -> Any:
    return lambda values: settings.dials(Setting)


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    setting = settings.read(Setting, values)
    seq, head = setting.seq, setting.head
    pictures = [tabbed(figures.attention_bytes(seq, head), "Bytes, counted"), tabbed(figures.attention_times(seq), "Time, measured")]
    return kit.View(pictures, cards(seq, head), formula(seq, head), after=kit.html(lab.fill("act2.flash", **slots(lab, seq, head))))


def cards(seq: int, head: int) -> list[dict[str, Any]]:
    naive, tiled = fusion.flash(seq, head)
    cards = [kit.card("Traffic saved", naive / tiled, "×", note="by counting, because the scores stay on the chip")]
    times = fusion.flash_times(seq)
    return [*cards, kit.card("Time saved", times[0] / times[1], "×", note="measured on an H200")] if times else cards


def formula(seq: int, head: int) -> str:
    naive, tiled = fusion.flash(seq, head)
    ratio = fraction(kit.amount(naive, "B"), kit.amount(tiled, "B"))
    return line("cut =", term("memory", ratio), "=", kit.times(naive / tiled), "≈ <i>S</i>/<i>d</i> + 1 =", kit.times(seq / head + 1))


def slots(lab: kit.Lab, seq: int, head: int) -> dict[str, object]:
    naive, tiled = fusion.flash(seq, head)
    paper, cache = claim("flash_traffic_9x"), fusion.cache_of(lab.current_context.hardware)
    ratios = [pair[0] / pair[1] for s in fusion.SEQUENCES if (pair := fusion.flash_times(s))]
    return {
        "seq": f"{seq:,}", "head": str(head), "naive": kit.amount(naive, "B"),
        "tiled": kit.amount(tiled, "B"), "cut": kit.dress(significant(naive / tiled)),
        "kv": kit.amount(fusion.keys_and_values(seq, head), "B"),
        "l2": kit.Markup(f" ({kit.amount(float(cache.size), 'B')})") if cache else "",
        "paper": kit.dress(significant(paper.value, 2)),
        "formula": kit.dress(significant(paper.computed)), "source": paper.source,
        "low": significant(min(ratios)), "high": kit.dress(significant(max(ratios))), "measured_head": str(fusion.MEASURED_HEAD),
    }  # fmt: skip
