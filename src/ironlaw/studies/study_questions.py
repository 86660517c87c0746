"""The questions, by name. To add one: a class of `systems.questions` in this table."""

from __future__ import annotations

from ironlaw.errors import unknown
from ironlaw.studies.command_questions import capacity, cluster
from ironlaw.studies.study_question import Question, studied
from ironlaw.systems.questions.call import Call
from ironlaw.systems.questions.serving import Serving
from ironlaw.systems.questions.training_layout import TrainingLayout
from ironlaw.systems.questions.training_memory import TrainingMemory

ALL = (
    studied("predict", Call, "how long one call of a model takes on a machine", "seconds", "fits"),
    studied("memory", TrainingMemory, "what a training step holds in memory", "peak_bytes", "fits"),
    studied("layout", TrainingLayout, "how long a training step takes, laid out over many devices", "step_s", "fits"),
    studied("serving", Serving, "what one way of serving a language model delivers under load", "hours_per_million", "kept", version=2),
    capacity(),
    cluster(),
)
QUESTIONS: dict[str, Question] = {one.name: one for one in ALL}


def question(name: str) -> Question:
    if name not in QUESTIONS:
        raise unknown("question", name, QUESTIONS, field="question")
    return QUESTIONS[name]
