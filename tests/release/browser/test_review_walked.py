"""A whole sitting of the review by mouse, and a card in the static site."""

import re
from collections.abc import Iterator

import pytest
from lab_steps import payloads, watched
from playwright.sync_api import Page, expect
from review_steps import REVIEW, answer, answer_by_keyboard, desk, on_the_table

from ironlaw.ledger import Ledger


@pytest.fixture
def page(page: Page) -> Iterator[Page]:
    with watched(page):
        yield page


def test_a_whole_sitting_by_mouse(beginner: str, shared_ledger: Ledger, page: Page) -> None:
    page.goto(beginner + REVIEW)
    expect(desk(page)).to_contain_text("10 to go")
    for left in range(10, 0, -1):
        expect(desk(page)).to_contain_text(f"{left} to go")
        answer(page, on_the_table(page), sure="5 certain")
        desk(page).get_by_role("button", name="Next card").click()
        expect(desk(page).locator(".il-key")).to_have_count(0)
    expect(desk(page)).to_contain_text("Done for now: 10 answered, 10 right")
    expect(desk(page).get_by_role("button", name="Start another session")).to_be_visible()
    expect(page.locator(".il-hud")).to_contain_text("done for now")
    expect(page.locator(".il-hud")).to_contain_text("10 of 10 right")
    expect(page.locator(".il-instrument").first).to_contain_text("10 of 10")
    page.goto(beginner)
    expect(page.locator("#review .state")).to_contain_text(re.compile("due"))
    assert len(payloads(shared_ledger, "reviewed")) == 10


def test_one_card_by_keyboard_alone_without_a_server(site: str, page: Page) -> None:
    answer_by_keyboard(page, site + REVIEW)
