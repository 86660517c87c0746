"""Lab 10 as a learner does it: by mouse, by keyboard alone, and on a phone at night."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab_steps import (
    answer,
    changes,
    commit,
    commit_by_keyboard,
    expect_measured,
    expect_readable,
    go_on,
    label,
    open_in_the_dark,
    payloads,
    press_on,
    tab_to,
    to_reflection,
    trial,
    unfold,
    watched,
)
from playwright.sync_api import Locator, Page, expect

from ironlaw import kit
from ironlaw.kit.check import complete
from ironlaw.labs.lab_10_frontier import llama
from ironlaw.ledger import Ledger
from ironlaw.units import significant

SLUG = "lab_10_frontier"
LAB = f"/lab/{SLUG}/"


@pytest.fixture
def page(page: Page) -> Iterator[Page]:
    with watched(page):
        yield page


def instrument(page: Page, act: str) -> Locator:
    found = page.locator(f"#{act}-instrument .il-instrument")
    expect(found.locator(".il-drawing").first).to_be_visible()
    return found


def listed(row: str) -> str:
    """A format as the menu has it."""
    return f"{row}, {significant(llama.size(row) / 1e9)} GB"


def pick(where: Locator, *options: str) -> None:
    for option in options:
        where.locator(".il-dials").get_by_text(option, exact=True).click()


def test_the_whole_lab_by_mouse(beginner: str, shared_ledger: Ledger, page: Page) -> None:
    page.goto(beginner + LAB)
    expect(page.get_by_role("button", name="Commit my prediction")).to_be_disabled()
    before = page.locator("body").inner_text()
    assert not any(sealed in before for sealed in ("4.26", "98.6", "straight line"))
    commit(page, label(SLUG, "act1", "cliff"), "fairly sure")
    first = instrument(page, "act1")
    expect(page.locator("#act1-reveal")).to_contain_text("×4.26")
    pick(first, "2")
    expect(page.locator(".il-hud")).to_contain_text("2 bits, 90 %")
    expect(first.locator(".il-thumbs li")).to_have_count(8)
    page.locator("#act1-reveal").get_by_role("button", name=re.compile("Spread the channels")).click()
    expect(page.locator(".il-hud")).to_contain_text("8 bits, 10.2 %")
    go_on(page, "See what was measured")
    trial(page, "act1", "bits").get_by_role("button", name="Measure it here").click()
    expect_measured(page, "act1", "bits")
    go_on(page, "Reflect on it")
    answer(page, label(SLUG, "act1_reflection", "chance"))
    go_on(page, "Go on to Act II")
    commit(page, label(SLUG, "act2", "p80"), "4 sure")
    second = instrument(page, "act2")
    banner = second.locator(".il-banner-title")
    expect(banner).to_contain_text("Off the frontier")
    second.get_by_label("Format", exact=True).select_option(label=listed("Q8_0"))
    expect(banner).to_contain_text("Worth having")
    pick(second, "unpacks to FP16 first")
    expect(banner).to_contain_text("Smaller, and slower")
    pick(second, "the digit reader", "INT8 product", "6")
    expect(banner).to_contain_text("Worth having")
    expect(page.locator(".il-hud")).to_contain_text("worth having")
    to_reflection(page)
    answer(page, label(SLUG, "act2_reflection", "p56"))
    go_on(page, "Finish", "Save my design")
    expect(page.locator(".il-hud")).to_contain_text(re.compile(r"saved \d"))
    (design,) = payloads(shared_ledger, "design")
    assert (design["model"], design["bits"], design["on_frontier"], design["constraint_hit"]) == ("digits", 6, True, False)


def test_by_keyboard_alone(beginner: str, page: Page) -> None:
    page.goto(beginner + LAB)
    commit_by_keyboard(page, label(SLUG, "act1", "free"))
    first = instrument(page, "act1")
    expect(page.locator("#act1-instrument")).to_be_focused()
    tab_to(page, "radio", "8")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".il-hud")).to_contain_text("7 bits")
    tab_to(page, "button", "Two axes")
    page.keyboard.press("ArrowRight")
    expect(first.locator('[data-figure="weights"] .il-drawing')).to_be_visible()
    press_on(page, "See what was measured", "Reflect on it")
    tab_to(page, "radio", "Equal")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    tab_to(page, "button", "Answer")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Go on to Act II")).to_be_visible()


def test_it_can_be_read_on_a_phone_and_every_control_changes_something(
    beginner: str, shared_home: Path, shared_ledger: Ledger, monkeypatch: pytest.MonkeyPatch, page: Page
) -> None:
    monkeypatch.setenv("IRONLAW_HOME", str(shared_home))
    complete(kit.open(SLUG, shared_ledger))
    open_in_the_dark(page, beginner + LAB)
    unfold(page)
    first, second = instrument(page, "act1"), instrument(page, "act2")
    expect_readable(page)
    for option in ("4", "a tensor", "the least error", "with a zero point", "×10", "depthwise convolutions", "FP16"):
        changes(page, first, lambda option=option: pick(first, option))
    changes(page, second, lambda: second.get_by_label("Format", exact=True).select_option(label=listed("Q5_1")))
    changes(page, second, lambda: second.get_by_role("spinbutton", name="Perplexity at most").fill("6.3"))
    for option in ("8,192", "unpacks to FP16 first", "time", "divergence", "the digit reader", "50 %", "a bitmap", "sparse product", "3"):
        changes(page, second, lambda option=option: pick(second, option))
    changes(page, second, lambda: second.get_by_label("Width", exact=True).select_option(label="a quarter"))
    expect_readable(page)
