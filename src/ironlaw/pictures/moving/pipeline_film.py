"""A pipeline that fills, runs one forward and one backward in turn, and drains: a lane for each stage."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from ironlaw.engine.cluster.pipeline_timeline import IDLE, stretches
from ironlaw.engine.cluster.pipelines import gantt as schedule
from ironlaw.pictures.gantt import COLOURS, WORDS, name, picked
from ironlaw.units import significant
from ironlaw.widget.motion import Bar, Counter, Lane, Motion, Thing
from ironlaw.widget.quantities import format_quantity

FEW = 600  # slots that are drawn one by one
ROW, GAP, LEFT = 13, 2, 66  # px
FIRST = "accent"  # the first microbatch stands out, so that the eye can follow it

Span = tuple[int, str, float, float, bool]  # stage, what it does, from, to, whether it is the first microbatch's


def spans(stages: int, micro_batches: int, virtual: int, seconds: float) -> list[Span]:
    """What each stage does in a step of so many seconds, waiting left out; the schedule is the engine's."""
    slot = seconds / (micro_batches + (stages - 1) / virtual)
    forward, backward = slot / 3, 2 * slot / 3
    if 2 * stages * micro_batches * virtual > FEW:
        rows = stretches(stages, micro_batches, virtual, forward, backward)
        return [(row.stage, row.kind, row.start, row.end, False) for row in rows if row.kind != IDLE]
    played = schedule(stages, micro_batches, virtual, forward, backward)
    return [(each.stage, "backward" if each.backward else "forward", each.start, each.end, each.micro == 0) for each in played]


def pipeline_film(stages: int, micro_batches: int, virtual: int, seconds: float, id: str = "film") -> Motion:
    found = spans(stages, micro_batches, virtual, seconds)
    end = max(span[3] for span in found)
    waited = 1 - sum(span[3] - span[2] for span in found) / (stages * end)
    shown = picked(stages)
    place = {stage: i * (ROW + GAP) for i, stage in enumerate(shown)}
    kinds = dict.fromkeys(span[1] for span in sorted(found, key=lambda span: list(COLOURS).index(span[1])))
    legend = [{"colour": COLOURS[kind], "label": WORDS[kind]} for kind in kinds]
    if any(span[4] for span in found):
        legend.append({"colour": FIRST, "label": "the first microbatch"})
    title = f"Stages wait {_percent(waited)} of the step" if stages > 1 else "A single stage never waits"
    return Motion(
        id, title, end, len(shown) * (ROW + GAP) + 2, tuple(_things(found, stages, place, end)), tuple(_events(found, stages, end, waited)),
        f"{stages} stages and {micro_batches:,} microbatches: together the stages wait {_percent(waited)} of {format_quantity(end, 's')}.",
        legend=tuple(legend), note=f"{micro_batches:,} microbatches through {stages} stages", seconds=10.0, more={"left": LEFT},
    )  # fmt: skip


def _percent(share: float) -> str:
    return f"{significant(100 * share)}%"


def _things(found: Sequence[Span], stages: int, place: dict[int, int], end: float) -> Iterator[Thing]:
    for stage, y in place.items():
        yield Lane(name(stage), y, ROW)
    for stage, kind, start, stop, is_first in found:
        if stage in place:
            yield Bar(start, min(stop, end), place[stage], ROW, FIRST if is_first else COLOURS[kind])
    yield from _counters(found, stages, end)


def _counters(found: Sequence[Span], stages: int, end: float) -> Iterator[Counter]:
    """How many stages work, and how much of their time so far they have waited."""
    starts, stops = sorted(span[2] for span in found), sorted(span[3] for span in found)
    near = 1e-9 * end
    working = [
        (t, float(bisect_right(starts, t + near) - bisect_right(stops, t + near))) for t in sorted({0.0, *starts, *stops}) if t <= end
    ]
    kept = [point for i, point in enumerate(working) if i == 0 or point[1] != working[i - 1][1]]
    yield Counter("stages at work", tuple(kept), steps=True, colour="compute")
    points = []
    for at in (end * i / 100 for i in range(1, 101)):
        worked = sum(min(stop, at) - start for _, _, start, stop, _ in found if start < at)
        points.append((at, 100 * max(0.0, 1 - worked / (stages * at))))
    yield Counter("waited so far", ((0.0, points[0][1]), *points), "%", colour="overhead")


def _events(found: Sequence[Span], stages: int, end: float, waited: float) -> list[tuple[float, str]]:
    begins = {stage: min(span[2] for span in found if span[0] == stage) for stage in range(stages)}
    ends = {stage: max(span[3] for span in found if span[0] == stage) for stage in range(stages)}
    told = [(0.0, "Stage 1 takes the first microbatch. " + ("Every other stage waits." if stages > 1 else ""))]
    told += [(begins[stage], f"Stage {stage + 1} gets its first microbatch.") for stage in range(1, stages - 1)]
    back = [span for span in found if span[1] == "backward" and span[0] == 0]
    if back and stages > 1:
        late = format_quantity(begins[stages - 1], "s")
        told.append((begins[stages - 1], f"The first microbatch is at stage {stages}, which waited {late} for it."))
        first = min(span[2] for span in back)
        told.append((first, "The first microbatch is back at stage 1. From now on a stage does one forward, one backward."))
        last = max(span[3] for span in found if span[1] == "forward" and span[0] == 0)
        if last > first:
            told.append((last, "Stage 1 has sent its last microbatch on. From now on it waits for each one to come back."))
    if stages > 1:
        told.append((ends[stages - 1], f"Stage {stages} is done, and waits while the others drain."))
    told.append((end, f"The step is over. Over all stages, {_percent(waited)} of the time was waiting."))
    return sorted(told, key=lambda event: event[0])
