"""Lab 08 as a learner does it: by mouse with a reload in the middle, by keyboard alone, on a phone at night."""

import re
from collections.abc import Iterator

import pytest
from lab_steps import (
    answer,
    changes,
    commit,
    commit_by_keyboard,
    expect_readable,
    expect_short,
    go_on,
    label,
    measure,
    open_in_the_dark,
    payloads,
    press_on,
    tab_to,
    to_reflection,
    trial,
    watched,
)
from playwright.sync_api import Locator, Page, expect

from ironlaw.ledger import Ledger

SLUG = "lab_08_ledger"
LAB = f"/lab/{SLUG}/"
SAME, EVERY, NONE = label(SLUG, "act1_reflection", "same"), label(SLUG, "act2", "checkpoint"), label(SLUG, "act2_reflection", "none")


@pytest.fixture
def page(page: Page) -> Iterator[Page]:
    with watched(page):
        yield page


def banner(page: Page, title: str) -> Locator:
    return page.locator(".il-banner-title", has_text=title)


def panel(page: Page, act: str) -> Locator:
    return page.locator(f"#{act}-instrument .il-instrument")


def first_act(page: Page) -> None:
    commit(page, "4 ×", "fairly sure")
    to_reflection(page)
    answer(page, SAME)
    go_on(page, "Go on to Act II")


def test_the_whole_lab_by_mouse_with_a_reload_in_the_middle(beginner: str, shared_ledger: Ledger, page: Page) -> None:
    page.goto(beginner + LAB)
    expect(page.get_by_role("button", name="Commit my prediction")).to_be_disabled()
    before = page.locator("body").inner_text()
    for sealed in ("14.9", "10.2 GB", "46.8", "sixteen bytes"):
        assert sealed not in before, f"{sealed} is on the page before the first prediction"
    expect(page.locator("svg[role=img]")).to_have_count(0)
    commit(page, "4 ×", "fairly sure")
    expect(page.get_by_text("too low by a factor of 7.51")).to_be_visible()
    step = panel(page, "act1")
    step.get_by_role("tab", name="The step").click()
    expect(step.locator("[data-figure=mountain] .il-target[aria-label*='log-softmax']").first).to_be_attached()
    changes(page, step.locator(".il-show"), lambda: step.get_by_label("Recipe").select_option(label="BF16, FP32 master"))
    expect(page.locator(".il-hud")).to_contain_text("44 ×")  # over BF16 weights
    go_on(page, "See what was measured")
    measure(page, "act1", "ledger")
    go_on(page, "Reflect on it")
    answer(page, SAME)
    go_on(page, "Go on to Act II")
    commit(page, EVERY, "4 sure")
    expect(banner(page, "Kept too much")).to_be_visible()
    levers = panel(page, "act2")
    levers.locator(".il-dials").get_by_text("every layer", exact=True).click()
    expect(banner(page, "The head is the wall")).to_be_visible()

    page.reload()
    expect(page.locator(".il-lock").nth(1).get_by_text("Committed")).to_be_visible()
    expect(banner(page, "The head is the wall")).to_be_visible()  # the dials came back
    page.get_by_role("button", name="and take the loss in chunks").click()
    expect(banner(page, "It fits")).to_be_visible()
    to_reflection(page)
    answer(page, NONE)
    go_on(page, "Finish", "Save my design")
    expect(page.locator(".il-hud")).to_contain_text(re.compile(r"saved \d\d:\d\d"))
    assert [each["value"] for each in payloads(shared_ledger, "prediction")] == [4, "checkpoint"]
    assert [each["experiment"] for each in payloads(shared_ledger, "measured")] == ["ledger"]
    design = payloads(shared_ledger, "design")[-1]
    assert design["model"] == "llama3_2_1b" and design["checkpoint"] == 16 and design["constraint_hit"] is False
    assert design["headroom_bytes"] > 0


def test_by_keyboard_alone(either: str, page: Page) -> None:
    page.goto(either + LAB)
    commit_by_keyboard(page, "2 ×")
    expect(page.get_by_text("right to within")).to_be_visible()
    press_on(page, "See what was measured")
    if "/course/" in either:  # a browser can't measure
        expect(trial(page, "act1", "ledger")).to_contain_text("pip install ironlaw")
    press_on(page, "Reflect on it")
    tab_to(page, "radio", "They halve.")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    tab_to(page, "button", "Answer")
    page.keyboard.press("Enter")
    expect(page.get_by_text("✓ Yes.").first).to_be_visible()
    press_on(page, "Go on to Act II")
    commit_by_keyboard(page, "Recompute every layer")
    expect(banner(page, "Kept too much")).to_be_visible()
    tab_to(page, "radio", "nothing", most=160)
    page.keyboard.press("ArrowRight")
    expect(banner(page, "The head is the wall")).to_be_visible()


def test_on_a_phone_at_night(beginner: str, page: Page) -> None:
    open_in_the_dark(page, beginner + LAB)
    first_act(page)
    commit(page, EVERY, "fairly sure")
    expect(banner(page, "Kept too much")).to_be_visible()
    expect_short(page)
    expect_readable(page)
