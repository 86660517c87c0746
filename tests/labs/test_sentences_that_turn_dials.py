"""Every sentence of a lab that sets an instrument, on the page without a browser: what it says is then on the screen."""

import os
import re
from html import unescape

import pytest
from headless import Page, bare

from ironlaw.kit import links
from ironlaw.kit.lab import LABS
from ironlaw.kit.offer import words
from ironlaw.ledger import open_ledger
from ironlaw.widget.dials import why_not

SLUGS = sorted(path.parent.name for path in LABS.glob("lab_*/lab.py"))
BUTTON = re.compile(
    r'<button type="button" class="il-set" data-set="([^"]*)" data-context="([^"]*)" data-dials="([^"]*)" data-picture="([^"]*)">'
    r'(.*?)</button>(.*?)(?=<button type="button" class="il-set"|</li>|</p>)',
    re.DOTALL,
)
NUMBER = re.compile(r"(?<![\w.,])\d(?:[\d,]*\d)?(?:\.\d+)?(?!\w)")


def sentences(page):
    """(link, what the page says after it), as the page has them."""
    html = " ".join(part.text for part in page.parts.values() if part is not None)
    for name, context, dials, picture, label, text in BUTTON.findall(html):
        written = f"[{bare(label)}](set:{name}{'@' + context if context else ''}?{unescape(dials)}{'#' + picture if picture else ''})"
        yield next(links.find(written)), bare(text)


def follow(page, link):
    """Click it: its context, then all dials."""
    instrument = page.lab.instruments[link.instrument]
    context = link.context or instrument.piece.spec["cases"]["asked"]
    if context and context != page.lab.current_context.slug:
        page.send("context", value=context)
    spec = instrument.piece.spec
    return page.send(f"{link.instrument}.instrument", dials=link.standing(spec["cases"], spec["dials"]))


def strings(value):
    if isinstance(value, dict):
        return [text for each in value.values() for text in strings(each)]
    if isinstance(value, list):
        return [text for each in value for text in strings(each)]
    return [value] if isinstance(value, str) else []


def screen(instrument, view, picture):
    """Dials, cards, formula, banner and the picture."""
    front = [figure for figure in view["figures"] if figure["id"] == picture]
    dials = [words(dial, instrument.values[dial["id"]]) for dial in instrument.dials(instrument.values) if not dial.get("hidden")]
    return bare(" ".join(strings([dials, view["cards"], view["formula"], view["banner"], front])))


def says(text, number):
    return re.search(rf"(?<![\d.,]){re.escape(number)}(?!\d|[.,]\d)", text) is not None


@pytest.fixture(params=SLUGS)
def page(request, tmp_path, completed):
    with open_ledger(completed(request.param, tmp_path)) as ledger:
        yield Page(ledger, request.param)


def test_what_it_says_is_then_on_the_screen(page):
    missing, seen = {}, 0
    for link, text in sentences(page):
        seen += 1
        view = follow(page, link)
        assert not view["error"] and not view["moved"], (link, view["error"], view["moved"])
        assert link.picture in [figure["id"] for figure in view["figures"]], link
        shown = screen(page.lab.instruments[link.instrument], view, link.picture)
        absent = [number for number in NUMBER.findall(text) if not says(shown, number)]
        if absent:
            missing[page.slug, link.words] = absent
    assert seen == len(list(links.find((LABS / page.slug / "words.md").read_text("utf-8"))))
    assert missing == {}


def test_it_sets_the_whole_state(page):
    """Whatever was turned before, and wherever: the same link leads to the same screen. One in three, and all before a release."""
    every = 1 if os.environ.get("IRONLAW_TESTS") == "release" else 3
    once = [(link, follow(page, link)) for link, _ in list(sentences(page))[::every]]
    for link, view in reversed(once):
        page.send("context", value=page.lab.contexts[-1].slug)
        again = follow(page, link)
        if page.lab.instruments[link.instrument].piece.spec["cases"]["asked"]:
            assert again["cards"] == view["cards"] and again["formula"] == view["formula"], link


def test_its_dials_can_be_turned_to_what_it_says(page):
    for link, _ in sentences(page):
        instrument = page.lab.instruments[link.instrument]
        follow(page, link)
        there = {dial["id"]: dial for dial in instrument.dials(instrument.values)}
        assert {dial: why for dial in link.dials if (why := why_not(there[dial], instrument.values[dial]))} == {}, link
