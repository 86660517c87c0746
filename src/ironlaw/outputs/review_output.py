"""The review of one learner, and the report of a class."""

from collections.abc import Sequence
from typing import Annotated, Any, TypedDict


class ReviewCard(TypedDict):
    card: str
    topic: str
    concept: str
    lab: str
    kind: str
    answers: int
    right: int
    now: Annotated[str | None, "why it is due now"]
    due: str | None
    retrievability: float | None


class ReviewListJson(TypedDict):
    """What `ironlaw review --list --json` writes"""

    cards: Annotated[Sequence[ReviewCard], "all cards, those due now first"]


class ConfidenceLevel(TypedDict):
    confidence: int
    stated: float
    answers: int
    right: int
    share: float | None


class HeldBelief(TypedDict):
    belief: str
    says: str
    times: int
    last: str
    where: Sequence[str]
    counterexample: str


class ConceptMastery(TypedDict):
    concept: str
    label: str
    cards: int
    mastery: float | None


class ChecklistRow(TypedDict):
    statement: str
    says: str
    ticked: bool
    record: float | None
    gap: str | None
    cards: Sequence[str]


class ReadinessScore(TypedDict):
    points: float
    of: float
    begun: bool
    label: str
    action: str
    weak: Sequence[str]


class ReviewStatsJson(TypedDict):
    """What `ironlaw review --stats --json` writes"""

    answers: int
    predictions: int
    calibration: Sequence[ConfidenceLevel]
    brier: float | None
    held: Annotated[Sequence[HeldBelief], "beliefs that answers showed"]
    mastery: Sequence[ConceptMastery]
    checklist: Sequence[ChecklistRow]
    score: ReadinessScore
    due: int


class FileNote(TypedDict):
    file: str
    kind: str
    reason: str


class ClassLearner(TypedDict):
    learner: str
    finished: Sequence[str]
    answered: int
    right: int
    brier: float | None
    cards: int
    active_s: float
    resets: int
    verified: bool


class ClassQuestion(TypedDict):
    lab: str
    question: str
    n: int
    right: float | None
    options: dict[str, float]
    median_orders: float | None
    median_orders_off: float | None
    separates: float | None
    interval: Sequence[float] | None
    compared: Any


class ClassMisconception(TypedDict):
    name: str
    met: int
    chose: int
    sure: int
    given_up: int


class ClassStep(TypedDict):
    lab: str
    step: str
    n: int
    left_out: int
    quartiles_s: Sequence[float] | None


class ClassLevel(TypedDict):
    confidence: int
    stated: float
    n: int
    right: int


class ClassCalibration(TypedDict):
    answers: str
    brier: float | None
    levels: Sequence[ClassLevel]


class ClassReportJson(TypedDict):
    """What `ironlaw class report --json` writes"""

    files: int
    refused: Annotated[Sequence[FileNote], "files that were not counted"]
    hidden: Annotated[Sequence[str], "files and folders of the system, not read; none with pseudonyms"]
    notes: Annotated[Sequence[FileNote], "files that were counted, and are worth a look"]
    learners: Sequence[ClassLearner]
    questions: Sequence[ClassQuestion]
    misconceptions: Sequence[ClassMisconception]
    steps: Sequence[ClassStep]
    calibration: Sequence[ClassCalibration]
    idle_s: float
