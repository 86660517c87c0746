"""Misconceptions by share: of the learners who met a question that offers a belief, how many chose it at least once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from ironlaw.classroom.class_learner import Learner
from ironlaw.classroom.sheets import LabSheet
from ironlaw.classroom.stats import wilson
from ironlaw.recall.beliefs import beliefs


@dataclass(frozen=True)
class Belief:
    """`met`: learners who could have chosen it; `chose`: those who did; `sure`, of them with a confidence of 4 or 5; `given_up`, since."""

    name: str
    says: str
    met: int
    chose: int
    sure: int
    given_up: int
    where: tuple[str, ...]  # questions and cards where it was chosen

    @property
    def share(self) -> float:
        return self.chose / self.met

    @property
    def interval(self) -> tuple[float, float] | None:
        return wilson(self.chose, self.met)


@dataclass
class _Seen:
    chose: int = 0
    sure: int = 0
    given_up: int = 0
    where: dict[str, None] = field(default_factory=dict)


def count_beliefs(learners: Sequence[Learner], sheets: dict[str, LabSheet]) -> list[Belief]:
    """The most frequent first; only those that somebody chose."""
    met: Counter[str] = Counter()
    seen: dict[str, _Seen] = {}
    for one in learners:
        met.update(one.work.met)
        for name, held in one.work.beliefs.items():
            belief = seen.setdefault(name, _Seen())
            belief.chose += 1
            belief.sure += held.sure
            belief.given_up += held.given_up
            belief.where.update(dict.fromkeys(held.where))
    known = beliefs()
    offered_here = {choice.misconception for sheet in sheets.values() for item in sheet.items.values() for choice in item.choices.values()}
    listed = [
        Belief(name, known.get(name, name), met[name], b.chose, b.sure, b.given_up, tuple(b.where))
        for name, b in seen.items()
        if name in known or name in offered_here  # a file may name any
    ]
    return sorted(listed, key=lambda one: (-one.share, -one.met, one.name))
