"""The map of the course: each lab a stop, an arc for each design that another lab starts from; what the labs say is what they do."""

import ast
import re
from dataclasses import replace
from html import escape

import pytest

from ironlaw.pages.course_map import arcs, course_map, starts_from
from ironlaw.pages.gallery import card
from ironlaw.pages.lab_catalogue import LABS, Lab, catalogue
from ironlaw.pages.records import Records, Standing

LAB = re.compile(r"lab_(v\d+_)?\d+_[a-z_]+")
NUMBERED = [lab for lab in catalogue() if LAB.fullmatch(lab.slug)]


@pytest.mark.parametrize("lab", NUMBERED, ids=lambda lab: lab.slug)
def test_a_lab_starts_from_the_designs_that_its_code_reads(lab: Lab) -> None:
    """Every other lab that its Python names is one whose design it reads."""
    names = {
        node.value
        for path in (LABS / lab.slug).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and LAB.fullmatch(node.value)
    }
    assert names - {lab.slug} == set(lab.starts_from)
    assert set(lab.starts_from) <= {other.slug for other in NUMBERED}


def test_stops_and_arcs_are_drawn() -> None:
    labs = [replace(lab, starts_from=()) for lab in NUMBERED[:4]]
    assert course_map(labs, Records()) == ""  # nothing leads anywhere
    labs[2] = replace(labs[2], starts_from=(labs[0].slug, labs[1].slug, "lab_99_missing"))
    assert arcs(labs) == [(labs[0].slug, labs[2].slug), (labs[1].slug, labs[2].slug)]
    page = course_map(labs, Records(labs={labs[0].slug: Standing(3), labs[1].slug: Standing(1)}))
    assert page.count('<circle class="stop"') == 4 and page.count("<path") == 2
    assert page.count('class="given"') == 1 and page.count('class="open"') == 1
    assert [match[1] for match in re.finditer(r'<a class="(\w+)"', page)] == ["done", "here", "fresh", "fresh"]
    assert f"its design goes to {labs[2].name}" in page


def test_arcs_lead_from_row_to_row() -> None:
    one, two = (next(lab for lab in NUMBERED if lab.slug.startswith(start)) for start in ("lab_01", "lab_v2"))
    page = course_map([one, replace(two, starts_from=(one.slug,))], Records())
    (x1, y1), (x2, y2) = re.findall(r'class="stop" cx="([\d.]+)" cy="([\d.]+)"', page)
    assert float(x1) == float(x2) and float(y1) < float(y2) and "Volume 1" in page and "Volume 2" in page


def test_a_card_says_what_it_starts_from() -> None:
    one, two, three = NUMBERED[:3]
    assert starts_from(one, [one, two]) == "" == starts_from(replace(one, starts_from=("lab_99_missing",)), [one])
    both = starts_from(replace(three, starts_from=(one.slug, two.slug)), NUMBERED)
    assert both == f"Starts from your designs of {one.name} and {two.name}, if you saved them."


def test_a_lab_has_its_name_and_minutes_and_lights_up_what_it_hands_on() -> None:
    page = course_map(NUMBERED, Records())
    for lab in NUMBERED:
        assert f">{lab.title}</text>" in page and f">{lab.minutes} min</text>" in page
    groups = {re.search(r'href="/lab/(\w+)/"', group)[1]: group for group in page.split("<g>")[1:]}
    for lab in NUMBERED:
        handed = sum(source == lab.slug for source, _ in arcs(NUMBERED))
        assert groups[lab.slug].count("<path") == groups[lab.slug].count('class="lit"') == handed
    assert "chapters of the book" in page


def test_a_card_says_what_the_lab_teaches_and_where_it_starts_and_breaks_no_name() -> None:
    lab = next(lab for lab in NUMBERED if len(lab.starts_from) > 1 and "V2-" in starts_from(lab, NUMBERED))
    made = card(lab, Standing(), True, None, starts_from(lab, NUMBERED))
    (said,) = re.findall(r'<p class="teaches">(.*?)</p>', made)
    assert re.sub(r'</?span(?: class="whole")?>', "", said) == escape(f"{lab.teaches} {starts_from(lab, NUMBERED)}")
    assert said.count("V2-") == said.count('class="whole"')
