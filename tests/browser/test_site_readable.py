"""Pages of the static site on a phone at night and by day on a wide screen: those that test_site_browser.py does not read."""

import json
from collections.abc import Iterator

import pytest
from lab_steps import expect_readable_open, expect_short, unfold, watched
from playwright.sync_api import Page

from ironlaw import kit
from ironlaw.kit.check import complete
from ironlaw.ledger import Ledger
from ironlaw.ledger.memory import MemoryStore
from ironlaw.site.desk import new_learner

LAB = "lab_13_line"  # its simulations are the longest that a browser's Python runs; the others are read from the server
# address -> what is there once Python has answered, if the page asks it
PAGES = {
    "/glossary/": "details.group",
    f"/lab/{LAB}/": "#act2-instrument .il-drawing",
}
# a ledger as the site's own store.js keeps it
FILL = """([owner, rows]) => new Promise((done, fail) => {
  const request = indexedDB.open("ironlaw", 1);
  request.onupgradeneeded = () => ["events", "about"].forEach((name) => request.result.createObjectStore(name));
  request.onsuccess = () => {
    const change = request.result.transaction(["events", "about"], "readwrite");
    change.objectStore("about").put(owner, "owner");
    rows.forEach((row, i) => change.objectStore("events").put(row, i + 1));
    change.oncomplete = () => { request.result.close(); done(); };
    change.onabort = () => fail(change.error);
  };
})"""


@pytest.fixture(scope="module")
def answered() -> tuple[str, list[tuple]]:
    """Whose ledger it is, and its rows."""
    owner = new_learner()
    about = json.loads(owner)
    store = MemoryStore(about["learner"], about["since"])
    complete(kit.open(LAB, Ledger(store, about["learner"])))
    return owner, store.rows


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
