"""Lab 15 as a learner does it: by mouse, by keyboard alone, and on a phone. Its contexts are data."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab_steps import (
    answer,
    changes,
    commit,
    commit_by_keyboard,
    expect_readable,
    go_on,
    label,
    open_in_the_dark,
    payloads,
    press_on,
    tab_to,
    to_reflection,
    unfold,
    watched,
)
from playwright.sync_api import Locator, Page, expect

from ironlaw import kit
from ironlaw.kit.check import complete
from ironlaw.ledger import Ledger

SLUG = "lab_15_parity"
LAB = f"/lab/{SLUG}/"


@pytest.fixture
def page(page: Page) -> Iterator[Page]:
    with watched(page):
        yield page


@pytest.fixture
def done(beginner: str, shared_home: Path, shared_ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> str:
    """The shared server, for a learner who has answered everything."""
    monkeypatch.setenv("IRONLAW_HOME", str(shared_home))
    complete(kit.open(SLUG, shared_ledger))
    return beginner


def instrument(page: Page, act: str) -> Locator:
    found = page.locator(f"#{act}-instrument .il-instrument")
    expect(found.locator(".il-drawing").first).to_be_visible()
    return found


def number(where: Locator, name: str, value: str) -> None:
    where.get_by_role("spinbutton", name=re.compile(f"^{name}")).fill(value)


def test_the_whole_lab_by_mouse(beginner: str, shared_ledger: Ledger, page: Page) -> None:
    page.goto(beginner + LAB)
    expect(page.get_by_role("button", name="Commit my prediction")).to_be_disabled()
    commit(page, label(SLUG, "act1", "three"), "fairly sure")
    first = instrument(page, "act1")
    expect(first.locator('[data-figure="ratio"]')).to_contain_text("you said 3")
    expect(page.locator(".il-hud")).to_contain_text("21.4 points")
    page.locator(".il-toggle").get_by_text("Credit scores", exact=True).click()
    expect(first.get_by_label("First group", exact=True)).to_be_visible()
    to_reflection(page)
    answer(page, label(SLUG, "act1_reflection", "equal"))
    go_on(page, "Go on to Act II")
    commit(page, label(SLUG, "act2", "p93"), "4 sure")
    second = instrument(page, "act2")
    expect(second.locator(".il-banner-title")).to_contain_text("Four fifths")
    second.get_by_label("Rule", exact=True).select_option(label="equal selection rates")
    expect(second.locator(".il-banner-title")).to_contain_text("Below the floor")
    number(second, "Keep of the largest", "70")
    number(second, "All three rates within", "40")
    expect(second.locator(".il-banner-title")).to_contain_text("It can be defended")
    to_reflection(page)
    answer(page, label(SLUG, "act2_reflection", "worst"))
    go_on(page, "Finish", "Save my design")
    expect(page.locator(".il-hud")).to_contain_text(re.compile(r"saved \d"))
    design = payloads(shared_ledger, "design")[-1]
    assert design["rule"] == "equal_selection" and design["act1_correct"] is False and design["act2_correct"] is True
    assert design["context"] == design["data"] == "credit" and design["constraint_hit"] is False


def test_by_keyboard_alone(beginner: str, page: Page) -> None:
    page.goto(beginner + LAB)
    commit_by_keyboard(page, "The same in both")
    instrument(page, "act1")
    expect(page.locator("#act1-instrument")).to_be_focused()
    press_on(page, "See what was measured", "Reflect on it")
    tab_to(page, "radio", "More data")
    page.keyboard.press("ArrowDown")
    tab_to(page, "button", "Answer")
    page.keyboard.press("Enter")
    press_on(page, "Go on to Act II")
    commit_by_keyboard(page, "99 %")
    second = instrument(page, "act2")
    tab_to(page, "range", "Repayment")
    page.keyboard.press("ArrowRight")
    expect(second.get_by_role("spinbutton", name=re.compile("^Repayment"))).not_to_have_value("82")
    press_on(page, "See what was measured", "Reflect on it")
    expect(page.locator(".il-reflect").last).to_be_visible()


def test_it_can_be_read_everywhere_and_every_control_changes_something(done: str, page: Page) -> None:
    open_in_the_dark(page, done + LAB)
    unfold(page)
    first, second = instrument(page, "act1"), instrument(page, "act2")
    expect_readable(page)
    changes(page, first, lambda: number(first, "Threshold", "7"))
    changes(page, first, lambda: number(first, "Precision to hold", "30"))
    changes(page, second, lambda: second.get_by_label("Rule", exact=True).select_option(label="equal odds"))
    changes(page, second, lambda: number(second, "Repayment", "70"))
    changes(page, second, lambda: second.get_by_text("one for all, by law", exact=True).click())
    changes(page, first, page.locator(".il-toggle").get_by_text("Two made-up groups", exact=True).click)
    changes(page, first, lambda: number(first, "Base rate of A", "60"))
    changes(page, first, lambda: number(first, "How well the score separates", "3"))
