"""What stands below the tables of `predict` and `analyze`: warnings, a few lines of notes, and with --notes all of them."""

from __future__ import annotations

from collections.abc import Iterator

from ironlaw.cli.show import draw
from ironlaw.cli.show.sources_text import brief
from ironlaw.engine.device.machine import NARROW
from ironlaw.engine.device.memory import LEAST_MARGIN
from ironlaw.engine.device.predict import Prediction
from ironlaw.engine.device.rounding import narrowed_kinds
from ironlaw.engine.device.types import Graph
from ironlaw.report import accuracy, host_words
from ironlaw.report.model_variants import comparable
from ironlaw.units import enumerated, show

MORE = "`--notes` explains the columns and names the sources."
MARKS = {
    "transferred": f"{accuracy.ABOUT} is estimated from measurements of other machines.",
    "bound": f"{accuracy.AT_LEAST} is a lower bound from the datasheet.",
}


def alike(predictions: list[Prediction], graph: Graph) -> None:
    """Where times rest on different grounds, one line that compares all of them on the same."""
    shown, basis = comparable(tuple(predictions), graph)
    if basis:
        times = ", ".join(f"{p.hardware.slug} {p.plan.mode} {accuracy.time(p, show)}" for p in shown)
        draw.say(f"{accuracy.LIKE_WITH_LIKE[basis]} {times}.")


def warnings(predictions: list[Prediction]) -> None:
    """What lies outside what was measured, and what is uncertain about the hosts."""
    for p in predictions:
        for words in accuracy.caveats(p, draw.percent):
            draw.say(f"! {p.hardware.slug}, {p.plan.mode}: {words}", draw.BAD)
    for words in host_words.caveats(predictions):
        draw.say(f"! {words}", draw.BAD)


def footnotes(predictions: list[Prediction], notes: bool) -> None:
    for line in _tf32(predictions):
        draw.say(line, draw.DIM)
    if not notes:
        draw.say(" ".join((*_short(predictions), MORE)), draw.DIM)
        return
    for p in predictions:
        if apart := accuracy.apart(p, show):
            draw.say(f"{p.hardware.slug}, {p.plan.mode}: {apart}", draw.DIM)
    draw.say(" ".join(_columns(predictions)), draw.DIM)
    for line in _hosts(predictions):
        draw.say(line, draw.DIM)
    for slug, line in {p.hardware.slug: brief(p) for p in predictions}.items():
        draw.say(f"{slug}: {line}", draw.DIM)


def _short(predictions: list[Prediction]) -> Iterator[str]:
    """A sentence for what the figures can't be read without."""
    if any(p.interval for p in predictions):
        yield "Four runs out of five should fall in the likely range."
    bases = {p.basis for p in predictions}
    yield from (words for basis, words in MARKS.items() if basis in bases)
    yield from _hosts(predictions)


def _columns(predictions: list[Prediction]) -> Iterator[str]:
    yield "overlap: the time if data and compute overlap fully – not at all."
    yield "busy: the share of the time in which the device works."
    yield "energy: rated power × time, an estimate."
    taken = {show(p.memory.segments, "B") for p in predictions if p.memory.requests}
    if taken:
        yield f"memory: what tensors need at their peak. PyTorch's allocator takes {enumerated(sorted(taken))} for them."
        margins = sorted({f"{p.memory.margin:.0%} ({p.plan.mode})" for p in predictions if p.memory.requests})
        share = f"{enumerated(margins)} of all but the weights, and at least {show(LEAST_MARGIN, 'B')}"
        yield f"fits: with a margin over the least that the allocator could do with: {share}."
    if any(p.interval for p in predictions):
        yield f"{accuracy.LIKELY}; ±: the same for one operator, with ! where it lies outside what was measured."
    yield from (f"{mark}." for mark in accuracy.marks(predictions))


def _hosts(predictions: list[Prediction]) -> list[str]:
    return host_words.each(predictions, show, lambda p: p.hardware.slug)


def _tf32(predictions: list[Prediction]) -> Iterator[str]:
    """Which products of FP32 tensors are computed in TF32, for each machine that does so."""
    alike: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for slug, (kinds, asked) in {p.hardware.slug: (narrowed_kinds(p.graph), p.plan.fp32) for p in predictions}.items():
        alike.setdefault((tuple(kinds), asked), []).append(slug)
    for (kinds, asked), slugs in alike.items():
        if kinds:
            why = "as you asked" if asked == NARROW else "PyTorch's default; --strict-fp32 turns it off, --tf32 adds matrix products"
            are = "is" if len(kinds) == 1 else "are"
            yield f"{', '.join(slugs)}: FP32 tensors, but {accuracy.listed(kinds)} {are} computed in TF32 ({why})."
