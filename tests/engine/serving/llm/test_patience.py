"""A run that ends once too many first tokens are late says of the SLO what the whole run says."""

import math

import pytest

from ironlaw.engine.serving.llm.journal import Patience
from ironlaw.engine.serving.llm.policy import Policy
from ironlaw.engine.serving.llm.promise import Promise
from ironlaw.engine.serving.llm.replicas import apart, side_by_side
from ironlaw.engine.serving.llm.requests import Spread, arriving


class Second:
    def seconds(self, batch, contexts, chunks=(), ends=0, each=1):
        return 1.0


@pytest.mark.parametrize("rate", [0.05, 0.2, 0.5, 1.0, 3.0])
def test_it_says_what_the_whole_run_says(rate):
    requests, promise = arriving(rate, 200, Spread(4, 0.0), Spread(6, 1.0), seed=1), Promise(3.0, 1.5, share=0.9)
    patience = Patience(3.0, 20)
    for run in (
        lambda p: side_by_side(requests, Second(), 1000, Policy(most=4), 2, patience=p),
        lambda p: apart(requests, Second(), 1000, Policy(most=4), prompts=1, decoders=1, move=0.0, patience=p),
    ):
        whole, short = run(None), run(patience)
        assert not short.hopeless or rate > 0.2
        assert not whole.hopeless and (("ttft" in promise.broken(whole)) or not short.hopeless)
        assert bool(promise.broken(short)) == bool(promise.broken(whole))
        if short.hopeless:
            assert promise.broken(short)[0] == "ttft" and short.steps < whole.steps
        else:
            assert short == whole
    assert side_by_side(requests, Second(), 1000, Policy(most=4), 2, patience=patience).hopeless == (rate > 1.0) or rate == 1.0


class Longer:
    def seconds(self, batch, contexts, chunks=(), ends=0, each=1):
        return 0.01 * batch + 1e-4 * sum(count for count, _ in chunks) + 1e-7 * contexts


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
def test_a_run_that_is_only_to_say_whether_gaps_are_short_ends_once_too_many_are_long(share):
    requests, policy = arriving(2.0, 200, Spread(60, 1.0), Spread(10, 1.0), seed=1), Policy(most=16, budget=32)
    whole = side_by_side(requests, Longer(), 1000, policy, 1)
    for gap, broken in ((whole.tbt(share), False), (0.999 * whole.tbt(share), True)):
        patience = Patience(math.inf, len(requests), gap, (1 - share) * sum(r.output - 1 for r in requests) + 1e-6)
        out = side_by_side(requests, Longer(), 1000, policy, 1, patience=patience)
        assert out.hopeless == broken and (len(out.moments) < len(whole.moments)) == broken


@pytest.mark.parametrize("rate", [0.5, 0.8, 1.2, 2.0])
def test_replicas_that_are_counted_together_end_sooner_and_say_the_same(rate):
    """Two replicas that are each late with less than the share, but together with more; and gaps of a pool that only decodes."""
    requests, policy = arriving(rate, 200, Spread(60, 1.0), Spread(10, 1.0), seed=1), Policy(most=16, budget=32)
    promise = Promise(0.3, 0.05)
    wide = 0.01 * sum(r.output - 1 for r in requests) + 1e-6
    each, joint = (Patience(0.3, 2, 0.05, wide, joint) for joint in (False, True))
    for run in (
        lambda p: side_by_side(requests, Longer(), 1000, policy, 2, patience=p),
        lambda p: apart(requests, Longer(), 1000, policy, prompts=2, decoders=2, move=0.0, patience=p),
    ):
        whole, separate, together = run(None), run(each), run(joint)
        assert bool(promise.broken(whole)) == bool(promise.broken(together)) == together.hopeless
        assert len(together.moments) <= len(separate.moments)
        assert together.hopeless or together == whole


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
def test_gaps_are_counted_as_they_are_sorted(share):
    requests, policy = arriving(2.0, 100, Spread(60, 1.0), Spread(10, 1.0), seed=2), Policy(most=16, budget=32)
    out = side_by_side(requests, Longer(), 1000, policy, 1)
    for gap in sorted({seconds for seconds, _ in out.gaps})[::5]:
        assert out.slower_than(gap, share) == (out.tbt(share) > gap)
