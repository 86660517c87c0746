"""Where an SLO takes many times the devices of the work: which limit, how far it would have to give, and when there is nothing to say."""

from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from ironlaw.systems.serving.search import cliffs
from ironlaw.systems.serving.search.cliffs import cliff


@dataclass(frozen=True)
class Asked:
    """1,000 tokens a second; a replica of two GPUs makes 250 of them."""

    ttft: float = 1.0
    tpot: float = 0.02
    rate: float | None = 10.0

    @property
    def about(self):
        return {"rate": self.rate, "output": 100}

    @property
    def promise(self):
        return self


def choice(replicas, binds):
    return SimpleNamespace(deployment=SimpleNamespace(devices=2), answer=SimpleNamespace(replicas=replicas, binds=binds))


@pytest.fixture
def tried(monkeypatch):
    """Twelve replicas would do where tpot is 40 ms."""
    seen = []

    def best_policy(asked, rig, most):
        seen.append((asked.ttft, asked.tpot, most))
        return SimpleNamespace(devices=24) if asked.tpot >= 0.04 else None

    monkeypatch.setattr(cliffs, "best_policy", best_policy)
    monkeypatch.setattr(cliffs, "most_tokens", lambda asked, rig: 250.0)
    return seen


def test_the_limit_that_keeps_far_fewer_from_doing(tried):
    """Work for 4 replicas takes 20: looser limits are tried one after the other, with 14 replicas at most."""
    assert cliff(Asked(), choice(20, "tpot")) == {"work_devices": 8, "limit": "tpot", "at_s": 0.04, "devices": 24}
    assert tried == [(1.0, pytest.approx(0.02 * factor), 14) for factor in (1.25, 1.5, 2.0)]
    tried.clear()
    assert cliff(Asked(), choice(20, "ttft and tpot"))["limit"] == "tpot" and len(tried) == 4 + 3


def test_a_limit_of_which_three_times_would_not_help(tried):
    assert cliff(Asked(), choice(20, "ttft")) == {"work_devices": 8, "limit": "ttft", "at_s": None, "devices": None}


@pytest.mark.parametrize(
    ("asked", "replicas", "binds"), [(Asked(), 20, "cache"), (Asked(rate=None), 20, "tpot"), (Asked(), 1, "tpot"), (Asked(), 7, "tpot")]
)
def test_nothing_to_say(tried, asked, replicas, binds):
    assert cliff(asked, choice(replicas, binds)) is None and not tried
