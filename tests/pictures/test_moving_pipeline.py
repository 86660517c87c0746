"""A pipeline as a film: it waits as much as the bubble's formula says, and each stage does one thing at a time."""

from itertools import pairwise

import pytest

from ironlaw.engine.cluster.pipelines import bubble
from ironlaw.pictures.moving.pipeline_film import FEW, FIRST, pipeline_film, spans
from ironlaw.widget.motion import Bar, Counter, Lane


@pytest.mark.parametrize(("stages", "micro", "virtual"), [(4, 8, 1), (12, 24, 1), (4, 8, 2), (8, 1152, 1), (1, 6, 1)])
def test_it_waits_as_the_formula_says(stages, micro, virtual):
    motion = pipeline_film(stages, micro, virtual, 3.0)
    share = float(bubble(stages, micro, virtual))
    assert motion.end == pytest.approx(3.0)
    waited = next(thing for thing in motion.things if isinstance(thing, Counter) and thing.unit == "%")
    assert waited.points[-1][1] == pytest.approx(100 * share, abs=1e-6)
    bars = [thing for thing in motion.things if isinstance(thing, Bar)]
    assert sum(bar.end - bar.start for bar in bars) == pytest.approx(stages * 3.0 * (1 - share))


def test_a_stage_does_one_thing_at_a_time():
    by_stage: dict[int, list[tuple[float, float]]] = {}
    for stage, _, start, end, _ in spans(6, 12, 1, 10.0):
        by_stage.setdefault(stage, []).append((start, end))
    for mine in by_stage.values():
        mine.sort()
        assert len(mine) == 24 and all(one[1] <= two[0] + 1e-9 for one, two in pairwise(mine))


def test_the_first_microbatch_goes_down_the_stages_and_back():
    motion = pipeline_film(4, 8, 1, 11.0)  # a slot of 1 s, forward a third of it
    first = sorted((thing.start, thing.y) for thing in motion.things if isinstance(thing, Bar) and thing.colour == FIRST)
    rows = [thing.y for thing in motion.things if isinstance(thing, Lane)]
    assert [y for _, y in first] == [*rows, *reversed(rows)]
    assert [t for t, _ in first[:4]] == pytest.approx([0, 1 / 3, 2 / 3, 1])


def test_thousands_of_slots_are_drawn_as_stretches():
    motion = pipeline_film(16, 1000, 1, 60.0)
    assert len(motion.things) < FEW and "the first microbatch" not in str(motion.legend)
