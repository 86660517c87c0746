"""The static site in a browser: a lab from lock to receipt without a server behind it, offline, in two windows, and with a full disk."""

import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from lab_steps import PATIENCE, commit, expect_readable_open
from playwright.sync_api import expect

from ironlaw.ledger import open_ledger

LAB = "/lab/lab_01_magnitude/"
# what the browser holds, without Python: from a page of the site that starts none
STORED = """() => new Promise((done) => {
  const request = indexedDB.open("ironlaw");
  request.onsuccess = () => {
    const all = request.result.transaction("events").objectStore("events").getAll();
    all.onsuccess = () => done(all.result.map((row) => row[5]));
  };
})"""

CHANGE = """() => new Promise((done) => {
  const request = indexedDB.open("ironlaw");
  request.onsuccess = () => {
    const events = request.result.transaction("events", "readwrite").objectStore("events");
    const first = events.get(1);
    first.onsuccess = () => {
      events.put(first.result.with(3, "lab_99"), 1).onsuccess = () => done();
    };
  };
})"""


@pytest.fixture
def visit(new_context):
    """A browser that has nothing stored, and the list of what it asked for outside the site's host."""
    context = new_context(accept_downloads=True)
    context.set_default_timeout(4 * PATIENCE)  # Python starts in each page
    outside = []
    context.on(
        "request", lambda request: outside.append(request.url) if urlsplit(request.url).hostname not in ("127.0.0.1", None) else None
    )
    yield context
    assert not outside


def locked(page):
    button = page.get_by_role("button", name="Commit my prediction")
    expect(button).to_be_visible(timeout=4 * PATIENCE)
    return button


def test_a_lab_without_a_server_keeps_what_was_committed_and_hands_it_over(site, visit, tmp_path):
    page = visit.new_page()
    page.goto(site + LAB)
    other = visit.new_page()
    other.goto(site + LAB)
    locked(other)
    locked(page)
    commit(page, "10⁴", "fairly sure")
    expect(page.locator("#act1-reveal")).to_be_visible(timeout=PATIENCE)
    expect(other.locator("#act1-reveal")).to_be_visible(timeout=PATIENCE)  # the second window follows
    page.goto("about:blank")  # at once: what is on the screen is stored
    other.close()
    page.goto(f"{site}/glossary/")
    assert page.evaluate(STORED)[-1] == "prediction"
    page.goto(f"{site}/")
    expect(page.get_by_text("Act I, prediction committed").first).to_be_visible(timeout=4 * PATIENCE)
    expect_readable_open(page)
    with page.expect_download() as saved:
        page.get_by_role("link", name="Download the export").click()
    with open_ledger(tmp_path / "ledger.db") as ledger:
        ledger.import_(json.loads(Path(saved.value.path()).read_text("utf-8")))
        assert ledger.prediction("lab_01_magnitude", "act1") is not None
        ledger.set_learner_name("Ada")
        back = tmp_path / "back.json"
        back.write_text(json.dumps(ledger.export()), "utf-8")
    wrong = tmp_path / "wrong.json"
    wrong.write_text("[]")
    page.get_by_label("Export to import").set_input_files(wrong)
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.locator("#import-error")).to_be_visible(timeout=PATIENCE)  # beside its control
    page.get_by_label("Export to import").set_input_files(back)
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_text("Welcome back, Ada.")).to_be_visible(timeout=PATIENCE)


def test_offline_a_lab_opens_that_was_never_visited(site, visit):
    page = visit.new_page()
    page.goto(f"{site}/explore/?workload=gpt2&hardware=h100_sxm")
    expect(page.locator(".il-piece")).to_contain_text("GPT-2", timeout=4 * PATIENCE)
    expect(page.locator(".il-first .il-drawing .il-bar").first).to_be_attached()
    expect_readable_open(page)
    page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    visit.set_offline(True)
    page.goto(f"{site}/lab/lab_11_roofline/")
    locked(page)
    assert page.get_by_role("link", name="ironlaw").first.get_attribute("href") == "../../"
    visit.set_offline(False)


def test_what_can_not_be_stored_is_not_committed(site, visit):
    """Whose ledger it is and that the lab was opened can be written, then nothing more, as on a full disk."""
    page = visit.new_page()

    def full(route):
        text, put = route.fetch().text(), "put(...stores.map((store) => change.objectStore(store)));"
        assert put in text
        text = f"let writes = 0;\n{text.replace(put, f'{put} if (++writes > 2) change.abort();')}"
        route.fulfill(body=text, content_type="text/javascript")

    visit.route("**/store.js", full)
    page.goto(site + LAB)
    locked(page)
    commit(page, "10⁴", "fairly sure")
    expect(page.locator("#il-said")).to_contain_text("could not be stored", timeout=PATIENCE)
    expect(page.locator("#act1-reveal")).to_have_count(0)
    page.goto(f"{site}/glossary/")
    assert page.evaluate(STORED) == ["opened"]


def test_a_damaged_ledger_is_set_aside_and_can_be_taken_along(site, visit):
    page = visit.new_page()
    page.goto(site + LAB)
    locked(page)
    page.goto(f"{site}/")
    expect(page.get_by_text("Act I, opened").first).to_be_visible(timeout=4 * PATIENCE)
    page.get_by_label("Your name").fill("Ada")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Welcome back, Ada.")).to_be_visible(timeout=PATIENCE)
    page.goto(f"{site}/glossary/")
    page.evaluate(CHANGE)
    page.goto(f"{site}/")
    expect(page.get_by_role("alert")).to_contain_text("was changed after it was written", timeout=4 * PATIENCE)
    with page.expect_download() as whole:
        page.get_by_role("link", name="Download the damaged ledger").click()
    damaged = json.loads(Path(whole.value.path()).read_text("utf-8"))
    assert [row[3] for row in damaged["rows"]] == ["lab_99", ""]
    page.get_by_role("button", name="Set it aside and go on").click()
    expect(page.get_by_text("1 event was carried over into a new one, 1 could not be")).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_text("Welcome back, Ada.")).to_be_visible()
    page.goto(f"{site}/glossary/")
    assert page.evaluate(STORED) == ["named", "carried"]
    page.goto(f"{site}/")  # and it stays so
    with page.expect_download(timeout=4 * PATIENCE) as kept:
        page.get_by_role("link", name="Download the damaged ledger").click()
    assert json.loads(Path(kept.value.path()).read_text("utf-8")) == damaged
