"""The free instrument when its server ends and another begins; tests/browser kills the server of a lab."""

import re

from playwright.sync_api import Page, expect


def test_a_server_that_is_gone_is_named_and_its_successor_answers(page: Page, labs):
    with labs() as (url, _):
        page.goto(f"{url}/explore")
        page.wait_for_selector(".il-first .il-drawing .il-bar")
        port = int(url.rpartition(":")[2])
    page.locator("[data-dial=batch]").get_by_role("slider").press("ArrowRight")
    expect(page.get_by_role("alert")).to_contain_text("ironlaw labs")
    before = page.locator(".il-cards").inner_text()
    with labs(port) as (again, _):
        assert again == url
        expect(page.get_by_role("alert")).to_have_count(0)
        page.wait_for_url(re.compile("batch=2"))
        assert page.locator(".il-cards").inner_text() != before
