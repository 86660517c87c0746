"""An analysis on the terminal: the verdict, then what it rests on."""

from __future__ import annotations

from collections import Counter

from ironlaw.backends.inductor import INDUCTOR
from ironlaw.cli.show import comparison_text, costs_text, draw, language_text, prediction_lines, real_steps_text, trace_text, verdict_text
from ironlaw.engine.device.fusion import fuse
from ironlaw.engine.device.types import Graph
from ironlaw.report.analysis import Analysis, paybacks
from ironlaw.report.sections.breakeven_section import by_mode
from ironlaw.report.sections.fusion_section import chain
from ironlaw.report.too_large import too_large
from ironlaw.units import show

OPS = 8  # operators listed by default
NOTES = 4  # notes of a capture shown without --notes


def report(analysis: Analysis, ops: int | None, notes: bool = False) -> None:
    verdict_text.report(analysis.verdict)
    if analysis.language is not None:
        language_text.report(analysis.language, notes)
    runs = list(analysis.predictions)
    refused = [*(large["reason"] for large in too_large(runs)), *analysis.refused.values()]
    several = comparison_text.several(analysis)
    prediction_lines.report(analysis.graph, runs, refused, 0, notes, compare=not several)
    if several:
        comparison_text.machines(analysis)
    comparison_text.variants(analysis.variants, "batches and weights")
    heaviest(analysis, ops or OPS)
    fused(analysis.graph)
    comparison_text.weights(analysis, analysis.own or analysis.graph)
    comparison_text.fits(analysis)
    pays(analysis)
    if analysis.costs is not None:
        costs_text.report(analysis.costs)
    if analysis.real is not None:
        real_steps_text.report(analysis.real, analysis.predictions)
    if analysis.joined is not None:
        trace_text.report(analysis.joined, ops or OPS)
    if analysis.unknown:
        listed = ", ".join(f"{name} ×{count}" for name, count in analysis.unknown.items())
        draw.say(f"! unknown operators, counted by their tensors alone: {listed}", draw.BAD)
    shown = analysis.notes if notes else analysis.notes[:NOTES]
    for note in shown:
        draw.say(f"note: {note}", draw.DIM)
    if len(analysis.notes) > len(shown):
        draw.say(f"note: {len(analysis.notes) - len(shown)} more of this kind with --notes", draw.DIM)


def heaviest(analysis: Analysis, count: int) -> None:
    """What takes longest on the first machine, the same operator of all layers together; in each phase of a language model."""
    phases = analysis.language.phases if analysis.language else ()
    for p in [next(iter(phase.predictions.values()))[0] for phase in phases] or [analysis.predictions[0]]:
        language_text.operators(p, count)


def pays(analysis: Analysis) -> None:
    """When compiling pays."""
    for line in by_mode(paybacks(analysis), analysis.per_day):
        draw.say(line, draw.DIM)


def fused(graph: Graph) -> None:
    """What torch.compile would fuse, in one sentence."""
    plan = fuse(graph, INDUCTOR)
    joined = [group for group in plan.groups if len(group.ops) > 1]
    if not joined:
        draw.say("Compiling would fuse nothing: no two neighbours may share a kernel.", draw.DIM)
        return
    common = Counter(chain(group.ops) for group in joined).most_common(1)[0]
    inside = sum(len(group.ops) for group in joined)
    draw.say(
        f"Compiling fuses {inside:,} of {len(graph.ops):,} operators into {draw.plural(len(joined), 'kernel')}"
        f" and saves {show(plan.bytes_saved, 'B')} of memory traffic, most often {common[0]} (×{common[1]}).",
        draw.DIM,
    )
