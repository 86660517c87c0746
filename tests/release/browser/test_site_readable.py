"""Pages of the static site on a phone at night and by day on a wide screen: those that test_site_walked.py does not read."""

from collections.abc import Iterator

import pytest
from lab_steps import expect_readable_open, expect_short, unfold, watched
from playwright.sync_api import Page
from site_store import FILL, stored

from ironlaw import kit
from ironlaw.kit.lab_check import complete

LAB = "lab_13_line"  # its simulations are the longest that a browser's Python runs; the others are read from the server
# address -> what is there once Python has answered, if the page asks it
PAGES = {
    "/glossary/": "details.group",
    f"/lab/{LAB}/": "#act2-instrument .il-drawing",
}


@pytest.fixture(scope="module")
def answered() -> tuple[str, list[tuple]]:
    """Whose ledger it is, and its rows."""
    return stored(lambda ledger: complete(kit.open(LAB, ledger)))


@pytest.fixture
def night(site: str, page: Page, answered: tuple[str, list[tuple]]) -> Iterator[Page]:
    with watched(page):
        page.emulate_media(color_scheme="dark", reduced_motion="reduce")
        page.set_viewport_size({"width": 390, "height": 900})
        page.goto(f"{site}/glossary/")  # a page that starts no Python
        page.evaluate(FILL, list(answered))
        yield page


@pytest.mark.parametrize("address", PAGES)
def test_it_can_be_read_everywhere(site: str, night: Page, address: str) -> None:
    night.goto(f"{site}{address}")
    night.locator(PAGES[address]).first.wait_for(state="attached")
    expect_short(night)
    unfold(night)
    expect_readable_open(night)
