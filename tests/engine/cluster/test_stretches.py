"""A condensed schedule against the one that is played out, and its idle area against the bubble's formula."""

import itertools

import pytest

from ironlaw.engine.cluster.pipeline_timeline import IDLE, idle_share, stretches
from ironlaw.engine.cluster.pipelines import bubble, gantt


@pytest.mark.parametrize(
    ("stages", "micro", "virtual"),
    [(4, 8, 1), (4, 16, 1), (8, 32, 1), (16, 16, 1), (12, 24, 1), (1, 5, 1), (4, 100, 1), (4, 8, 3), (6, 48, 2), (12, 48, 8)],
)
@pytest.mark.parametrize("forward", [1.0, 0.7])
def test_the_idle_area_is_the_bubble(stages: int, micro: int, virtual: int, forward: float) -> None:
    rows = stretches(stages, micro, virtual, forward)
    assert idle_share(rows) == pytest.approx(bubble(stages, micro, virtual))
    for stage in range(stages):
        mine = [row for row in rows if row.stage == stage]
        assert mine[0].start == 0 and all(a.end == pytest.approx(b.start) for a, b in itertools.pairwise(mine))
        assert sum(row.slots for row in mine) == 2 * micro * virtual and mine[-1].end == pytest.approx(max(row.end for row in rows))


@pytest.mark.parametrize(("stages", "micro", "virtual"), [(4, 40, 1), (3, 30, 2), (5, 17, 1)])
def test_a_condensed_schedule_waits_where_the_whole_one_does(stages: int, micro: int, virtual: int) -> None:
    """Every gap of the schedule that is played microbatch by microbatch, in the same place."""
    whole = gantt(stages, micro, virtual)
    end = max(slot.end for slot in whole)
    for stage in range(stages):
        gaps, at = [], 0.0
        for slot in sorted((slot for slot in whole if slot.stage == stage), key=lambda slot: slot.start):
            if slot.start - at > 1e-9:
                gaps.append((at, slot.start))
            at = slot.end
        if end - at > 1e-9:
            gaps.append((at, end))
        found = [(row.start, row.end) for row in stretches(stages, micro, virtual) if row.stage == stage and row.kind == IDLE]
        assert found == [pytest.approx(gap) for gap in gaps]


def test_single_slots_are_the_schedule() -> None:
    rows = [row for row in stretches(3, 4, single=True) if row.kind != IDLE]
    assert sorted((row.stage, row.start, row.end) for row in rows) == sorted((s.stage, s.start, s.end) for s in gantt(3, 4))
