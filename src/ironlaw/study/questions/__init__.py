"""The questions, by name. To add one: a file here with QUESTION, and its name in this table."""

from __future__ import annotations

from ironlaw.errors import unknown
from ironlaw.study.question import Question
from ironlaw.study.questions import layout, memory, predict, serving

QUESTIONS: dict[str, Question] = {one.QUESTION.name: one.QUESTION for one in (predict, memory, layout, serving)}


def question(name: str) -> Question:
    if name not in QUESTIONS:
        raise unknown("question", name, QUESTIONS, field="question")
    return QUESTIONS[name]
