"""Time per step, and who did what."""

from __future__ import annotations

from collections import Counter

from ironlaw.classroom.answer_counts import FEWEST_ANSWERS, ClassFigures, finished, own_brier
from ironlaw.classroom.class_learner import Learner
from ironlaw.classroom.sections.section_words import NONE, minutes, of, people
from ironlaw.report.markup import paragraph, table, text

MOST_ROWS = 1000  # learners in the page's list; a browser stalls on ten thousand


def times(figures: ClassFigures) -> str:
    idle = f"{figures.idle_s / 60:g}"
    words = paragraph(
        "Minutes and seconds spent on each step, the first time each learner took it: the median, and the range that holds the middle half."
        f" A gap of more than {idle} minutes between two events does not count as work, and a learner who has one is left out of that step."
        " These are times between clicks; what a learner did in between is not known."
    )
    out = ""
    steps: dict[str, list[tuple[str, ...]]] = {}
    for one in figures.steps:
        low, middle, high = one.quartiles or (0.0, 0.0, 0.0)
        median, half = (minutes(middle), f"{minutes(low)} to {minutes(high)}") if one.quartiles else (NONE, NONE)
        steps.setdefault(one.lab, []).append((one.label, median, half, f"{one.n:,}", f"{one.left_out:,}"))
    for slug, lab in figures.sheets.items():
        if rows := steps.get(slug):
            title = lab.heading if lab.known else slug
            columns = ["step", "median", "half of them", "learners", "left out"]
            out += f"<h3>{text(title)}</h3>" + table(columns, rows, f"Time per step, {title}", (1, 2, 3, 4))
    return words + (out or paragraph("No step has been finished yet."))


def who(figures: ClassFigures) -> str:
    labs = {slug: lab for slug, lab in figures.sheets.items() if lab.items or not lab.known}
    heads = ["learner", *(lab.name for lab in labs.values()), "right at first", "Brier", "cards", "time", "last event"]
    head = "".join(f'<th scope="col" aria-sort="none"{"" if i == 0 else " class=number"}>{text(name)}</th>' for i, name in enumerate(heads))
    listed = figures.learners[:MOST_ROWS]
    body = "".join(f"<tr>{''.join(_cells(one, figures, list(labs)))}</tr>" for one in listed)
    words = paragraph(
        "Under each lab: how many of its questions were answered; ✓ if it is finished. Time leaves long gaps out, so it is a minimum."
        f" Brier takes {FEWEST_ANSWERS} predictions, and lower is better. More columns are in learners.csv and labs.csv."
    )
    if len(listed) < len(figures.learners):
        words += paragraph(f"The first {len(listed):,} by name are listed here; learners.csv has all {len(figures.learners):,}.")
    label = f"Who did what, {people(len(listed))}"
    return (
        f'{words}<div data-sorted><div class="wide tall" tabindex="0" role="region" aria-label="{text(label)}">'
        f'<table class="grid people"><caption class="il-hearing">{text(label)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div></div>"
    )


def _cells(one: Learner, figures: ClassFigures, labs: list[str]) -> list[str]:
    cells = [f'<th scope="row">{text(one.label)}</th>']
    work = one.work
    answers = Counter(lab for lab, _ in work.answers)
    for slug in labs:
        lab, answered = figures.sheets[slug], answers[slug]
        mark = f"{NARROW_CHECK}" if finished(one, lab) else ""
        shown = f"{answered}/{len(lab.items)}{mark}" if lab.known else f"{answered}"
        cells.append(_number(shown if slug in work.labs else NONE, answered if slug in work.labs else -1))
    right, n, score = sum(answer.correct for answer in work.answers.values()), len(work.answers), own_brier(one)
    spent = sum(work.active_s.values())
    cells += [
        _number(of(right, n) if n else NONE, right / n if n else -1),
        _number(f"{score:.2f}" if score is not None else NONE, score if score is not None else 9),
        _number(f"{len(work.reviews):,}" if work.reviews else NONE, len(work.reviews)),
        _number(minutes(spent) if spent else NONE, spent),
        _number(work.last[:10] or NONE, work.last),
    ]
    return cells


NARROW_CHECK = "\u202f✓"


def _number(shown: str, value: float | str) -> str:
    key = f"{value:.6g}" if isinstance(value, (int, float)) else text(value)
    return f'<td class="number" data-key="{key}">{text(shown)}</td>'
