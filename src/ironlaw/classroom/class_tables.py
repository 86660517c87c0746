"""The CSV files: for spreadsheets and for statistics programs. UTF-8 with a mark, which spreadsheets need; one header line."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from ironlaw.classroom.answer_counts import ClassFigures, finished, own_brier
from ironlaw.classroom.class_predictions import item_of, orders

Cell = str | int | float | bool | None
MARK = "\ufeff"
PIECE = 1_000  # rows
MOST_WRITTEN = 100_000  # rows that are remembered; the labs have some hundreds, and hostile files any number
# What a spreadsheet takes for a formula, also after blanks, and as full-width characters
FORMULA = re.compile(r"\s*[=+\-@\t\r\n＝＋－＠|]")
# a spreadsheet whose separator is the semicolon begins a cell after it, whatever the quotes say
AFTER = re.compile(r"([;|\t][\s\"']*)(?=[=+\-@＝＋－＠|])")


@dataclass(frozen=True)
class Table:
    """`rows(figures)` gives one line each."""

    columns: tuple[str, ...]
    rows: Callable[[ClassFigures], Iterable[Sequence[Cell]]]
    ready: bool = False  # its cells are texts already, each through `safe`

    def content(self, figures: ClassFigures) -> bytearray:
        """Piece by piece: ten thousand learners' predictions are too long to hold more than once."""
        content, rows = bytearray(MARK, "utf-8"), iter(self.rows(figures))
        piece: list[Sequence[Cell]] = [self.columns]
        while piece:
            out = io.StringIO()
            csv.writer(out, lineterminator="\r\n").writerows(piece if self.ready else ([safe(cell) for cell in row] for row in piece))
            content += out.getvalue().encode("utf-8", "replace")
            piece = list(islice(rows, PIECE))
        return content

    def text(self, figures: ClassFigures) -> str:
        return self.content(figures).decode()

    def accepts(self, head: bytes) -> bool:
        """Whether an existing file is one of these, to be replaced."""
        return head.decode("utf-8", "replace").removeprefix(MARK).startswith(",".join(self.columns[:3]))


def safe(cell: Cell) -> str:
    """A text that no spreadsheet runs. Numbers are ours, and stay numbers."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "1" if cell else "0"
    if isinstance(cell, (int, float)):
        return f"{cell:.6g}" if isinstance(cell, float) else str(cell)
    if cell[:1].isalnum() and cell.isprintable() and ";" not in cell and "|" not in cell:  # nearly every cell
        return cell
    text = AFTER.sub(r"\1'", "".join(c if c.isprintable() else " " for c in cell))
    return f"'{text}" if FORMULA.match(text) else text


def _files(figures: ClassFigures) -> Iterable[Sequence[Cell]]:
    call, hand_ins = figures.naming.file, figures.hand_ins
    rows: list[tuple[str, str, str, str, int | None, str]] = []
    for ledger in hand_ins.ledgers:
        rows.append((call(ledger.file), figures.naming.learner(ledger), "counted", "", ledger.work.events, ledger.head))
    for prefix, listed in (("", hand_ins.refused), ("counted; ", hand_ins.notes)):
        for one in listed:
            name = "" if figures.naming.pseudonyms else one.name
            rows.append((call(one.file), name, f"{prefix}{one.kind}", one.words(call), None, ""))
    if not figures.naming.pseudonyms:  # their names may say whose they are
        rows += [(file, "", "hidden", "a file or folder of the system, not read", None, "") for file in hand_ins.hidden]
    return sorted(rows, key=lambda row: row[:4])


def _learners(figures: ClassFigures) -> Iterable[Sequence[Cell]]:
    for one in figures.learners:
        work = one.work
        answers = work.answers.values()
        minutes = sum(work.active_s.values()) / 60
        yield (
            one.label, sum(finished(one, lab) for lab in figures.sheets.values()), len(work.answers), sum(a.correct for a in answers),
            sum(a.attempts > 1 for a in answers), own_brier(one), len(work.reviews), sum(review.correct for review in work.reviews),
            minutes, work.gaps, work.resets, one.hand_in.verified, work.last,
        )  # fmt: skip


def _labs(figures: ClassFigures) -> Iterable[Sequence[Cell]]:
    for one in figures.learners:
        work = one.work
        answered = Counter(lab for lab, _ in work.answers)
        right = Counter(answer.lab for answer in work.answers.values() if answer.correct)
        for slug, lab in figures.sheets.items():
            if slug in work.labs:
                yield (
                    one.label, slug, answered[slug], len(lab.items) if lab.known else None, right[slug],
                    finished(one, lab), slug in work.saved, work.active_s.get(slug, 0.0) / 60,
                )  # fmt: skip


def _answers(figures: ClassFigures) -> Iterable[Sequence[Cell]]:
    """The longest of the tables: what an option gives is written once, however many chose it."""
    written: dict[tuple[object, ...], list[str]] = {}
    for one in figures.learners:
        label = safe(one.label)
        for answer in one.work.answers.values():
            lab, question, kind, choice, value, correct, confidence, estimate, attempts, time, _ = answer
            key = lab, question, kind, choice, type(value), value, correct  # 1 and 1.0 are written differently
            cells = written.get(key)
            if cells is None:
                item = item_of(figures.sheets, answer)
                truth, distance = item.answer, orders(item, answer)
                ratio = 10.0**distance if distance is not None else None
                given = (lab, question, kind, choice, value, truth if distance is not None else None, ratio, distance, correct)
                cells = [safe(cell) for cell in given]
                if len(written) < MOST_WRITTEN:
                    written[key] = cells
            sure = "" if confidence is None else safe(confidence)
            yield [label, *cells, sure, "" if estimate is None else safe(estimate), safe(attempts), time]


def _items(figures: ClassFigures) -> Iterable[Sequence[Cell]]:
    for one in figures.items:
        low, high = one.interval or (None, None)
        yield (
            one.item.lab, one.item.name, one.item.text, one.n, one.right, one.share, one.orders, one.off, one.too_high, one.too_low,
            one.again, one.rejudged, one.separates, low, high, one.compared,
        )  # fmt: skip


def _options(figures: ClassFigures) -> Iterable[Sequence[Cell]]:
    for one in figures.items:
        for option in one.options:
            share = option.chosen / one.n
            yield one.item.lab, one.item.name, option.choice, option.label, option.chosen, share, option.right, option.misconception


def _beliefs(figures: ClassFigures) -> Iterable[Sequence[Cell]]:
    for one in figures.beliefs:
        low, high = one.interval or (None, None)
        yield one.name, one.says, one.met, one.chose, one.share, low, high, one.sure, one.given_up, " ".join(one.where)


def _steps(figures: ClassFigures) -> Iterable[Sequence[Cell]]:
    for one in figures.steps:
        first, median, third = one.quartiles or (None, None, None)
        yield one.lab, one.step, one.label, one.n, median, first, third, one.left_out, figures.idle_s


def _calibration(figures: ClassFigures) -> Iterable[Sequence[Cell]]:
    for one in figures.calibration:
        for row in one.rows:
            yield one.what, row.confidence, row.stated, row.answers, row.right, row.share, one.brier


TABLES = {
    "files.csv": Table(("file", "learner", "state", "reason", "events", "last_hash"), _files),
    "learners.csv": Table(
        (
            "learner", "labs_finished", "questions_answered", "right_first", "tried_again", "brier", "cards_answered", "cards_right",
            "minutes_at_least", "gaps_not_counted", "resets", "verified", "last_event",
        ),
        _learners,
    ),
    "labs.csv": Table(
        ("learner", "lab", "questions_answered", "questions", "right_first", "finished", "design_saved", "minutes_at_least"), _labs
    ),
    "predictions.csv": Table(
        (
            "learner", "lab", "question", "kind", "choice", "value", "truth", "predicted_over_true", "orders_off", "right", "confidence",
            "estimate", "attempts", "time",
        ),
        _answers,
        ready=True,
    ),
    "items.csv": Table(
        (
            "lab", "question", "text", "learners", "right", "share_right", "median_orders", "median_orders_off", "wrong_too_high",
            "wrong_too_low", "tried_again", "rejudged_today", "item_rest_correlation", "correlation_low", "correlation_high",
            "learners_compared",
        ),
        _items,
    ),
    "options.csv": Table(("lab", "question", "choice", "label", "chosen", "share", "right", "misconception"), _options),
    "misconceptions.csv": Table(
        ("misconception", "belief", "learners_met", "learners_chose", "share", "low", "high", "sure", "given_up", "where"), _beliefs
    ),
    "steps.csv": Table(("lab", "step", "label", "learners", "median_s", "quartile1_s", "quartile3_s", "left_out", "idle_after_s"), _steps),
    "calibration.csv": Table(("answers", "confidence", "stated", "n", "right", "share_right", "brier_of_all"), _calibration),
}  # fmt: skip
