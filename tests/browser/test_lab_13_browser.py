"""Lab 13 as a learner does it: by mouse, by keyboard alone, and on a phone in the dark."""

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

SLUG = "lab_13_line"
LAB = f"/lab/{SLUG}/"
MEAN, SAME = label(SLUG, "act1", "w"), label(SLUG, "act1_reflection", "same")
ALIKE, POOLED = label(SLUG, "act2", "x1"), label(SLUG, "act2_reflection", "six")


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
    expect(page.locator("svg[role=img]")).to_have_count(0)
    commit(page, MEAN, "fairly sure")
    first = instrument(page, "act1")
    changes(page, first, first.locator(".il-dials").get_by_text("rows", exact=True).click)
    changes(page, first, page.get_by_role("button", name="Let them come in bursts").click)
    expect(first.get_by_role("spinbutton", name="Requests in a burst")).to_have_value("50")
    go_on(page, "See what was measured")
    measure(page, "act1", "line")
    go_on(page, "Reflect on it")
    answer(page, SAME)
    go_on(page, "Go on to Act II")
    commit(page, ALIKE, "4 sure")
    second = instrument(page, "act2")
    expect(second.locator(".il-banner-title")).to_contain_text("It works")
    rate = second.get_by_role("spinbutton", name="Requests per second")
    rate.fill("50000")
    expect(second.locator(".il-banner-title")).to_contain_text("A line without end")
    expect(page.locator(".il-hud")).to_contain_text("no end")
    held = second.locator('[data-figure="by-rate"] .il-target[aria-label^="as set"]')
    held.scroll_into_view_if_needed()
    box = held.bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 150, y, steps=4)
    page.mouse.up()
    expect(rate).not_to_have_value("50,000")
    expect(second.locator(".il-banner-title")).to_contain_text("It works")
    second.get_by_label("A free server takes").select_option(label="full batches")
    expect(second.locator(".il-banner-title")).to_contain_text(re.compile("Waiting for nothing|Too late"))
    second.get_by_label("A free server takes").select_option(label="what waits")
    to_reflection(page)
    answer(page, POOLED)
    go_on(page, "Finish", "Save my design")
    expect(page.locator(".il-hud")).to_contain_text(re.compile(r"saved \d"))
    assert [each["value"] for each in payloads(shared_ledger, "prediction")] == [24.0, 1]
    design = payloads(shared_ledger, "design")[-1]
    assert design["policy"] == "waiting" and 1_000 < design["rate"] < 50_000 and design["act2_correct"] is True


def test_by_keyboard_alone(either: str, page: Page) -> None:
    page.goto(either + LAB)
    commit_by_keyboard(page, label(SLUG, "act1", "half"))
    first = instrument(page, "act1")
    expect(page.locator("#act1-instrument")).to_be_focused()
    tab_to(page, "radio", "columns")
    changes(page, first, lambda: page.keyboard.press("ArrowRight"))
    press_on(page, "See what was measured", "Reflect on it")
    tab_to(page, "radio", "It falls")
    page.keyboard.press("ArrowDown")
    tab_to(page, "button", "Answer")
    page.keyboard.press("Enter")
    press_on(page, "Go on to Act II")
    commit_by_keyboard(page, ALIKE)
    second = instrument(page, "act2")
    rate = second.get_by_role("spinbutton", name="Requests per second")
    before = rate.input_value()
    tab_to(page, "range", "Requests per second")
    page.keyboard.press("ArrowRight")
    expect(rate).not_to_have_value(before)


def test_it_can_be_read_on_a_phone_in_the_dark(
    beginner: str, shared_home: Path, shared_ledger: Ledger, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRONLAW_HOME", str(shared_home))
    complete(kit.open(SLUG, shared_ledger))
    open_in_the_dark(page, beginner + LAB)
    unfold(page)
    first, second = instrument(page, "act1"), instrument(page, "act2")
    changes(page, first, first.locator(".il-dials").get_by_text("any cut", exact=True).click)
    first.get_by_role("tab", name="Your answer").click()
    expect(first.locator('[data-figure="answer"] .il-drawing')).to_be_visible()
    changes(page, second, lambda: second.get_by_role("spinbutton", name="Replicas").fill("4"))
    second.get_by_role("tab", name="Busy and loaded").click()
    expect(second.locator('[data-figure="meters"] .il-drawing')).to_be_visible()
    expect_readable(page)
