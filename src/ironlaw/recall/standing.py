"""How often a learner's predictions were right, over those that there are enough of to say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ironlaw.ledger import Event
from ironlaw.recall import confidence
from ironlaw.recall.confidence import Prediction
from ironlaw.recall.schedule import SURE

FEWEST = 8  # predictions made with confidence, from which on a share of them says something
SURE_ONES, EVERY, NOBODY = "sure", "every", "nobody"  # which predictions a share is taken over


@dataclass(frozen=True)
class Standing:
    """First predictions in other labs than the one that asks."""

    predictions: tuple[Prediction, ...]

    @property
    def sure(self) -> tuple[Prediction, ...]:
        """The predictions with a confidence of 4 or 5."""
        return tuple(one for one in self.predictions if one.confidence >= SURE)

    @property
    def basis(self) -> str:
        """The sure ones where there are enough; else every prediction; else nobody's."""
        return SURE_ONES if len(self.sure) >= FEWEST else EVERY if self.predictions else NOBODY

    @property
    def counted(self) -> tuple[Prediction, ...]:
        return self.sure if self.basis == SURE_ONES else self.predictions

    @property
    def right(self) -> int:
        return sum(one.correct for one in self.counted)

    def share(self, chance: float) -> float:
        """The share of right answers; `chance`: that of somebody who chooses blindly, if there is no prediction."""
        return self.right / len(self.counted) if self.counted else chance


def standing(events: Iterable[Event], without: str = "") -> Standing:
    """`without`: the lab that asks."""
    return Standing(tuple(one for one in confidence.predictions(events) if one.lab != without))
