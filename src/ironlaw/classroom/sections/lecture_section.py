"""The first screen: what a lecture needs. It names nobody unless names were asked for, so that it can be shown to the class."""

from __future__ import annotations

from textwrap import shorten

from ironlaw import lab_names
from ironlaw.classroom import lecture
from ironlaw.classroom.answer_counts import ClassFigures, finished
from ironlaw.classroom.sections.questions_section import place
from ironlaw.classroom.sections.section_words import NONE, bar, of, people, percent
from ironlaw.recall.beliefs import counterexamples
from ironlaw.report.markup import pairs, paragraph, text

MOST = 3  # of each kind
MOST_REVEALS, MOST_NAMES = 5, 6
LONGEST = 90  # characters of a question, or of an option, here
WIDE_OF_THE_MARK = 0.1  # between stated and right, as a share


def first_screen(figures: ClassFigures, names: bool = False) -> str:
    answers = [answer for one in figures.learners for answer in one.work.answers.values()]
    cards = [
        ("Misconceptions that they still hold, and what to say", _alive(figures)),
        ("Questions that split the class", _splits(figures)),
        ("Before and after the reveal", _reveals(figures)),
        ("How sure, and how often right", _calibration(figures)),
        ("Where learners stop", _stops(figures, names)),
        ("What to show next", _next(figures)),
    ]
    facts = pairs(
        [
            ("Learners", f"{len(figures.learners):,}"),
            ("First answers", f"{len(answers):,}"),
            ("Right at first", percent(sum(a.correct for a in answers) / len(answers)) if answers else NONE),
            ("Labs finished", f"{sum(finished(one, lab) for one in figures.learners for lab in figures.sheets.values()):,}"),
            ("Last event", max((one.work.last for one in figures.learners), default="")[:16].replace("T", " ") or NONE),
        ]
    )
    body = "".join(f"<section><h3>{text(title)}</h3>{inner}</section>" for title, inner in cards if inner)
    few = paragraph(f"With {people(len(figures.learners))}, read the percentages below as anecdotes, not as statistics.", "il-quiet")
    return f'{facts}{few if len(figures.learners) < lecture.SMALL else ""}<div class="lecture">{body}</div>'


def _alive(figures: ClassFigures) -> str:
    from ironlaw.kit.prose import NARROW, UNIT  # only the page needs them

    lines = []
    for belief in lecture.alive(figures)[:MOST]:
        held = belief.chose - belief.given_up
        words = counterexamples()[belief.name].text if belief.name in counterexamples() else ""
        say = f'<span class="say">{text(UNIT.sub(NARROW, words))}</span>' if words else ""
        share = f"{percent(held / belief.met)} hold it ({of(held, belief.met)})."
        lines.append(f"<li><strong>“{text(belief.says)}”</strong> {share} {say}</li>")
    return f'<ul class="alive">{"".join(lines)}</ul>' if lines else paragraph("None so far.", "il-quiet")


def _splits(figures: ClassFigures) -> str:
    out = ""
    for split in lecture.splits(figures)[:MOST]:
        one = split.one
        title = shorten(one.item.title, LONGEST, placeholder=" …")
        where = f"{figures.sheets[one.item.lab].name}, {place(one)}"
        bars = "".join(
            bar(o.chosen / one.n, shorten(o.label, LONGEST, placeholder=" …"), percent(o.chosen / one.n), "right" if o.right else "",
                "right" if o.right else "")
            for o in (split.first, split.second)
        )  # fmt: skip
        out += f'<p>{text(title)} <span class="il-quiet">{text(where)}</span></p><ul class="bars">{bars}</ul>'
    return out or paragraph("No question has two answers that many chose.", "il-quiet")


def _reveals(figures: ClassFigures) -> str:
    listed = sorted(lecture.reveals(figures), key=lambda one: (one.share, one.lab, one.act))[:MOST_REVEALS]
    if not listed:
        return paragraph("Nobody has answered a prediction and its reflection yet.", "il-quiet")
    bars = ""
    for one in listed:
        label = f"{figures.sheets[one.lab].name}, {lab_names.act(one.act)}"
        line = bar(one.share, label, f"{percent(one.before / one.n)} → {percent(one.share)}", "", f"{one.n:,}")
        bars += line.replace("</i></span>", f'</i><b style="left:{100 * one.before / one.n:.0f}%"></b></span>', 1)
    words = paragraph("Right at the prediction (tick), then at the reflection (bar). The lowest come first.", "il-quiet")
    return f'<ul class="bars levels">{bars}</ul>{words}'


def _calibration(figures: ClassFigures) -> str:
    if not figures.calibration:
        return paragraph("No answer has a confidence yet.", "il-quiet")
    one = figures.calibration[0]
    bars = ""
    for row in one.rows:
        line = bar(
            row.share or 0.0, f"{percent(row.stated)} sure", percent(row.share) if row.share is not None else NONE, "", f"{row.answers:,}"
        )
        bars += line.replace("</i></span>", f'</i><b style="left:{100 * row.stated:.0f}%"></b></span>', 1)
    apart = one.stated - one.right
    side = "about as sure as they are right"
    if abs(apart) >= WIDE_OF_THE_MARK:
        side = "too sure of themselves" if apart > 0 else "less sure than they could be"
    said = f"On the whole they are {side}: {percent(one.stated)} sure, {percent(one.right)} right."
    return f'<ul class="bars levels">{bars}</ul>{paragraph(said)}'


def _stops(figures: ClassFigures, names: bool) -> str:
    lines = ""
    for stop in lecture.stops(figures)[: MOST + 1]:
        lab, many = figures.sheets[stop.lab], len(stop.learners)
        item = lab.items.get(stop.question)
        what = f"“{shorten(item.title, LONGEST, placeholder=' …')}”" if item else "saving the design"
        where = f"{lab.name}, {lab_names.act(stop.question)}, before {what}" if item else f"{lab.name}, before {what}"
        line = f"<strong>{many:,}</strong> {text(where)}"
        if names:
            listed = ", ".join(one.label for one in stop.learners[:MOST_NAMES])
            more = f" and {many - MOST_NAMES:,} more" if many > MOST_NAMES else ""
            line += f'<span class="say">{text(listed)}{more}</span>'
        lines += f"<li>{line}</li>"
    return f"<ul>{lines}</ul>" if lines else paragraph("Everyone has finished what they began.", "il-quiet")


def _next(figures: ClassFigures) -> str:
    following = lecture.following(figures)
    lines = []
    if one := following.reveal:
        name = f"{figures.sheets[one.lab].name}, {lab_names.act(one.act)}"
        lines.append(f"Open {name} again. After its reveal {percent(one.share)} were right, fewer than anywhere else.")
    if belief := following.belief:
        where = next((w for w in belief.where if not w.startswith("review/")), "")
        lab, _, question = where.partition("/")
        at = f" It comes up in {figures.sheets[lab].name}, {lab_names.act(question)}." if lab in figures.sheets else ""
        lines.append(f"Refute “{belief.says}” with the case beside it.{at}")
    if following.lab:
        lab_sheet = figures.sheets[following.lab]
        so_far = f"Only {of(following.done, len(figures.learners))} have" if following.done else "Nobody has"
        lines.append(f"Leave time for {lab_sheet.heading}. {so_far} finished it.")
    return "<ol>" + "".join(f"<li>{text(line)}</li>" for line in lines) + "</ol>" if lines else ""
