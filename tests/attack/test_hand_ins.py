"""Hand-ins, some of them broken or hostile: the report is right about all others, and names every file that it left out.

`IRONLAW_ATTACK=full`: 10,000 files, 500 of them hostile.
"""

import csv
import io
import os
import random
import re
from html.parser import HTMLParser

import pytest
from attack_length import FULL, length
from hostile_hand_ins import kinds
from made_class import asked, hand_in, plan

from ironlaw.classroom import collect, count, write
from ironlaw.classroom.hand_in_file import printable

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes, sockets and links of POSIX")
GOOD, HOSTILE = length(60, 9_500), length(len(kinds()), 500)
RUNS = re.compile(r"""[\s"']*[=+\-@＝＋－＠|]""")
NUMBER = re.compile(r"-?[0-9.]+(e[-+]?[0-9]+)?")


class Tags(HTMLParser):
    """Every tag with the names of its attributes, and every address."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.addresses = set(), set()
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.add((tag, *sorted(name for name, _ in attributes)))
        self.addresses |= {value for name, value in attributes if name in ("href", "src")}


@pytest.fixture(scope="module")
def attacked(tmp_path_factory):
    """The folder, what was put there, and the report."""
    place = tmp_path_factory.mktemp("class")
    plans = hand_in(place / "in", GOOD, with_broken=False)
    makers, chance = list(kinds().values()), random.Random(45)
    made = [makers[i % len(makers)](place / "in", plan(20_000 + i), i, chance) for i in range(HOSTILE)]
    figures = count(collect(place / "in"))
    return made, plans, figures, write(figures, place / "out")


def test_the_report_is_right_about_the_others(attacked):
    made, plans, figures, _ = attacked
    gone = {one.instead for one in made}
    counted = [p for p in plans if p.number not in gone] + [one.counts for one in made if one.counts]
    assert len(figures.learners) == len(counted) > GOOD * 0.9
    by_id = {one.hand_in.learner: one for one in figures.learners}
    questions = {(slug, question.name) for slug, question, _ in asked()}
    for one in counted:
        answers = {key: answer for key, answer in by_id[one.learner].work.answers.items() if key in questions}
        assert {key: (a.choice or a.value, a.correct) for key, a in answers.items()} == {k: v[:2] for k, v in one.answers.items()}
    for item in figures.items:
        key = (item.item.lab, item.item.name)
        if key in questions:
            given = [one.answers[key] for one in counted if key in one.answers]
            assert (item.n, item.right) == (len(given), sum(right for _, right, _, _ in given))
    assert {(one.item.lab, one.item.name) for one in figures.items} >= questions and len(figures.items) <= len(questions) + 60


def test_every_file_that_was_left_out_is_named(attacked, figure):
    made, plans, figures, paths = attacked
    refused = {one.file: one.kind for one in figures.hand_ins.refused}
    for one in made:
        name = printable(one.name)
        if one.outcome == "hidden":
            assert one.name in figures.hand_ins.hidden
        elif one.outcome != "counted":
            assert refused.pop(name) == one.outcome, one
        if one.note:
            assert any(note.kind == one.note and one.name in (note.file, note.other) for note in figures.hand_ins.notes), one
    victims = {f"{p.name}_{p.number}_file/ledger.json" for p in plans if p.number in {one.instead for one in made}}
    assert refused == dict.fromkeys(victims, "contradicts")
    table = next(path for path in paths if path.name == "files.csv").read_text(encoding="utf-8")
    listed = {row["file"].lstrip("'") for row in csv.DictReader(io.StringIO(table.removeprefix("\ufeff")))}
    left = [one.name for one in made if one.outcome != "counted"]
    assert sum(printable(name).replace(";=", ";'=") in listed for name in left) == len(left)
    figure(
        f"{len(made) + len(plans):,} hand-ins, {len(made)} of them hostile ({len(kinds())} kinds):"
        f" {len(figures.learners):,} learners counted, each answer as planned; {len(left) + len(victims)} files left out, each named"
    )


def test_no_formula_and_no_markup_survives(attacked, tmp_path, figure):
    _, _, _, (page, *tables) = attacked
    cells = 0
    for table in tables:
        for row in csv.reader(io.StringIO(table.read_text(encoding="utf-8").removeprefix("\ufeff"))):
            for cell in row:
                for part in (cell, *re.split("[;\t]", cell)[1:]):  # a spreadsheet may part at other signs than the comma
                    quoted = part.lstrip(' "').startswith("'")  # the apostrophe that makes it text
                    assert quoted or not RUNS.match(part) or NUMBER.fullmatch(part), (table.name, cell)
                cells += 1
    hand_in(tmp_path / "calm", 30)
    calm = Tags(write(count(collect(tmp_path / "calm")), tmp_path / "report")[0].read_text(encoding="utf-8"))
    seen = Tags(page.read_text(encoding="utf-8"))
    assert seen.tags <= calm.tags and all(address.startswith("#") for address in seen.addresses)
    assert page.stat().st_size < (60e6 if FULL else 3e6)
    figure(f"{cells:,} cells of CSV: 0 begin as a formula; the page has no tag that a calm class's has not")
