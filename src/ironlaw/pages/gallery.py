"""The start page: the labs and how far you are, where to continue, your name, your data. Plain HTML; nothing on it needs a script."""

from __future__ import annotations

import re
from html import escape
from typing import NamedTuple

from ironlaw import command, lab_names
from ironlaw.errors import IronlawError, UnknownName
from ironlaw.formats import rate_unit
from ironlaw.pages.course_map import course_map, starts_from
from ironlaw.pages.lab_catalogue import Lab
from ironlaw.pages.page_templates import fill, sentence
from ironlaw.pages.records import REVIEW, STAGES, Cards, Records, Standing
from ironlaw.registry.machines import local
from ironlaw.units import show

# Messages after an action; the address names one of these and never carries a text.
MESSAGES = {
    "named": "Your name is saved, here only.",
    "unnamed": "Your name is no longer shown.",
    "reset": "A new epoch has begun. Every lab starts afresh; what you did before is kept, and stays in the export.",
}
SHORT_NAME, UNBROKEN = re.compile(r"(?:Lab )?V2-\d\d"), r'<span class="whole">\g<0></span>'  # no line ends inside

STOP = """<details class="row ask" id="stop">
<summary>Stop ironlaw …</summary>
<p>Stop the server? Open pages will stop responding; what you committed is saved. <code>{start}</code> starts it again.</p>
<form method="post" action="/do/stop"><input type="hidden" name="token" value="{token}"><button class="grave">Stop</button></form>
</details>
"""
OWN = "From your instructor"  # labs that are not ironlaw's
BETWEEN = "In between"  # the heading of what belongs to no volume, such as the review
INSTALL = "<code>pip install ironlaw</code>, then <code>ironlaw labs</code>"


ELSEWHERE = (
    f"To measure, install ironlaw: {INSTALL}. Import this site’s export there, measure, then bring the figures back here with"
    " an export from there."
)


class Place(NamedTuple):
    """Where the page runs, and what it says about that."""

    stays: str
    alone: str
    stop: str = ""
    backup: str = ""
    measures: bool = True
    damaged: str = (  # what to do about a ledger that is not as it was written
        '<p>Under <a href="#you">You and your data</a>, the export saves what can be read,'
        " and a reset sets the file aside and starts a new one.</p>"
    )
    kept: str = ""  # how to get one that was set aside


SERVER = Place("on this machine", "It runs only on this machine. Nothing is loaded from elsewhere, and nothing is sent.", STOP)
JUPYTER = Place(
    "in your ledger",
    "It runs in your own Jupyter server, pauses when nothing happens there, and goes on when you come back.",
)
WHOLE = '<a class="button" href="/damaged" download>Download the damaged ledger</a>'
BROWSER = Place(
    "in this browser",
    "It runs only in this browser. Nothing is loaded from elsewhere, and nothing is sent. Once opened, it works offline.",
    backup="a browser may delete what a site has stored when space runs short. To continue elsewhere, import the export there; to measure"
    f" on your own machine, install ironlaw ({INSTALL}) and import it there.",
    measures=False,
    damaged="<p>Nothing is deleted. The damaged ledger stays in this browser, and a new one starts with every event that can be read.</p>"
    f'<form class="acts" method="post" action="/do/repair"><button class="button">Set it aside and go on</button>{WHOLE}</form>',
    kept=f'<p class="acts">{WHOLE}</p>',
)
BACKUP = {
    "file": "or copy that file while ironlaw is stopped. To use another folder, set <code>IRONLAW_HOME</code> before you start.",
    "PostgreSQL": "or back up that database as you do your others. To use another one, set <code>IRONLAW_LEDGER</code> before you start.",
}


def gallery(
    labs: list[Lab],
    records: Records,
    token: str,
    message: str = "",
    wrong: dict[str, str] | None = None,
    ahead: str = "",
    place: Place = SERVER,
    first_picture: str = "",
) -> str:
    """The page. `wrong`: why an action was refused, shown beside its control: `{"import": "why"}`; `first_picture`: where that is."""
    wrong = wrong or {}
    slots = {
        "title": "labs",
        "greeting": f"Welcome back, {escape(records.name)}." if records.name else "",
        "takes": takes(labs),
        "picture": escape(first_picture, quote=True),
        "said": f'<p class="said" role="status">{escape(message)}</p>' if message else "",
        "problem": ledger_problem(records.problem, place.damaged if records.damaged else "") + ledger_notice(records.notice, place.kept),
        "resume": resume(labs, records),
        "labs": volumes(labs, records),
        "course": course(labs, records),
        "map": course_map(labs, records),
        "machine": machine() if place.measures else _machine("Your own machine", ELSEWHERE, "a browser can’t measure"),
        "stays": place.stays,
        "alone": place.alone,
        "stop": place.stop.format(start=escape(command.line("labs")), token=escape(token, quote=True)),
        "name": escape(records.name, quote=True),
        "where": escape(records.where) or "not known: see above",
        "events": "" if records.problem else f"{records.events:,} event{'' if records.events == 1 else 's'} in this epoch.",
        "backup": place.backup or BACKUP["PostgreSQL" if records.where.startswith("PostgreSQL") else "file"],
        "ahead": ahead,
        "token": escape(token, quote=True),
        "closed": "" if not records.problem else "disabled",
        "name_error": error("name", wrong),
        "import_error": error("import", wrong),
        "reset_error": error("reset", wrong),
        "general_error": error("general", wrong),
    }
    return fill("gallery.html", **slots)


def takes(labs: list[Lab]) -> str:
    """`20 labs, 30 to 40 minutes each, no account, no GPU.`"""
    minutes = sorted(lab.minutes for lab in labs if lab.slug != REVIEW)
    if not minutes:
        return ""
    each = f"{minutes[0]} to {minutes[-1]}" if minutes[0] != minutes[-1] else f"about {minutes[0]}"
    return f"{len(minutes)} lab{'s' if minutes[1:] else ''}, {each} minutes each, no account, no GPU."


def imported(fresh: int) -> str:
    return f"Imported: {fresh:,} new event{'' if fresh == 1 else 's'}." if fresh else "Nothing was new in that file."


def error(place: str, wrong: dict[str, str]) -> str:
    return f'<p class="error" id="{place}-error" role="alert">{escape(wrong[place])}</p>' if place in wrong else ""


def machine() -> str:
    """A card for this machine: what was measured and when, or how to measure it."""
    how = f"<code>{escape(command.line('measure'))}</code> in a terminal"
    try:
        own = local()
    except UnknownName:
        text = f"Run {how}. A minute later you can choose your own machine in every lab, with its own figures."
        return _machine("This machine", text, "not measured yet")
    except IronlawError as error:
        return _machine("This machine", sentence(str(error)), "measured, but the result can’t be read", "lab broken")
    fmt = max(own.peaks, key=lambda name: (name.startswith(("fp", "bf", "tf")), own.peaks[name]))
    curves = (
        "Its predictions come from curves fitted to it"
        if own.calibration
        else "Too little was measured for curves, so its predictions are bounds"
    )
    text = (
        f"{show(own.peaks[fmt], rate_unit(fmt))} in {fmt.upper()}, {show(own.bandwidth, 'B/s')} from memory. {curves}."
        f" You can choose it in every lab; on the command line it is <code>--on this</code>."
    )
    return _machine(own.name, text, f"measured on {own.figures['bandwidth'].date}; again: {how}")


def _machine(title: str, text: str, state: str, kind: str = "lab") -> str:
    return (
        f'<div class="{kind}" id="machine"><p class="number">Machine</p><h3>{escape(title)}</h3>'
        f'<p class="teaches">{text}</p><div class="foot"><p class="state">{state}</p></div></div>'
    )


def ledger_problem(reason: str, way: str) -> str:
    if not reason:
        return ""
    return f'<div class="banner fail" role="alert"><p><strong>Your progress can’t be read.</strong> {sentence(reason)}</p>{way}</div>'


def ledger_notice(text: str, way: str) -> str:
    if not text:
        return ""
    return f'<div class="banner warn" role="status"><p><strong>Something happened to your ledger.</strong> {sentence(text)}</p>{way}</div>'


def resume(labs: list[Lab], records: Records) -> str:
    """The one link that most visits need: where you left off, or the first lab."""
    ready = {lab.slug: lab for lab in labs if lab.ready}
    newest = records.newest()
    if newest in ready:
        lab, lead = ready[newest], "Continue where you left off"
    else:
        fresh = [lab for lab in ready.values() if records.standing(lab.slug).stage == 0]
        if not fresh or records.problem:
            return ""
        lab, lead = fresh[0], "Begin here" if not records.labs else "Next"
    state = records.standing(lab.slug)
    where = f"{lab.name} · {state.words}" if state.stage else lab.name
    return (
        f'<a class="resume" href="/lab/{escape(lab.slug)}/"><span><small>{lead}</small><strong>{escape(lab.title)}</strong>'
        f'<small>{escape(where)}</small></span><span class="arrow" aria-hidden="true">→</span></a>'
    )


def course(labs: list[Lab], records: Records) -> str:
    """How far along the map one is, in words; the path beside the cards shows the same."""
    numbered = [lab for lab in labs if lab.slug != REVIEW]
    if records.problem or not numbered:
        return ""
    complete = sum(records.standing(lab.slug).stage == len(STAGES) - 1 for lab in numbered)
    return f'<p class="course">{complete} of {len(numbered)} labs saved. Work from top to bottom; the review keeps it fresh.</p>'


def volumes(labs: list[Lab], records: Records) -> str:
    """A path of cards for each volume, under its heading where there are several."""
    every, own = labs, [lab for lab in labs if lab.own]
    if own:
        labs = [lab for lab in labs if not lab.own]
        return f'{volumes(labs, records)}\n<h2 class="volume" id="own-labs">{OWN}</h2>\n{_path(own, records, every)}'
    numbers = list(dict.fromkeys(lab_names.volume(lab.slug) for lab in labs))
    if len([number for number in numbers if number]) < 2:
        return _path(labs, records, labs)
    return "\n".join(
        f'<h2 class="volume" id="volume-{number}">{escape(lab_names.heading(number) if number else BETWEEN)}</h2>\n'
        + _path([lab for lab in labs if lab_names.volume(lab.slug) == number], records, labs)
        for number in numbers
    )


def _path(labs: list[Lab], records: Records, every: list[Lab]) -> str:
    return '<ol class="labs">\n' + "\n".join(entry(lab, records, every) for lab in labs) + "\n</ol>"


def entry(lab: Lab, records: Records, every: list[Lab] | None = None) -> str:
    """`every`: the labs whose designs it may start from."""
    cards = records.cards if lab.slug == REVIEW else None
    return card(lab, records.standing(lab.slug), not records.problem, cards, starts_from(lab, every or []))


def card(lab: Lab, state: Standing, readable: bool, cards: Cards | None = None, starts: str = "") -> str:
    """One lab: what it teaches, how long it takes, how far you are. The review says how many cards are due instead."""
    head = f'<p class="number">{escape(lab.name)}<span>{lab.minutes} min</span></p>'
    says = " ".join(filter(None, (lab.teaches, starts)))
    title, teaches = escape(lab.title), f'<p class="teaches">{SHORT_NAME.sub(UNBROKEN, escape(says))}</p>' if says else ""
    if lab.error:
        return (
            f'<li class="lab broken" id="{escape(lab.slug)}">{head}<h3>{title}</h3><div class="banner fail">'
            f"<strong>This lab can’t be opened.</strong> {sentence(lab.error)} The others are not affected.</div></li>"
        )
    verb = ("Begin", "Continue", "Continue", "Look again")[state.stage]
    progress = f'{rail(state)}<p class="state">{escape(state.words)}</p>'
    if cards is not None:
        verb, progress = "Continue" if cards.answers else "Begin", f'<p class="state">{escape(cards.words)}</p>'
    if not readable:
        progress = '<p class="state">progress not known</p>'
    mark = (
        "failing"
        if state.fails
        else "done"
        if cards is None and state.stage == len(STAGES) - 1
        else "here"
        if state.stage or (cards and cards.answers)
        else "fresh"
    )
    return (
        f'<li class="lab {mark}" id="{escape(lab.slug)}">{head}<h3><a href="/lab/{escape(lab.slug)}/">{title}</a></h3>{teaches}'
        f'<div class="foot">{progress}<span class="go" aria-hidden="true">{verb} →</span></div></li>'
    )


def rail(state: Standing) -> str:
    """Act I, Act II, saved; the words beside them say the same."""
    saved = state.stage == len(STAGES) - 1
    marks = ["done" if state.stage > step else "here" if state.stage == step else "" for step in (1, 2)] + [
        "here" if state.fails else "done" if saved else ""
    ]
    names = ("Act I", "Act II", "saved")
    steps = "".join(f'<i class="{mark}">{"✓ " if mark == "done" else ""}{name}</i>' for mark, name in zip(marks, names, strict=True))
    return f'<span class="rail" aria-hidden="true">{steps}</span>'
