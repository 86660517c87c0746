"""Bytes on their way to the multipliers: the three terms to scale, and never outside what the law says they can take together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from ironlaw.pictures.moving.bytes_way import AHEAD, PARTS, bytes_way, parts
from ironlaw.widget.motion import Counter, Place

seconds = st.floats(1e-6, 1.0)


@given(seconds, seconds, st.one_of(st.just(0.0), seconds))
def test_the_whole_takes_what_overlap_allows(data, compute, overhead):
    run = parts(data, compute, overhead)
    low, high = overhead + max(data, compute), overhead + data + compute
    assert low * (1 - 1e-9) <= run[-1].done <= high * (1 + 1e-9)
    assert run[-1].done == approx(low + min(data, compute) / PARTS)  # the first part comes, or the last is worked on, alone
    assert sum(part.done - part.begun for part in run) == approx(compute) and sum(part.came - part.sent for part in run) == approx(data)


@given(seconds, seconds)
def test_a_part_is_worked_on_when_it_is_there_and_memory_is_only_so_far_ahead(data, compute):
    run = parts(data, compute, 0.0)
    for i, part in enumerate(run):
        assert part.begun >= part.came
        if i:
            assert part.begun >= run[i - 1].done and part.sent >= run[i - 1].came
        if i >= AHEAD:
            assert part.sent >= run[i - AHEAD].begun


@pytest.mark.parametrize(
    ("terms", "title"),
    [((20e-6, 10e-6, 0.0), "wait for bytes"), ((10e-6, 20e-6, 0.0), "bytes wait for them"), ((1e-6, 2e-6, 30e-6), "waits for the launch")],
)
def test_the_title_says_what_waits(terms, title):
    motion = bytes_way(*terms, 1e6, "50 GB/s")
    assert title in motion.title
    worked = next(thing for thing in motion.things if isinstance(thing, Counter) and thing.unit == "%")
    assert worked.points[-1][1] == approx(100 * terms[1] / motion.end)
    (units,) = (thing for thing in motion.things if isinstance(thing, Place) and thing.colour == "compute")
    assert sum(to - start for start, to in units.spans) == approx(terms[1], rel=1e-2) and units.spans[-1][1] < motion.end


@pytest.mark.parametrize(("data", "compute", "why"), [(24e-6, 12e-6, "once it has arrived"), (12e-6, 24e-6, "before the first part")])
def test_the_end_says_what_the_film_takes_beyond_the_law(data, compute, why):
    said = bytes_way(data, compute, 10e-6, 1e6, "50 GB/s").events[-1][1]
    assert "500\u202fns more than 34\u202fµs" in said and why in said  # a part of 24 of the shorter term; 10 µs and the longer one
