"""What to know first: how many, how far, and what to take up in class."""

from __future__ import annotations

from ironlaw.classroom.answer_counts import ClassFigures, finished
from ironlaw.classroom.hand_ins import Refusal
from ironlaw.classroom.sections.questions_section import place
from ironlaw.classroom.sections.section_words import NONE, bar, of, people, percent
from ironlaw.recall.beliefs import counterexamples
from ironlaw.report.markup import items, pairs, paragraph, table, text
from ironlaw.units import counted

SMALL = 20  # learners under whom shares are hardly more than stories
MOST_ALIVE = 3  # misconceptions on the first screen
WIDE_OF_THE_MARK = 0.1  # between stated and right, as a share


def lede(figures: ClassFigures) -> str:
    refused = len(figures.hand_ins.refused)
    left = f'; <a href="#files">{refused:,} file{" is" if refused == 1 else "s are"} not counted</a>' if refused else ""
    return f'<p class="lede">{people(len(figures.learners))} in {figures.files:,} file{"" if figures.files == 1 else "s"}{left}.</p>'


def overview(figures: ClassFigures) -> str:
    learners = figures.learners
    answers = [answer for one in learners for answer in one.answers.values()]
    last = max((one.last for one in learners), default="")
    facts = [
        ("Learners", f"{len(learners):,}"),
        ("First answers", f"{len(answers):,}"),
        ("Right", percent(sum(a.correct for a in answers) / len(answers)) if answers else NONE),
        ("Cards reviewed", f"{sum(len(one.reviews) for one in learners):,}"),
        ("Last event", last[:10] or NONE),
    ]
    labs = [(slug, lab) for slug, lab in figures.sheets.items() if lab.items]
    done = ""
    for slug, lab in labs:
        begun, complete = sum(slug in one.labs for one in learners), sum(finished(one, lab) for one in learners)
        done += bar(complete / len(learners), f"{lab.name}: {lab.title}", of(complete, len(learners)), "", f"{begun:,} began it")
    finished_labs = f'<h3>Finished labs</h3><ul class="bars">{done}</ul>' if done else ""
    small = (
        paragraph(f"With {people(len(learners))}, read the percentages below as anecdotes, not as statistics.", "il-quiet")
        if len(learners) < SMALL
        else ""
    )
    return pairs(facts) + small + _agenda(figures) + _alive(figures) + finished_labs


def _agenda(figures: ClassFigures) -> str:
    """At most four sentences, each from the figures below."""
    lines = []
    asked = [one for one in figures.items if one.n >= min(SMALL, len(figures.learners))]
    if asked:
        hard = min(asked, key=lambda one: (one.share, one.item.lab, one.item.name))
        wrong = [option for option in hard.options if not option.right and option.chosen]
        favourite = max(wrong, key=lambda option: option.chosen, default=None)
        most = f" The most common wrong answer is “{favourite.label.rstrip('.')}” ({of(favourite.chosen, hard.n)})." if favourite else ""
        name = f"{figures.sheets[hard.item.lab].name}, {place(hard)}"
        title = f" ({hard.item.title})" if hard.item.text else ""
        lines.append(f"Hardest: {name}{title}. {percent(hard.share)} were right at first ({of(hard.right, hard.n)}).{most}")
    for belief in [b for b in figures.beliefs if b.met >= min(SMALL, len(figures.learners))][:1]:
        says = f"“{belief.says.rstrip('.')}”"
        lines.append(f"Most common misconception: {says}, chosen by {of(belief.chose, belief.met)} ({percent(belief.share)}).")
    for one in figures.calibration[:1]:
        apart = one.stated - one.right
        if abs(apart) >= WIDE_OF_THE_MARK:
            side = "too sure of themselves" if apart > 0 else "less sure than they could be"
            said = f"they said they were {percent(one.stated)} sure, and {percent(one.right)} of the answers were right"
            lines.append(f"On the whole they are {side}: {said}.")
    poor = [one for one in figures.items if one.interval is not None and one.interval[1] < 0]
    for bad in poor[:1]:
        lines.append(
            f"Look at the wording of {figures.sheets[bad.item.lab].name}, {place(bad)}: learners who do well elsewhere get it wrong."
        )
    return f"<h3>Worth discussing in class</h3>{items(lines)}" if lines else ""


def _alive(figures: ClassFigures) -> str:
    """The misconceptions that most learners still hold, each with a case that refutes it: the review's own, computed."""
    enough = [b for b in figures.beliefs if b.met >= min(SMALL, len(figures.learners)) and b.chose > b.given_up]
    lines = []
    for belief in sorted(enough, key=lambda b: (-(b.chose - b.given_up) / b.met, b.name))[:MOST_ALIVE]:
        alive = belief.chose - belief.given_up
        words = counterexamples()[belief.name].text if belief.name in counterexamples() else ""
        say = f'<span class="say">{text(words)}</span>' if words else ""
        held = f"{percent(alive / belief.met)} hold it ({of(alive, belief.met)})."
        lines.append(f"<li><strong>“{text(belief.says)}”</strong> {held} {say}</li>")
    return f'<h3>Misconceptions that are alive, and what to say</h3><ul class="alive">{"".join(lines)}</ul>' if lines else ""


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
