"""Every sentence of a lab that sets an instrument, on the page without a browser: what it says is then on the screen."""

import re
from html import unescape
from typing import Any, NamedTuple

import pytest
from headless import Page, bare
from how_thorough import RELEASE
from ledger_at_hand import open_ledger

from ironlaw.kit import links
from ironlaw.kit.lab import LABS
from ironlaw.kit.offer import words
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


class Followed(NamedTuple):
    """A link that was clicked: what is said after it, and what the instrument shows then."""

    link: Any
    text: str
    view: dict[str, Any]
    shown: str
    refused: dict[str, str]  # dials that could not be turned to where they stand now


@pytest.fixture(scope="module", params=SLUGS)
def page(request, tmp_path_factory, completed):
    with open_ledger(completed(request.param, tmp_path_factory.mktemp("sentences"))) as ledger:
        yield Page(ledger, request.param)


@pytest.fixture(scope="module")
def walk(page) -> list[Followed]:
    """Every link of the lab, clicked once in the order of the page."""
    return [clicked(page, link, text) for link, text in sentences(page)]


def clicked(page, link, text) -> Followed:
    view, instrument = follow(page, link), page.lab.instruments[link.instrument]
    dials = {dial["id"]: dial for dial in instrument.dials(instrument.values)}
    refused = {name: why for name in link.dials if (why := why_not(dials[name], instrument.values[name]))}
    return Followed(link, text, view, screen(instrument, view, link.picture), refused)


def test_what_it_says_is_then_on_the_screen(page, walk):
    missing = {}
    for link, text, view, shown, _ in walk:
        assert not view["error"] and not view["moved"], (link, view["error"], view["moved"])
        assert link.picture in [figure["id"] for figure in view["figures"]], link
        absent = [number for number in NUMBER.findall(text) if not says(shown, number)]
        if absent:
            missing[link.words] = absent
    assert len(walk) == len(list(links.find((LABS / page.slug / "words.md").read_text("utf-8"))))
    assert missing == {}


def test_it_sets_the_whole_state(page, walk):
    """Whatever was turned before, and wherever: the same link leads to the same screen. One in three, and all before a release."""
    every = 1 if RELEASE else 3
    for link, _, view, *_ in reversed(walk[::every]):
        page.send("context", value=page.lab.contexts[-1].slug)
        again = follow(page, link)
        if page.lab.instruments[link.instrument].piece.spec["cases"]["asked"]:
            assert again["cards"] == view["cards"] and again["formula"] == view["formula"], link


def test_its_dials_can_be_turned_to_what_it_says(walk):
    assert {link.words: refused for link, *_, refused in walk if refused} == {}
