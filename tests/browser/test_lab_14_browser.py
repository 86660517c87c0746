"""Lab 14 as a learner does it: by mouse, by keyboard alone, and on a phone at night."""

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
    fits_across,
    go_on,
    label,
    measure,
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

SLUG = "lab_14_tail"
LAB = f"/lab/{SLUG}/"


@pytest.fixture
def page(page: Page) -> Iterator[Page]:
    with watched(page):
        yield page


def instrument(page: Page, act: str) -> Locator:
    found = page.locator(f"#{act}-instrument .il-instrument")
    expect(found.locator(".il-drawing").first).to_be_visible()
    return found


def test_the_whole_lab_by_mouse(beginner: str, shared_ledger: Ledger, page: Page) -> None:
    page.goto(beginner + LAB)
    expect(page.get_by_role("button", name="Commit my prediction")).to_be_disabled()
    assert "911" not in page.locator("body").inner_text()
    commit(page, label(SLUG, "act1", "ms10"), "fairly sure")
    first = instrument(page, "act1")
    expect(first.locator(".il-banner-title")).to_contain_text("The test misses it")
    expect(page.locator("#act1-reveal")).to_contain_text("too low by a factor of 91.1")
    page.get_by_role("button", name="Open 64 connections").click()  # a sentence that turns a dial
    expect(first.locator(".il-banner-title")).to_contain_text("The test agrees")
    for tab in ("Around a stall", "All requests"):
        first.get_by_role("tab", name=tab).click()
        expect(first.locator(".il-drawing").first).to_be_visible()
    changes(page, first, lambda: first.get_by_role("spinbutton", name="Stopped").fill("30"))
    go_on(page, "See what was measured")
    measure(page, "act1", "omission")
    expect(page.locator("#act1-measure")).to_contain_text("on schedule")
    go_on(page, "Reflect on it")
    answer(page, label(SLUG, "act1_reflection", "above"))
    go_on(page, "Go on to Act II")
    commit(page, label(SLUG, "act2", "faster"), "4 sure")
    second = instrument(page, "act2")
    expect(second.locator(".il-banner-title")).to_contain_text("It can get stuck")
    second.get_by_text("loser called back", exact=True).click()
    expect(second.locator(".il-banner-title")).to_contain_text("Pages are in time")
    second.get_by_role("spinbutton", name="Target").fill("50")
    expect(second.locator(".il-banner-title")).to_contain_text("Pages are too late")
    second.get_by_role("spinbutton", name="Shards that a page asks").fill("2000")
    expect(second.locator(".il-banner-title")).to_contain_text("Not known")
    to_reflection(page)
    answer(page, label(SLUG, "act2_reflection", "p9999"))
    go_on(page, "Finish", "Save my design")
    expect(page.locator(".il-hud")).to_contain_text(re.compile(r"saved \d"))
    assert [each["value"] for each in payloads(shared_ledger, "prediction")] == [0.01, "faster"]
    design = payloads(shared_ledger, "design")[-1]
    assert design["shards"] == 2000 and design["hedge"] == "called_back" and design["constraint_hit"] is True
    assert design["here_open_p99_s"] > design["here_closed_p99_s"] > 0 and design["page_p99_s"] is None


def test_by_keyboard_alone(beginner: str, page: Page) -> None:
    page.goto(beginner + LAB)
    commit_by_keyboard(page, label(SLUG, "act1", "ms1"))
    first = instrument(page, "act1")
    expect(page.locator("#act1-instrument")).to_be_focused()
    tab_to(page, "range", "Connections")
    page.keyboard.press("End")
    expect(first.locator(".il-banner-title")).to_contain_text("The test agrees")
    press_on(page, "See what was measured", "Reflect on it")
    tab_to(page, "radio", label(SLUG, "act1_reflection", "exact"))
    page.keyboard.press("ArrowDown")
    tab_to(page, "button", "Answer")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Go on to Act II")).to_be_visible()


def test_on_a_phone_at_night_and_on_a_wide_screen(
    beginner: str, shared_home: Path, shared_ledger: Ledger, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRONLAW_HOME", str(shared_home))
    complete(kit.open(SLUG, shared_ledger))
    open_in_the_dark(page, beginner + LAB)
    unfold(page)
    second = instrument(page, "act2")
    changes(page, second, lambda: second.get_by_role("slider", name="Utilisation").press("Home"))
    expect(second.locator(".il-banner-title")).not_to_contain_text("stuck")
    assert fits_across(page)
    expect_readable(page)
