"""What to know first: how many, how far, and what to take up in class."""

from __future__ import annotations

from ironlaw.classroom.answer_counts import ClassFigures, finished
from ironlaw.classroom.hand_ins import Refusal
from ironlaw.classroom.lecture import enough
from ironlaw.classroom.sections.lecture_section import first_screen
from ironlaw.classroom.sections.questions_section import place
from ironlaw.classroom.sections.section_words import NONE, bar, of, people, percent
from ironlaw.report.markup import items, paragraph, table, text
from ironlaw.units import counted


def lede(figures: ClassFigures) -> str:
    refused = len(figures.hand_ins.refused)
    left = f'; <a href="#files">{refused:,} file{" is" if refused == 1 else "s are"} not counted</a>' if refused else ""
    return f'<p class="lede">{people(len(figures.learners))} in {figures.files:,} file{"" if figures.files == 1 else "s"}{left}.</p>'


def overview(figures: ClassFigures, names: bool = False) -> str:
    return first_screen(figures, names) + _agenda(figures) + _finished(figures)


def _finished(figures: ClassFigures) -> str:
    learners, done = figures.learners, ""
    for slug, lab in figures.sheets.items():
        if lab.items:
            begun, complete = sum(slug in one.work.labs for one in learners), sum(finished(one, lab) for one in learners)
            done += bar(complete / len(learners), lab.heading, of(complete, len(learners)), "", f"{begun:,} began it")
    return f'<h3>Finished labs</h3><ul class="bars">{done}</ul>' if done else ""


def _agenda(figures: ClassFigures) -> str:
    """The agenda: at most two sentences, each from the figures below."""
    lines = []
    asked = [one for one in figures.items if one.n >= enough(figures)]
    if asked:
        hard = min(asked, key=lambda one: (one.share, one.item.lab, one.item.name))
        wrong = [option for option in hard.options if not option.right and option.chosen]
        favourite = max(wrong, key=lambda option: option.chosen, default=None)
        most = f" The most common wrong answer is “{favourite.label.rstrip('.')}” ({of(favourite.chosen, hard.n)})." if favourite else ""
        name = f"{figures.sheets[hard.item.lab].name}, {place(hard)}"
        title = f" ({hard.item.title})" if hard.item.text else ""
        lines.append(f"Hardest: {name}{title}. {percent(hard.share)} were right at first ({of(hard.right, hard.n)}).{most}")
    poor = [one for one in figures.items if one.interval is not None and one.interval[1] < 0]
    for bad in poor[:1]:
        lines.append(
            f"Look at the wording of {figures.sheets[bad.item.lab].name}, {place(bad)}: learners who do well elsewhere get it wrong."
        )
    return f"<h3>Worth discussing in class</h3>{items(lines)}" if lines else ""


def files(figures: ClassFigures) -> str:
    """What is not counted, and why; then what is counted and worth a look."""
    call = figures.naming.file
    hidden = len(figures.hand_ins.refused), len(figures.hand_ins.notes)
    out = ""
    for title, listed in (("Not counted", figures.hand_ins.refused), ("Counted, but worth a look", figures.hand_ins.notes)):
        if listed:
            rows = sorted((call(one.file), _name(figures, one), one.kind, one.words(call)) for one in listed)
            named = any(name != NONE for _, name, _, _ in rows)
            columns = ["file", "learner", "what", "why"] if named else ["file", "what", "why"]
            cells = [row if named else (row[0], *row[2:]) for row in rows]
            out += f"<h3>{text(title)}</h3>" + table(columns, cells, title)
    if not any(hidden):
        out = paragraph("Every file is a ledger with an intact chain of hashes, one per learner.")
    if figures.hand_ins.hidden:
        where = "" if figures.naming.pseudonyms else "; files.csv has their names"
        out += paragraph(f"Not read: {counted(len(figures.hand_ins.hidden), 'hidden system file')}{where}.", "il-quiet")
    return out


def _name(figures: ClassFigures, one: Refusal) -> str:
    return NONE if figures.naming.pseudonyms or not one.name else one.name
