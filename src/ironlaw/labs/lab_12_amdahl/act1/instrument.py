"""Act I: which part of a pass gets faster, by how much, and what the whole makes of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ironlaw import kit
from ironlaw.kit import settings
from ironlaw.kit.formula import fraction, line, term
from ironlaw.labs.lab_12_amdahl import passes
from ironlaw.labs.lab_12_amdahl.act1 import figures, local_runs, slots
from ironlaw.labs.lab_12_amdahl.passes import DEVICE, HOST, KINDS, PIPELINE, STAGES, Pass
from ironlaw.pictures.reveal_picture import Distance
from ironlaw.systems.fields import among, figure
from ironlaw.units import show, significant
from ironlaw.widget.figure import mark, tabbed
from ironlaw.widget.quantities import exact

FOLLOWS = ("pass", "part")
CLAIMS = ("graph_beats_amdahl", "compiled_below_the_ceiling", "component_ten_times")
TURNS, OVERLAP = "turns", "overlap"
FIRST = "resnet50_1"
ONE_LANE = "One processor runs both the framework and the operators, so they take turns."


@dataclass(frozen=True)
class Change:
    """Where the dials stand: the pass that they chose, what of it gets faster, by how much, and whether its parts overlap."""

    chosen: Pass
    part: str = among((DEVICE, HOST, *KINDS), DEVICE, "What gets faster", dial="select")
    stage: str = among({name: words for name, (words, *_) in STAGES.items()}, "model", "What gets faster", dial="select")
    factor: float = figure(1000, "By what factor", "×", low=1, high=1000, dial="span", log=True, presets=[2, 10, 100, 1000])
    way: str = among({TURNS: "take turns", OVERLAP: "overlap"}, TURNS, "Host and GPU")

    @property
    def target(self) -> str:
        return self.stage if self.chosen.slug == PIPELINE else self.part

    @property
    def overlap(self) -> bool:
        return self.way == OVERLAP and self.chosen.overlaps


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        known = passes.of_context(lab)
        slug = values.get("pass") if values.get("pass") in known else FIRST
        chosen = known[str(slug)]
        own = chosen.slug == PIPELINE
        kinds = {DEVICE: passes.all_kernels(chosen), HOST: "host and launches" if chosen.overlaps else "the framework"}
        missing = {kind: "This pass has no such kernel." for kind in KINDS if kind not in chosen.targets()}
        return [
            kit.select("pass", "Pass", [(each.slug, each.label) for each in known.values()], FIRST),
            *settings.dials(
                Change,
                part={"options": kinds | {kind: KINDS[kind][0] for kind in KINDS}, "disabled": {} if own else missing, "hidden": own},
                stage={"hidden": not own},
                way={"disabled": {} if chosen.overlaps else {OVERLAP: ONE_LANE}},
            ),
        ]

    return dials_at


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    change = settings.read(Change, values, chosen=passes.of_context(lab)[values["pass"]])
    chosen, part, factor, overlap = change.chosen, change.target, change.factor, change.overlap
    local = local_runs.points(lab) if chosen.slug == PIPELINE and part == "model" else {}
    return kit.View(
        figures=[
            tabbed(figures.before_and_after(chosen, part, factor, overlap, marks(lab, chosen)), "Before and after"),
            tabbed(figures.every_part(chosen, part, factor, overlap), "Each part"),
            tabbed(figures.growing(chosen, part, factor, overlap, local), "The ceiling"),
        ],
        cards=cards(chosen, part, factor, overlap),
        formula=formula(chosen, part, factor, overlap),
        note=notes(lab, chosen, overlap),
        readouts=readouts(chosen, part, factor, overlap),
    )


def marks(lab: kit.Lab, chosen: Pass) -> tuple[Any, ...]:
    """The time that the question's pass would take if it were as many times as fast as you said, and as it is; on another pass's axis
    they would say nothing."""
    option = lab.choice("act1")
    if option is None or chosen != slots.asked():
        return ()
    seconds, guess, answer = slots.asked().seconds, float(option.value), float(lab.question("act1").answer)
    off = Distance(guess, answer).words  # of the speed-up that was asked for, not of the time that it stands at
    return (
        mark("rule", "accent", x=seconds / guess, role="prediction", id="prediction", name="your prediction", distance=off,
             label=f"you said {option.label}", hover=[("your prediction", exact(guess, "×")), ("off", off)]),
        mark("rule", "ink", x=seconds / answer, role="truth", id="truth", name="computed",
             label=f"it is {show(answer, '×')}", hover=[("computed", exact(answer, "×")), ("your prediction", off)]),
    )  # fmt: skip


def readouts(chosen: Pass, part: str, factor: float, overlap: bool) -> dict[str, Any]:
    most = chosen.speedup(part, math.inf, overlap)
    return {
        "pass": chosen.slug, "part": part, "part_share": round(chosen.share(part), 4), "part_factor": round(factor, 3),
        "part_speedup": round(chosen.speedup(part, factor, overlap), 4), "ceiling": round(most, 4) if math.isfinite(most) else None,
    }  # fmt: skip


def cards(chosen: Pass, part: str, factor: float, overlap: bool) -> list[dict[str, Any]]:
    gain, most = chosen.speedup(part, factor, overlap), chosen.speedup(part, math.inf, overlap)
    ceiling = kit.card("Ceiling", most, "×",
        note="however fast the part gets") if math.isfinite(most) else kit.text_card("Ceiling", "none",
        note="nothing else takes time")  # fmt: skip
    cards = [
        kit.card("Share of the pass", 100 * chosen.share(part), "%", note=chosen.name_of(part), source=chosen.source),
        kit.card("Speed-up of the pass", gain, "×", note=f"the part by {significant(factor)}×"),
        ceiling,
    ]
    if overlap:
        pace = max(lanes := chosen.lane_times(part, factor), key=lambda lane: lanes[lane])
        return [*cards, kit.text_card("Sets the pace", figures.lane_name(pace), note="it takes longest")]
    left = 100 * chosen.gain_of_one_percent(part, factor)
    return [*cards, kit.card("Its share afterwards", left, "%", note="all that is left to gain here")]


def formula(chosen: Pass, part: str, factor: float, overlap: bool) -> str:
    result = kit.times(chosen.speedup(part, factor, overlap))
    if overlap:
        before, now = chosen.lane_times(part, 1.0), chosen.lane_times(part, factor)
        top, bottom = (f"max({', '.join(str(kit.amount(each, 's')) for each in lanes.values())})" for lanes in (before, now))
        return line("<i>S</i> =", fraction("max <i>t</i>", "max <i>t</i>/<i>s</i>"), "=", fraction(top, bottom), "=", result)
    share = chosen.share(part)
    bottom = f"{1 - share:.4f} + {share:.4f} / {significant(factor, 4)}"
    law = fraction("1", f"(1 − <i>f</i>) + {term('compute', '<i>f</i>/<i>s</i>')}")
    return line("<i>S</i> =", law, "=", fraction("1", bottom), "=", result)


def notes(lab: kit.Lab, chosen: Pass, overlap: bool) -> str:
    own = chosen.slug == PIPELINE
    paragraphs = [lab.fill("act1.from_here" if own else "act1.from_evidence", source=chosen.source)]
    if overlap and not own:
        paragraphs.append(lab.fill("act1.queued", host=kit.amount(chosen.queued, "s")))
    elif chosen.overlaps and not own:
        paragraphs.append(lab.fill("act1.exposed"))
    if lab.current_context.slug not in passes.FILES and not own:
        paragraphs.append(lab.fill("act1.not_here"))
    paragraphs.append(lab.fill("act1.mark"))
    return kit.html("\n\n".join(paragraphs))
