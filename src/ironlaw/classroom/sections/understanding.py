"""Misconceptions by share, and confidence beside correctness."""

from __future__ import annotations

from ironlaw.classroom.answer_counts import Calibration, ClassFigures
from ironlaw.classroom.sections.section_words import NONE, bar, of, percent
from ironlaw.recall.confidence import EVEN_ODDS
from ironlaw.report.markup import paragraph, table, text


def misconceptions(figures: ClassFigures) -> str:
    if not figures.beliefs:
        return paragraph("No wrong answer so far has a named belief behind it.")
    rows = []
    for one in figures.beliefs:
        low, high = one.interval or (0.0, 0.0)
        rows.append(
            (
                one.says, percent(one.share), of(one.chose, one.met), f"{100 * low:.0f} to {percent(high)}",
                f"{one.sure:,}", f"{one.given_up:,}",
            )
        )  # fmt: skip
    words = paragraph(
        "Of the learners who met a question or a card that offers the belief, how many chose it at least once; Wilson’s 95% interval."
        " Sure: with a confidence of 4 or 5. Given up: a later right answer where it was offered again."
    )
    columns = ["belief", "share", "learners", "95% interval", "sure", "given up"]
    return words + table(columns, rows, "Misconceptions by share", (1, 2, 3, 4, 5))


def calibration(figures: ClassFigures) -> str:
    if not figures.calibration:
        return paragraph("No answer in these ledgers has a confidence.")
    words = paragraph(
        "A confidence of 1 to 5 stands for 25, 45, 65, 80 and 95%. A well-calibrated learner is right as often as stated. The Brier score"
        f" is 0 for someone who is always sure and right, and {EVEN_ODDS} for someone who always says 50%."
    )
    return words + "".join(map(_one, figures.calibration))


def _one(one: Calibration) -> str:
    lines = ""
    for row in one.rows:
        share = row.share
        value = f"{percent(share)} right ({of(row.right, row.answers)})" if share is not None else NONE
        lines += _level(row.confidence, row.stated, share, value)
    score = f"{one.brier:.3f}" if one.brier is not None else NONE
    said = f"{one.n:,} {one.what}: {percent(one.stated)} stated, {percent(one.right)} right; Brier score {score}."
    return f'<h3>{text(one.what.capitalize())}</h3><ul class="bars levels">{lines}</ul>{paragraph(said, "il-quiet")}'


def _level(confidence: int, stated: float, share: float | None, value: str) -> str:
    """The bar is how many were right, the tick what they stated."""
    line = bar(share or 0.0, f"confidence {confidence}", value, "", f"stated {percent(stated)}")
    return line.replace("</i></span>", f'</i><b style="left:{100 * stated:.0f}%"></b></span>', 1)
