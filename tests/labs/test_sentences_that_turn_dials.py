"""Every sentence of a lab that turns dials, on the page without a browser: its dials are there, and can be turned to what it says."""

import json
import re
from urllib.parse import parse_qsl

import pytest
from headless import Page

from ironlaw.kit.lab import LABS
from ironlaw.kit.lab_check import complete
from ironlaw.ledger import open_ledger
from ironlaw.widget.dials import why_not

SENTENCE = re.compile(r"\]\(set:([\w.]+)\?([^)]*)\)")
SLUGS = sorted(path.parent.name for path in LABS.glob("lab_*/lab.py"))


def value_of(dial, text):
    """As the page reads it: an option as JavaScript writes its value, a switch by its name, else a number."""
    if "options" in dial:
        written = {json.dumps(value).removesuffix(".0").strip('"'): value for value in (option["value"] for option in dial["options"])}
        return written.get(text, text)
    return text == "true" if dial["type"] == "switch" else float(text)


def faults(page, name, turns):
    """Why its dials can't be turned so: dial -> reason."""
    instrument = page.lab.instruments[name]
    start = {dial["id"]: dial["value"] for dial in instrument.piece.spec["dials"]}
    dials = {dial["id"]: dial for dial in instrument.dials(start)}
    wanted = {dial: value_of(dials[dial], text) for dial, text in turns.items()}
    there = {dial["id"]: dial for dial in instrument.dials(start | wanted)}
    return {dial: why for dial, value in wanted.items() if (why := why_not(there[dial], value))}


@pytest.mark.parametrize("slug", SLUGS)
def test_its_dials_can_be_turned_to_what_it_says(slug, tmp_path):
    """Where the lab opens; what a sentence says of another machine, there."""
    with open_ledger(tmp_path / "ledger.db") as ledger:
        page = Page(ledger, slug)
        complete(page.lab)
        page.reload()
        found = [(name, dict(parse_qsl(query))) for name, query in SENTENCE.findall((LABS / slug / "words.md").read_text("utf-8"))]
        assert found
        left = [(name, turns) for name, turns in found if faults(page, name, turns)]
        for context in page.lab.contexts if left else ():
            page.send("context", value=context.slug)
            left = [(name, turns) for name, turns in left if faults(page, name, turns)]
        assert left == []
