"""The course at a glance: a stop for each lab, a row for each volume, and an arc from each design to the lab that starts from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby

from ironlaw import lab_names
from ironlaw.pages.lab_catalogue import Lab
from ironlaw.pages.records import STAGES, Records

WIDTH, STEP, RADIUS = 360.0, 32.0, 12.0
ROW, WORDS = 66.0, 16.0  # from row to row, a line of words
NEAREST, WIDER = 10.0, 0.25  # how far an arc between neighbours bends, and by how much more for each unit of width
MARKS = {0: "fresh", len(STAGES) - 1: "done"}


def course_map(labs: Sequence[Lab], records: Records) -> str:
    """Empty unless some lab starts from another's design."""
    numbered = [lab for lab in labs if lab_names.volume(lab.slug) and lab.ready]
    if not any(arcs(numbered)):
        return ""
    volumes = [(number, list(of)) for number, of in groupby(numbered, key=lambda lab: lab_names.volume(lab.slug))]
    over, under = (_room(of) for of in (volumes[0][1], volumes[-1][1]))
    places = {
        lab.slug: (2 + RADIUS + STEP * column, WORDS + over + RADIUS + ROW * row)
        for row, (_, of) in enumerate(volumes)
        for column, lab in enumerate(of)
    }
    last, top = len(volumes) - 1, WORDS + over + RADIUS
    height = WORDS + over + 2 * RADIUS + ROW * last + ((under + WORDS) if last else 0)
    names = "".join(
        f'<text class="of" x="0" y="{12 if row == 0 else height - 4:g}">{escape(lab_names.heading(number))}</text>'
        for row, (number, _) in enumerate(volumes)
        if row in (0, last)
    )
    saved = {lab.slug for lab in numbered if records.standing(lab.slug).stage == len(STAGES) - 1}
    lines = "".join(
        f'<path class="{"given" if source in saved else "open"}" d="{_arc(places[source], places[target], top)}"/>'
        for source, target in arcs(numbered)
    )
    stops = "".join(_stop(lab, places[lab.slug], records, goes_to(numbered)) for lab in numbered)
    return (
        '<nav class="course-map" aria-label="Map of the course">'
        f'<svg viewBox="0 0 {WIDTH:g} {height:g}" role="group" aria-label="An arc leads from a design to the lab that starts from it">'
        f"{names}{lines}{stops}</svg>"
        '<p class="course">An arc leads from a lab’s design to a lab that starts from it; every lab can be opened without.</p></nav>'
    )


def arcs(labs: Sequence[Lab]) -> list[tuple[str, str]]:
    """(whose design, who starts from it), of labs that are there."""
    there = {lab.slug for lab in labs}
    return [(source, lab.slug) for lab in labs for source in lab.starts_from if source in there]


def goes_to(labs: Sequence[Lab]) -> dict[str, list[str]]:
    """Slug -> the names of the labs that start from its design."""
    targets: dict[str, list[str]] = {}
    for source, target in arcs(labs):
        targets.setdefault(source, []).append(lab_names.name(target))
    return targets


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


def _room(row: Sequence[Lab]) -> float:
    """What the widest arc of a row needs: a curve goes three quarters of the way to where it is bent."""
    at = {lab.slug: column for column, lab in enumerate(row)}
    return 4 + 0.75 * max((NEAREST + WIDER * STEP * abs(at[target] - at[source]) for source, target in arcs(row)), default=0.0)


def _arc(source: tuple[float, float], target: tuple[float, float], first: float) -> str:
    """Over the row at the height `first`, under the others; from row to row a bent line."""
    (x1, y1), (x2, y2) = source, target
    if y1 == y2:
        side = -1 if y1 == first else 1
        top, reach = y1 + side * RADIUS, side * (NEAREST + WIDER * abs(x2 - x1))
        return f"M{x1:g},{top:g}C{x1:g},{top + reach:g} {x2:g},{top + reach:g} {x2:g},{top:g}"
    bend = (y2 - y1) / 2
    return f"M{x1:g},{y1 + RADIUS:g}C{x1:g},{y1 + bend:g} {x2:g},{y2 - bend:g} {x2:g},{y2 - RADIUS:g}"


def _stop(lab: Lab, place: tuple[float, float], records: Records, targets: Mapping[str, list[str]]) -> str:
    x, y = place
    standing = records.standing(lab.slug)
    handed = f"; its design goes to {_listed(targets[lab.slug])}" if lab.slug in targets else ""
    about = f"{lab.name}, {lab.title}: {standing.words}{handed}"
    mark = "failing" if standing.fails else MARKS.get(standing.stage, "here")
    return (
        f'<a class="{mark}" href="/lab/{escape(lab.slug)}/" aria-label="{escape(about, quote=True)}">'
        f'<title>{escape(about)}</title><circle cx="{x:g}" cy="{y:g}" r="{RADIUS:g}"/>'
        f'<text x="{x:g}" y="{y + 4:g}">{lab_names.name(lab.slug)[-2:]}</text></a>'
    )
