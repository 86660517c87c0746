"""The review of one learner, and the report of a class."""

from typing import Annotated, Any, TypedDict


class ReviewCard(TypedDict):
    card: str
    topic: str
    concept: str
    lab: str
    kind: str
    answers: int
    right: int
    now: Annotated[str | None, "why it is to be answered now"]
    due: str | None
    retrievability: float | None


class ReviewListJson(TypedDict):
    """What `ironlaw review --list --json` writes"""

    cards: Annotated[list[ReviewCard], "first those that are to be answered now"]


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
    where: list[str]
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
    cards: list[str]


class ReadinessScore(TypedDict):
    points: float
    of: float
    begun: bool
    label: str
    action: str
    weak: list[str]


class ReviewStatsJson(TypedDict):
    """What `ironlaw review --stats --json` writes"""

    answers: int
    predictions: int
    calibration: list[ConfidenceLevel]
    brier: float | None
    held: Annotated[list[HeldBelief], "beliefs that answers showed"]
    mastery: list[ConceptMastery]
    checklist: list[ChecklistRow]
    score: ReadinessScore
    due: int


class FileNote(TypedDict):
    file: str
    kind: str
    reason: str


class ClassLearner(TypedDict):
    learner: str
    finished: list[str]
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
    interval: list[float] | None
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
    quartiles_s: list[float] | None


class ClassLevel(TypedDict):
    confidence: int
    stated: float
    n: int
    right: int


class ClassCalibration(TypedDict):
    answers: str
    brier: float | None
    levels: list[ClassLevel]


class ClassReportJson(TypedDict):
    """What `ironlaw class report --json` writes"""

    files: int
    refused: Annotated[list[FileNote], "files that were not counted"]
    notes: Annotated[list[FileNote], "files that were counted, and are worth a look"]
    learners: list[ClassLearner]
    questions: list[ClassQuestion]
    misconceptions: list[ClassMisconception]
    steps: list[ClassStep]
    calibration: list[ClassCalibration]
    idle_s: float
