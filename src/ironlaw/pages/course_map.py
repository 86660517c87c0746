"""The course at a glance: a stop with its name for each lab, and an arc from each design to the lab that starts from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby

from ironlaw import lab_names
from ironlaw.pages.lab_catalogue import Lab
from ironlaw.pages.records import STAGES, Records

WIDTH, STEP, RADIUS = 360.0, 27.0, 10.5
LINE, NAMES, MINUTES = 102.0, 121.0, WIDTH  # where the stops, the names and the minutes stand
HEADING = 30.0  # what the name of a volume takes
NEAREST, WIDER, WIDEST = 14.0, 9.0, LINE - 26.0  # how far an arc between neighbours bends, by how much more for each stop, and at most
MARKS = {0: "fresh", len(STAGES) - 1: "done"}
ARCS = "An arc leads from a lab to the labs that can start from its design. Every lab also opens without one."
NUMBERS = "Lab numbers follow the chapters of the book, so some are missing; Volume 2 is in the order in which labs hand their designs on."


def course_map(labs: Sequence[Lab], records: Records) -> str:
    """Empty unless some lab starts from another's design."""
    numbered = [lab for lab in labs if lab_names.volume(lab.slug) and lab.ready and not lab.own]
    if not any(arcs(numbered)):
        return ""
    rows: dict[str, float] = {}  # lab -> how far down
    headings, down = "", 0.0
    for number, of in groupby(numbered, key=lambda lab: lab_names.volume(lab.slug)):
        headings += f'<text class="of" x="{NAMES:g}" y="{down + 18:g}">{escape(lab_names.heading(number))}</text>'
        down += HEADING
        for lab in of:
            rows[lab.slug] = down + STEP / 2
            down += STEP
    stops = "".join(_stop(lab, rows, records, numbered) for lab in numbered)
    return (
        '<nav class="course-map" aria-label="Map of the course">'
        f'<svg viewBox="0 0 {WIDTH:g} {down + 4:g}" role="group" aria-label="An arc leads from a design to the lab that starts from it">'
        f"{headings}{stops}</svg>"
        f'<p class="course">{ARCS} {NUMBERS}</p></nav>'
    )


def arcs(labs: Sequence[Lab]) -> list[tuple[str, str]]:
    """(whose design, who starts from it), of labs that are there."""
    there = {lab.slug for lab in labs}
    return [(source, lab.slug) for lab in labs for source in lab.starts_from if source in there]


def starts_from(lab: Lab, there: Sequence[Lab]) -> str:
    """`Starts from your designs of Lab 08 and Lab 13, if you saved them.`"""
    slugs = {other.slug for other in there}
    names = [lab_names.name(slug) for slug in lab.starts_from if slug in slugs]
    if not names:
        return ""
    word, they = ("design", "it") if len(names) == 1 else ("designs", "them")
    return f"Starts from your {word} of {_listed(names)}, if you saved {they}."


def _listed(names: Sequence[str]) -> str:
    """`Lab 08, Lab 10 and Lab 13`"""
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def _arc(source: float, target: float) -> str:
    """An arc to the left of the stops, and the farther the wider; a curve goes three quarters of the way to where it is bent."""
    left = LINE - RADIUS
    bend = left - min(WIDEST, NEAREST + WIDER * abs(target - source) / STEP) / 0.75
    return f"M{left:g},{source:g}C{bend:g},{source:g} {bend:g},{target:g} {left:g},{target:g}"


def _stop(lab: Lab, rows: Mapping[str, float], records: Records, labs: Sequence[Lab]) -> str:
    """A lab with its own arcs: pointing at it lights them, and the labs that they lead to."""
    y, standing = rows[lab.slug], records.standing(lab.slug)
    targets = [target for source, target in arcs(labs) if source == lab.slug]
    handed = f"; its design goes to {_listed([lab_names.name(target) for target in targets])}" if targets else ""
    about = f"{lab.name}, {lab.title}: {lab.minutes} minutes, {standing.words}{handed}"
    mark = "failing" if standing.fails else MARKS.get(standing.stage, "here")
    given = "given" if standing.stage == len(STAGES) - 1 else "open"
    lines = "".join(f'<path class="{given}" d="{_arc(y, rows[target])}"/>' for target in targets)
    lit = "".join(f'<circle class="lit" cx="{LINE:g}" cy="{rows[target]:g}" r="{RADIUS + 3:g}"/>' for target in targets)
    return (
        f"<g>{lines}{lit}"
        f'<a class="{mark}" href="/lab/{escape(lab.slug)}/" aria-label="{escape(about, quote=True)}">'
        f'<title>{escape(about)}</title><rect x="{LINE - RADIUS - 2:g}" y="{y - STEP / 2:g}" width="{WIDTH - LINE + RADIUS + 2:g}"'
        f' height="{STEP:g}"/><circle class="stop" cx="{LINE:g}" cy="{y:g}" r="{RADIUS:g}"/>'
        f'<text class="number" x="{LINE:g}" y="{y + 4:g}">{lab_names.name(lab.slug)[-2:]}</text>'
        f'<text class="name" x="{NAMES:g}" y="{y + 4:g}">{escape(lab.title)}</text>'
        f'<text class="minutes" x="{MINUTES:g}" y="{y + 4:g}">{lab.minutes} min</text></a></g>'
    )
