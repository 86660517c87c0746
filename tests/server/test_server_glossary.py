"""The glossary over HTTP: a page with every term, and what a marked word looks up."""

from __future__ import annotations

import re

from starlette.testclient import TestClient

from ironlaw.claims.glossary import terms
from ironlaw.server import glossary_routes
from ironlaw.server.lab_routes import scripts


def test_the_page_has_every_term_with_its_figure(client: TestClient):
    page = client.get("/glossary").text
    for term in terms().values():
        assert f'id="term-{term.id}"' in page
    assert "312 TFLOP/s" in page and "Datasheet" in page
    assert 'href="/glossary"' in client.get("/").text


def test_a_marked_word_finds_its_explanation(client: TestClient):
    data = client.get("/glossary.json").json()
    assert set(data) == set(terms())
    assert set(data["kernel"]) == {"name", "says", "label", "value", "source"}


def test_a_labs_page_brings_the_script(client: TestClient):
    [address] = re.findall(r'src="(/glossary/\w+/glossary\.js)"', scripts())
    script = client.get(address)
    assert script.status_code == 200 and "startGlossary" in script.text and "immutable" in script.headers["cache-control"]
    assert address == f"{glossary_routes.address()}/glossary.js"
