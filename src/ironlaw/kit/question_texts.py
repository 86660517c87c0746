"""What a lab asks and offers, in plain lines: for pages that show answers outside the lab. No key is computed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from html import unescape
from pathlib import Path

from ironlaw.errors import IronlawError
from ironlaw.kit import lab_words, question_sheet
from ironlaw.slots import SLOT

BLANK = "…"
SENTENCE = re.compile(r"(?<=[.?!]) +")
MARKS = re.compile(r"\[([^\]]*)\]\([^)]*\)|[*`$]")


@dataclass(frozen=True)
class Asked:
    """A question's text, and what each option says."""

    text: str
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def line(self) -> str:
        """The text; where it has figures that only the lab fills in, the sentences without one, if they ask something."""
        whole = [one for one in SENTENCE.split(self.text) if BLANK not in one]
        return " ".join(whole) if any(one.endswith("?") for one in whole) else self.text


def plain(markdown: str, premises: Mapping[str, str] | None = None) -> str:
    """One line without marks; a figure that is not a premise, so that only the lab fills it in, is an ellipsis."""
    given = premises or {}
    return " ".join(MARKS.sub(r"\1", SLOT.sub(lambda match: unescape(given.get(match[1], BLANK)), markdown)).split())


def text_of(question: question_sheet.Question, text: lab_words.Words) -> str:
    """The question's short form where it has one: only the lab fills in figures, and tells what came before. Otherwise as it was asked."""
    names = (f"{question.name}.question", f"{question.name}.ask")
    whole = plain(next((text.sections[name] for name in names if name in text.sections), ""), text.premises)
    return text.sections.get(f"{question.name}.in_short", whole)


@cache
def asked(folder: Path) -> Mapping[str, Asked]:
    """Question -> what it says; empty where the lab is not here or can't be read: a ledger may come from elsewhere."""
    try:
        sheet = question_sheet.load(folder / "questions.toml")
        text = lab_words.load(folder / "words.md", sheet.premises)
    except (IronlawError, OSError):
        return {}
    return {
        name: Asked(
            text_of(question, text),
            {option.id: plain(option.label) for option in question.options},
        )
        for name, question in sheet.questions.items()
    }
