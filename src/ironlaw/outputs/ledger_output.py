"""What learners decided: the ledger and the certificate."""

from collections.abc import Sequence
from typing import Annotated, Any, TypedDict


class EventJson(TypedDict):
    """One event of the ledger; a part of others"""

    id: str
    learner: str
    epoch: Annotated[int, "number of the epoch; each reset begins a new one"]
    lab: str
    attempt: int
    kind: str
    payload: dict[str, Any]
    time: Annotated[str, "UTC, ISO 8601"]
    extra: Annotated[dict[str, Any], "fields of a newer ironlaw"]


class LedgerEventsJson(TypedDict):
    """What `ironlaw ledger show --lab --json` writes"""

    lab: str
    events: Sequence[EventJson]


class LearnerName(TypedDict):
    id: str
    name: str | None


class LabProgress(TypedDict):
    started: bool
    predictions: int
    reflections: int
    saved: bool
    last_event: EventJson | None
    design: dict[str, Any] | None


class LedgerShowJson(TypedDict):
    """What `ironlaw ledger show --json` writes"""

    where: Annotated[str, "the file or the database"]
    learner: LearnerName
    track: str | None
    labs: dict[str, LabProgress]


class CertificateChain(TypedDict):
    since: str
    events: Annotated[int, "how many of the ledger's events it covers, counted from the first"]
    head: Annotated[str, "the hash of the last of them"]


class ImportedEvents(TypedDict):
    learner: Annotated[str, "the id of the ledger that they were made in"]
    events: int
    predictions: int


class CertificatePrediction(TypedDict):
    question: str
    choice: Annotated[str, "the option's id"]
    value: Annotated[Any, "the option's value, as the lab stored it"]
    confidence: Annotated[int, {"minimum": 1, "maximum": 5}]
    correct: Annotated[bool, "what the lab said at the time"]
    time: str


class AnswerCount(TypedDict):
    answers: int
    right: int


class CertificateLab(TypedDict):
    lab: str
    first: str
    saved: Annotated[str | None, "when the newest design was saved"]
    predictions: Annotated[Sequence[CertificatePrediction], "the first answer to each question"]
    reflections: Annotated[AnswerCount, "how many were right at the first answer"]
    design: Annotated[dict[str, Any] | None, "as the lab saved it"]


class CertificateLevel(TypedDict):
    confidence: int
    stated: Annotated[float, "the probability that this level stands for"]
    predictions: int
    right: int
    interval: Annotated[Sequence[float] | None, "Wilson's 95% interval of the share that was right"]


class BrierParts(TypedDict):
    score: Annotated[float, "reliability − resolution + uncertainty"]
    reliability: float
    resolution: float
    uncertainty: float


class CertificateCalibration(TypedDict):
    predictions: int
    right: int
    levels: Sequence[CertificateLevel]
    brier: BrierParts | None


class MeasuredFigure(TypedDict):
    name: str
    value: float
    unit: str


class MeasuredExperiment(TypedDict):
    experiment: str
    lab: str
    time: str
    machine: str
    library: str
    noisy: bool
    runs: int
    rows: Sequence[MeasuredFigure]


class CertificateJson(TypedDict):
    """What the certificate page and `ironlaw ledger certificate` write"""

    issued: Annotated[str, "by the computer's clock, UTC; no event proves it"]
    proves: Annotated[Sequence[str], "what the file proves, the same words in every certificate"]
    does_not_prove: Annotated[Sequence[str], "what no file on the learner's own computer can prove"]
    learner: LearnerName
    chain: CertificateChain
    first: Annotated[str | None, "time of the first event"]
    last: str | None
    imported: Annotated[Sequence[ImportedEvents], "events that carry another ledger's id"]
    resets: int
    labs: Sequence[CertificateLab]
    calibration: CertificateCalibration
    review: AnswerCount
    measured: Annotated[Sequence[MeasuredExperiment], "the newest run of each experiment"]
