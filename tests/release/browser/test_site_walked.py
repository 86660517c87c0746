"""The static site in a browser: a lab without a server behind it, in two windows, with a full disk, and with a damaged ledger."""

import json
from pathlib import Path

from lab_steps import commit, expect_readable_open, patient
from playwright.sync_api import expect
from site_store import FILL, STORED, stored

from ironlaw.ledger import open_ledger

LAB = "/lab/lab_01_magnitude/"


def locked(page):
    button = page.get_by_role("button", name="Commit my prediction")
    expect(button).to_be_visible()
    return button


def test_a_lab_without_a_server_keeps_what_was_committed_and_hands_it_over(site, page, tmp_path):
    page.goto(site + LAB)
    other = page.context.new_page()
    other.goto(site + LAB)
    locked(other)
    locked(page)
    commit(page, "10⁴", "fairly sure")
    expect(page.locator("#act1-reveal")).to_be_visible()
    expect(other.locator("#act1-reveal")).to_be_visible()  # the second window follows
    page.goto("about:blank")  # at once: what is on the screen is stored
    other.close()
    page.goto(f"{site}/glossary/")
    assert page.evaluate(STORED)[-1] == "prediction"
    page.goto(f"{site}/")
    expect(page.get_by_text("Act I, prediction committed").first).to_be_visible()
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
    expect(page.locator("#import-error")).to_be_visible()  # beside its control
    page.get_by_label("Export to import").set_input_files(back)
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_text("Welcome back, Ada.")).to_be_visible()


def test_what_can_not_be_stored_is_not_committed(site, new_context):
    """Whose ledger it is and that the lab was opened can be written, then nothing more, as on a full disk: in a first visit."""
    visit = new_context()
    visit.add_init_script("Object.defineProperty(globalThis, 'caches', { value: undefined })")  # no image is made that nobody uses
    page = patient(visit.new_page())

    def full(route):
        text, put = route.fetch().text(), "put(...stores.map((store) => change.objectStore(store)));"
        assert put in text
        text = f"let writes = 0;\n{text.replace(put, f'{put} if (++writes > 2) change.abort();')}"
        route.fulfill(body=text, content_type="text/javascript")

    visit.route("**/store.js", full)
    page.goto(site + LAB)
    locked(page)
    commit(page, "10⁴", "fairly sure")
    expect(page.locator("#il-said")).to_contain_text("could not be stored")
    expect(page.locator("#act1-reveal")).to_have_count(0)
    page.goto(f"{site}/glossary/")
    assert page.evaluate(STORED) == ["opened"]


def test_a_damaged_ledger_is_set_aside_and_can_be_taken_along(site, page):
    def write(ledger):
        ledger.append("lab_01_magnitude", "opened", {})
        ledger.set_learner_name("Ada")

    owner, (first, second) = stored(write)
    page.goto(f"{site}/glossary/")  # a page that starts no Python
    page.evaluate(FILL, [owner, [[*first[:3], "lab_99", *first[4:]], second]])
    page.goto(f"{site}/")
    expect(page.get_by_role("alert")).to_contain_text("was changed after it was written")
    with page.expect_download() as whole:
        page.get_by_role("link", name="Download the damaged ledger").click()
    damaged = json.loads(Path(whole.value.path()).read_text("utf-8"))
    assert [row[3] for row in damaged["rows"]] == ["lab_99", ""]
    page.get_by_role("button", name="Set it aside and go on").click()
    expect(page.get_by_text("1 event was carried over into a new one, 1 could not be")).to_be_visible()
    expect(page.get_by_text("Welcome back, Ada.")).to_be_visible()
    page.goto(f"{site}/glossary/")
    assert page.evaluate(STORED) == ["named", "carried"]
    page.goto(f"{site}/")  # and it stays so
    with page.expect_download() as kept:
        page.get_by_role("link", name="Download the damaged ledger").click()
    assert json.loads(Path(kept.value.path()).read_text("utf-8")) == damaged
