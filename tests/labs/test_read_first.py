"""What to read first leads somewhere."""

import re

import pytest

from ironlaw.claims.glossary import terms
from ironlaw.kit.lab import LABS
from ironlaw.kit.lab_words import load

LINK = re.compile(r"\]\(([^)]*)\)")


@pytest.mark.parametrize("slug", sorted(path.parent.name for path in LABS.glob("lab_*/lab.py")))
def test_every_link_is_to_a_term_of_the_glossary(slug):
    links = LINK.findall(load(LABS / slug / "words.md", {})["read_first"])
    assert links and {link.removeprefix("/glossary#term-") for link in links} <= set(terms())
