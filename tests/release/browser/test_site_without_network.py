"""The static site once the network is gone. The last of the site's tests: it throws away the image that the others start from."""

from lab_steps import expect_readable_open
from playwright.sync_api import Page, expect


def test_offline_a_lab_opens_that_was_never_visited(site: str, page: Page) -> None:
    page.goto(f"{site}/explore/?workload=gpt2&hardware=h100_sxm")
    expect(page.locator(".il-piece")).to_contain_text("GPT-2")
    expect(page.locator(".il-first .il-drawing .il-bar").first).to_be_attached()
    expect_readable_open(page)
    page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    page.evaluate("caches.delete('ironlaw images')")  # all that Python takes is asked for
    page.context.set_offline(True)
    try:
        page.goto(f"{site}/lab/lab_11_roofline/")
        expect(page.get_by_role("button", name="Commit my prediction")).to_be_visible()
        assert page.get_by_role("link", name="ironlaw").first.get_attribute("href") == "../../"
    finally:
        page.context.set_offline(False)
