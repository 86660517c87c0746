"""Act I's settings: which rows of the table are seen, and what attacks the reader of digits."""

from __future__ import annotations

from dataclasses import dataclass

from ironlaw.engine.numerics.shares import Share
from ironlaw.engine.robustness import evaluation_cost
from ironlaw.labs.lab_v2_14_adversarial.models import FELL, Model, models
from ironlaw.registry.adversarial_tables import EPSILONS, FGSM, HARDENED, MARGIN, MASKED, PGD, PLAIN, RESTARTS, STEPS, attacked
from ironlaw.systems.fields import among, figure, whole

READERS = {PLAIN: "as trained", MASKED: "with a defence", HARDENED: "trained on attacks"}
ATTACKS = {FGSM: "one step", PGD: "steps along the loss", MARGIN: "steps along the margin"}
EVERY, HELD, FALLEN = "every", "held", "fell"
ROWS = {EVERY: "all", HELD: "claims that held", FALLEN: "claims that fell"}
FIRST_YEAR, LAST_YEAR = 2019, 2024


@dataclass(frozen=True)
class Setting:
    """Where the dials of Act I stand."""

    data: str
    rows: str = among(ROWS, EVERY, "Models shown", shows="table")
    until: int = whole(LAST_YEAR, "Published until", least=FIRST_YEAR, most=LAST_YEAR, dial="span", shows="table")
    confidence: float = among(
        {"90": "90%", "95": "95%", "99": "99%"}, "95", "Confidence interval", means=lambda percents: float(percents) / 100, shows="table"
    )
    reader: str = among(READERS, PLAIN, "Digit classifier", shows="readers")
    attack: str = among(ATTACKS, FGSM, "Attack", shows="readers")
    steps: int = among([str(n) for n in STEPS], "20", "Steps", means=int, shows="readers")
    restarts: int = among([str(n) for n in RESTARTS], "1", "Random starts", means=int, shows="readers")
    epsilon: float = figure(
        0.1, "Largest change of a pixel", low=0, high=EPSILONS[-1], dial="span", step=0.02, shows="readers",
        means=lambda epsilon: min(EPSILONS, key=lambda each: abs(each - epsilon)),
    )  # fmt: skip

    @property
    def shown(self) -> tuple[Model, ...]:
        """Rows without a paper, the standard networks, stay: all others are measured against them."""
        kept = {EVERY: (True, False), HELD: (False,), FALLEN: (True,)}[self.rows]  # whether the claim fell
        return tuple(one for one in models(self.data) if not one.year or (one.year <= self.until and (one.lost > FELL) in kept))

    @property
    def whole(self) -> bool:
        """Whether nothing is filtered out: of models that are only counted, neither year nor claim is known here."""
        return self.rows == EVERY and self.until == LAST_YEAR

    def withstood(self, epsilon: float, attack: str = "", reader: str = "") -> Share:
        return attacked(reader or self.reader, attack or self.attack, self.steps, self.restarts, epsilon)

    @property
    def left(self) -> Share:
        return self.withstood(self.epsilon)

    @property
    def worst(self) -> Share:
        """The fewest right answers that any attack of the table leaves at this ε."""
        every = [attacked(self.reader, kind, steps, restarts, self.epsilon) for kind in ATTACKS for steps in STEPS for restarts in RESTARTS]
        return min(every, key=lambda share: share.hits)

    @property
    def passes(self) -> float:
        """Forward passes' worth of arithmetic that the attack takes, an image."""
        return evaluation_cost(1 if self.attack == FGSM else self.steps, 1 if self.attack == FGSM else self.restarts)
