"""The report's first screens while a class works: a page that stays, and what it shows anew whenever somebody has answered.

Nobody is named unless names were asked for, and the page is light whatever the reader's system prefers: it is for a projector.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import Protocol

from ironlaw.classroom import sheets
from ironlaw.classroom.answer_counts import count
from ironlaw.classroom.class_page import style
from ironlaw.classroom.hand_ins import HandIns
from ironlaw.classroom.sections import lecture_section, questions_section
from ironlaw.classroom.sections.section_words import people
from ironlaw.errors import IronlawError
from ironlaw.report.markup import paragraph, text
from ironlaw.units import counted

EVERY_S = 2.0
REST = 4.0  # times the processor time of a look, so that following takes a fifth of a core at most


class Source(Protocol):
    def look(self) -> bool: ...
    def hand_ins(self) -> HandIns: ...


@dataclass(frozen=True)
class Shown:
    """`version` is another whenever the page has to be drawn again."""

    version: int
    html: str


class Following:
    """Looks at the source again and again, in a thread of its own; `shown` is always whole."""

    def __init__(self, source: Source, names: bool, clock: Callable[[], float] = time.thread_time) -> None:
        self.source, self.names, self.clock = source, names, clock
        self.shown = Shown(0, paragraph("Reading what is there …"))
        self.stopped = threading.Event()
        self._fault = ""

    def run(self) -> None:
        for slug in sorted(sheets.installed()):  # seconds of work, which would otherwise come on top of the first file
            sheets.sheet(slug)
        while not self.stopped.is_set():
            begun = self.clock()
            self.look()
            self.stopped.wait(max(EVERY_S, REST * (self.clock() - begun)))

    def look(self) -> None:
        """Looks once. Whatever a learner has put there, the page goes on."""
        try:
            changed, fault = self.source.look(), ""
        except IronlawError as error:
            changed, fault = False, str(error)
        except Exception as error:  # a fault of ours must not end the lecture's page
            changed, fault = False, f"{type(error).__name__}: this is a bug in ironlaw; what was read before stays"
        if changed or fault != self._fault or not self.shown.version:
            self._fault = fault
            try:
                self.shown = Shown(self.shown.version + 1, self._drawn(fault))
            except Exception as error:
                self.shown = Shown(self.shown.version + 1, paragraph(f"{type(error).__name__}: this is a bug in ironlaw.", "c-fail"))

    def _drawn(self, fault: str) -> str:
        banner = f'<p class="c-fail" role="alert">{text(fault)}</p>' if fault else ""
        hand_ins = self.source.hand_ins()
        if not hand_ins.ledgers:
            return banner + paragraph("Nobody has answered anything yet. This page fills by itself.")
        figures = count(hand_ins)
        left = len(hand_ins.refused)
        note = paragraph(f"{people(len(figures.learners))}; {counted(left, 'file')} can’t be counted.", "il-quiet") if left else ""
        questions = f"<section><h2>Predictions and answers</h2>{questions_section.questions(figures)}</section>"
        return f"{banner}{lecture_section.first_screen(figures, self.names)}{note}{questions}"


def page() -> str:
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>Class, live</title>\n'
        '<link rel="stylesheet" href="/live.css">\n<script src="/live.js" defer></script>\n</head>\n<body>\n'
        '<header><h1>The class so far</h1><p id="state" class="il-quiet" role="status">Connecting …</p></header>\n'
        '<main id="live"></main>\n</body>\n</html>\n'
    )


def css() -> str:
    return style() + _file("live.css")


def script() -> str:
    return _file("live.js")


def _file(name: str) -> str:
    return (files("ironlaw.classroom") / name).read_text(encoding="utf-8")
