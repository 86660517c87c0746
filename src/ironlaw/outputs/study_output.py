"""A study's outcome, the questions it may ask, and an error of any command."""

from collections.abc import Sequence
from typing import Annotated, Any, TypedDict


class StudyError(TypedDict):
    error: str
    points: int


class StudyJson(TypedDict):
    """What `ironlaw study --json` writes"""

    question: str
    about: str
    file: Annotated[str, "where the results are"]
    points: int
    answered: int
    refused: int
    failed: int
    unfit: int
    needs: str | None
    by: Annotated[str, "the result that the points are ranked by"]
    better: str
    fixed: Annotated[dict[str, Any], "parameters that never vary"]
    usual: Sequence[str]
    vary: Sequence[str]
    units: dict[str, str]
    results: Sequence[str]
    best: Sequence[dict[str, Any]]
    errors: Sequence[StudyError]
    computed: Annotated[int, "points computed in this run"]


class StudyParameter(TypedDict):
    name: str
    about: str
    required: bool
    default: Any
    unit: str
    type: str
    values: Sequence[str]


class StudyResult(TypedDict):
    name: str
    about: str
    unit: str
    better: str


class StudyQuestion(TypedDict):
    question: str
    about: str
    version: int
    by: str
    parameters: Sequence[StudyParameter]
    results: Sequence[StudyResult]


class StudyQuestionsJson(TypedDict):
    """What `ironlaw study --questions --json` writes"""

    questions: Sequence[StudyQuestion]


class ErrorDetails(TypedDict):
    kind: Annotated[str, "the class of the error, such as BadValue or UnknownName"]
    message: Annotated[str, "one paragraph: the value, the place and what to do next"]
    field: Annotated[str | None, "the setting that was refused, where one can be named"]


class ErrorJson(TypedDict):
    """An error under --json"""

    error: Annotated[ErrorDetails, "what was refused"]
    exit_code: Annotated[int, "the command's exit code: 1, 2 or 70"]
