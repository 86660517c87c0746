"""A lab of the static site in a browser without an image: Python starts in the page, and what is committed is stored at once."""

from collections.abc import Callable

from lab_steps import commit, patient, watched
from playwright.sync_api import BrowserContext, expect
from site_store import STORED


def test_a_lab_without_a_server_keeps_what_was_committed(cold_site: str, new_context: Callable[..., BrowserContext]) -> None:
    visit = new_context()
    visit.add_init_script("Object.defineProperty(globalThis, 'caches', { value: undefined })")  # no image is made that nobody uses
    with watched(patient(visit.new_page())) as page:
        page.goto(f"{cold_site}/lab/lab_01_magnitude/")
        expect(page.get_by_role("button", name="Commit my prediction")).to_be_disabled()
        commit(page, "10⁴", "fairly sure")
        expect(page.locator("#act1-reveal")).to_be_visible()
        expect(page.locator("#act1-instrument .il-drawing").first).to_be_visible()
        page.goto(f"{cold_site}/glossary/")  # at once: what is on the screen is stored
        assert page.evaluate(STORED) == ["opened", "prediction"]
