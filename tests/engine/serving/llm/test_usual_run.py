"""The one loop of a usual policy says what `Replica` says part by part, to the last bit."""

import random
from dataclasses import dataclass

import pytest

from ironlaw.engine.serving.llm.journal import Patience
from ironlaw.engine.serving.llm.policy import Policy, Speculation
from ironlaw.engine.serving.llm.replica import Replica, serve
from ironlaw.engine.serving.llm.requests import Request
from ironlaw.engine.serving.llm.usual_run import is_usual, run


@dataclass
class Uneven:
    """A step whose time depends on everything that it is told."""

    def seconds(self, batch, contexts, chunks=(), ends=0, each=1):
        return 3e-3 + 1.1e-4 * batch + 7e-8 * contexts + sum(2e-6 * count + 3e-9 * count * past for count, past in chunks) + 1e-5 * ends


def drawn(seed: int, count: int = 60) -> list[Request]:
    draw, at, made = random.Random(seed), 0.0, []
    for _ in range(count):
        at += draw.choice((0.0, draw.expovariate(12.0)))
        made.append(Request(at, draw.randint(1, 400), draw.randint(1, 60)))
    return made


POLICIES = {
    "chunks": Policy(most=16, budget=64),
    "pieces": Policy(most=32, budget=128, piece=48),
    "whole prompts": Policy(most=16, budget=300, chunked=False),
    "room for answers": Policy(most=64, budget=256, kept=1.0),
    "room for some of the answers": Policy(most=64, budget=256, kept=0.3),
    "blocks of one": Policy(most=8, budget=32, block=1),
}


@pytest.mark.parametrize("name", POLICIES)
def test_as_replica(name):
    policy = POLICIES[name]
    for seed in range(2):
        for blocks in (500, 2000, 100_000):  # the smallest holds one request: others make room again and again
            requests, total = drawn(seed), blocks // policy.block
            whole = Replica(requests, Uneven(), total, policy, 0.0, 0, False).run()
            assert run(requests, Uneven().seconds, total, policy, None) == whole == serve(requests, Uneven(), total, policy)
            assert blocks > 500 or policy.kept or whole.preempted > 0
            for patience in (Patience(0.2, 5), Patience(1.0, 3, 0.01, 40.0, joint=True), Patience(9.0, 60, 0.02, 1e9)):
                some = Replica(requests, Uneven(), total, policy, 0.0, 0, False, patience).run()
                assert run(requests, Uneven().seconds, total, policy, patience) == some


def test_other_policies_are_not_usual():
    others = (
        Policy(scheduling="static"), Policy(preemption="swap"), Policy(sharing=True), Policy(speculation=Speculation(2, 0.5), budget=4096),
    )  # fmt: skip
    assert all(is_usual(policy) for policy in POLICIES.values()) and not any(map(is_usual, others))
