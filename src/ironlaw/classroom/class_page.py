"""The class report as one HTML file: its own style and a few lines of script in it. It loads nothing, and prints."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from ironlaw.classroom.answer_counts import ClassFigures
from ironlaw.classroom.sections import overview, people_section, questions_section, understanding
from ironlaw.report.markup import items, text
from ironlaw.version import __version__
from ironlaw.widget import assets

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; font-src data:"


@cache
def style() -> str:
    """The report's look, and what only this page has."""
    shared = (files("ironlaw.report") / "report.css").read_text(encoding="utf-8")
    own = (files("ironlaw.classroom") / "class.css").read_text(encoding="utf-8")
    return f"{assets.typeface()}\n{assets.style(('piece',))}\n{shared}\n{own}"


@cache
def script() -> str:
    return (files("ironlaw.classroom") / "class.js").read_text(encoding="utf-8")


def html(figures: ClassFigures, names: bool = False) -> str:
    """`names`: the first screen says who is stuck."""
    sections = [
        ("summary", "Where the class stands", overview.overview(figures, names)),
        ("questions", "Predictions and answers", questions_section.questions(figures)),
        ("misconceptions", "Misconceptions", understanding.misconceptions(figures)),
        ("calibration", "Calibration", understanding.calibration(figures)),
        ("separate", "Which questions tell learners apart", questions_section.separating(figures)),
        ("times", "Time per step", people_section.times(figures)),
        ("who", "Who did what", people_section.who(figures)),
        ("files", "Files", overview.files(figures)),
        ("method", "Where the figures come from", _method(figures)),
    ]
    links = "".join(f'<li><a href="#{name}">{text(title)}</a></li>' for name, title, _ in sections)
    body = "".join(
        f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">{text(title)}</h2>{inner}</section>'
        for name, title, inner in sections
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n<meta name="robots" content="noindex">\n'
        f"<title>Class report: {len(figures.learners):,} learners</title>\n<style>\n{style()}\n</style>\n</head>\n<body>\n"
        '<a class="skip" href="#summary">Skip to the summary</a>\n'
        f'<header><p class="kicker">ironlaw class report</p><h1>Class report</h1>{overview.lede(figures)}</header>\n'
        f'<nav aria-label="Sections"><ul>{links}</ul></nav>\n<main>\n{body}</main>\n<script>\n{script()}\n</script>\n</body>\n</html>\n'
    )


def _method(figures: ClassFigures) -> str:
    unverified = sum(not one.verified for one in figures.hand_ins.ledgers)
    lines = [
        "A file counts if each of its events carries the hash that follows from the one before it. This shows damage and changes made by"
        " hand; it does not show who answered, and it can’t show that somebody computed the chain again. The last hash of each file is"
        " in files.csv: keep it, and a later file of the same learner must still hold it.",
        "If a learner handed in several files, the longest counts.",
        "A question’s first answer counts, even if the learner has started over since.",
        "Right or wrong is what the lab said at the time. The truth next to it is computed with today’s registry.",
        "Times come from each learner’s own clock.",
        f"Written by ironlaw {__version__} from these files alone; nothing was sent anywhere.",
    ]
    if unverified:
        lines.insert(1, f"{unverified:,} file{' has' if unverified == 1 else 's have'} no chain at all and count unverified.")
    if figures.naming.pseudonyms:
        lines.append("Names and files are replaced by pseudonyms: a keyed hash of each ledger’s id. Times and answers are as they were.")
    return items(lines)
