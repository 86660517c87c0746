"""The process before a replica, by hand, and what requests see of it."""

import pytest

from ironlaw.engine.serving.llm.engines import Engine
from ironlaw.engine.serving.llm.front import Front
from ironlaw.engine.serving.llm.policy import Policy
from ironlaw.engine.serving.llm.replica import serve
from ironlaw.engine.serving.llm.replicas import apart, side_by_side
from ironlaw.engine.serving.llm.requests import Request


class Second:
    def seconds(self, batch, contexts, chunks=(), ends=0, each=1):
        return 1.0


def test_a_burst_is_ready_together_and_single_requests_at_once():
    front = Front(1.0)
    assert front.ready([0.0] * 3) == [3.0] * 3
    assert front.ready([0.0, 2.0, 4.0]) == [1.0, 3.0, 5.0]
    assert front.ready([0.0, 0.5, 10.0]) == [
        1.5,
        2.0,
        11.0,
    ]  # half of the first is done when the second comes; then each has half of the process
    assert Front().ready([1.0, 1.0]) == [1.0, 1.0]


def test_work_is_neither_lost_nor_made():
    """A process that is never idle ends after all its work, however requests come."""
    arrivals = [0.1 * i for i in range(50)]
    done = Front(0.3).ready(arrivals)
    assert done[-1] == pytest.approx(50 * 0.3) and done == sorted(done) and all(b > a for a, b in zip(arrivals, done, strict=True))


def test_a_replica_behind_a_front():
    requests = [Request(0.0, 4, 3), Request(0.0, 4, 3)]
    policy = Policy(most=2)
    alone, behind = serve(requests, Second(), 100, policy), serve(requests, Second(), 100, policy, front=Front(2.0, 0.5))
    assert behind.first == tuple(t + 4.5 for t in alone.first) and behind.leave == tuple(t + 4.5 for t in alone.leave)
    assert behind.requests == tuple(requests) and behind.gaps == alone.gaps and behind.ttft(0.5) == alone.ttft(0.5) + 4.5
    both = side_by_side(requests, Second(), 100, policy, 2, front=Front(2.0, 0.5))
    assert both.first == tuple(t + 2.5 for t in (1.0, 1.0))  # a front each
    pools = apart(requests, Second(), 100, policy, prompts=1, decoders=1, move=0.0, front=Front(2.0, 0.5))
    assert pools.first == tuple(t + 4.5 for t in alone.first)


def test_an_engines_defaults():
    own = Engine("x", "X", 1e-3, 2e-3, 3e-3, budget=8192, small_budget=2048)
    assert own.usual_budget("h100_sxm", 80e9) == 8192 and own.usual_budget("a100_80gb_sxm", 80e9) == own.usual_budget("l4", 24e9) == 2048
    fewer = Engine("z", "Z", sequences=1024, small_sequences=256)
    assert fewer.usual_sequences("h100_sxm", 80e9) == 1024 and fewer.usual_sequences("a100_80gb_sxm", 80e9) == 256
    assert own.usual_sequences("l4", 24e9) == own.sequences
    twice = own.times(2.0)
    assert (twice.step, twice.request, twice.first) == (2e-3, 4e-3, 6e-3) and Engine("y", "Y", step=1.0).front is None
