"""Two requests on two shards, followed by hand: the copy that loses is taken out of its line or stopped."""

import math

import pytest

from ironlaw.engine.serving.cancelling import first_answers
from ironlaw.engine.serving.hedging import Pause

NO_PAUSE = Pause(math.inf, 0.0)
ARRIVE, HOME, OTHER = [0.0, 1.0], [0, 0], [1, 1]
WORKS = [10.0, 1.0, 3.0, 0.5]  # of the requests, then of their copies


def answers(delay, budget=None, pause=NO_PAUSE, works=WORKS):
    return first_answers(ARRIVE, works, HOME, OTHER, 2, delay, budget, pause)


def test_without_copies_a_shard_works_in_order():
    assert answers(100.0) == ([10.0, 11.0], [])


def test_the_first_answer_frees_both_shards():
    """The copy sent at 2 is done at 5 and stops the original; then both shards take the second request, and its copy is done at 5.5."""
    assert answers(2.0) == ([5.0, 5.5], [2.0, 3.0])


def test_a_budget_of_half_a_copy_sends_one_of_two():
    assert answers(2.0, 0.5) == ([5.0, 6.0], [2.0])
    assert answers(2.0, 0.0) == ([10.0, 11.0], [])


def test_what_is_answered_in_time_is_not_copied():
    """The first takes 2 and is asked for again at 2; the second waits until then, is done at 3, before 4."""
    assert answers(2.5, works=[2.0, 1.0, 9.0, 9.0]) == ([2.0, 3.0], [])
    assert answers(2.0, works=[2.0, 1.0, 9.0, 9.0]) == ([2.0, 3.0], [])  # just in time


def test_who_is_late_when_another_comes_is_looked_at_first():
    """Half a copy is saved when the first is late at 2; what the second brings is for the second."""
    assert first_answers([0.0, 2.0], WORKS, HOME, OTHER, 2, 2.0, 0.5, NO_PAUSE) == ([10.0, 4.5], [4.0])


def test_a_copy_that_waits_is_taken_out_of_its_line():
    """The copy of the second stands behind the first's when its original is done at 4; the shard is free for nobody else, and at 7 ends."""
    done, copies = first_answers([0.0, 1.0, 5.0], [9.0, 3.0, 1.0, 5.0, 5.0, 5.0], [0, 2, 1], [1, 1, 2], 3, 2.0, None, NO_PAUSE)
    assert copies == [2.0, 3.0, 7.0]
    assert done == [7.0, 4.0, 8.0]  # the third starts when the copy of the first is done


def test_during_a_pause_nobody_works_and_copies_are_sent_all_the_same():
    """All stand still from 1 to 5: the copy sent at 2 begins at 5 and is done at 8."""
    done, copies = answers(2.0, pause=Pause(1.0, 4.0))
    assert copies == [2.0, 3.0] and done == pytest.approx([8.0, 8.5])
