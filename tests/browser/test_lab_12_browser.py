"""Lab 12 as a learner does it: by mouse, by keyboard alone, and on a phone."""

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
from ironlaw.registry.workloads import about

SLUG = "lab_12_amdahl"
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
    commit(page, label(SLUG, "act1", "x11"), "fairly sure")
    first = instrument(page, "act1")
    expect(first.locator('[data-figure="every_part"]')).to_contain_text("you said 11")
    page.get_by_role("button", name="Leave the GPU as it is").click()
    expect(page.locator(".il-hud")).to_contain_text("of 10.9× at most")
    go_on(page, "See what was measured")
    measure(page, "act1", "stages")
    first.get_by_label("The pass", exact=True).select_option(label="Your pipeline, four stages")  # one of the passes from now on
    expect(first.get_by_label("What gets faster", exact=True).last).to_be_visible()
    go_on(page, "Reflect on it")
    answer(page, label(SLUG, "act1_reflection", "x1_25"))
    go_on(page, "Go on to Act II")
    commit(page, label(SLUG, "act2", "x8"), "4 sure")
    second = instrument(page, "act2")
    expect(second.locator(".il-banner-title")).to_contain_text("Out of reach")
    number(second, "Workers", "18")
    number(second, "Weeks of work", "2")
    expect(second.locator(".il-banner-title")).to_contain_text("The target is met")
    go_on(page, "Commit this design")
    expect(page.locator("#act2-decide .il-feedback")).to_contain_text("397")
    page.reload()
    expect(second.get_by_role("spinbutton", name="Workers", exact=True)).to_have_value("18")
    to_reflection(page)
    answer(page, label(SLUG, "act2_reflection", "overhead"))
    go_on(page, "Finish", "Save my design")
    expect(page.locator(".il-hud")).to_contain_text(re.compile(r"saved \d"))
    design = payloads(shared_ledger, "design")[-1]
    assert design["act1_correct"] is False and design["act2_correct"] is True and design["challenge_met"] is True
    assert design["workers"] == 18 and design["constraint_hit"] is False
    assert [each["experiment"] for each in payloads(shared_ledger, "measured")] == ["stages"]


def test_by_keyboard_alone(beginner: str, page: Page) -> None:
    page.goto(beginner + LAB)
    commit_by_keyboard(page, "1.1 times")
    instrument(page, "act1")
    expect(page.locator("#act1-instrument")).to_be_focused()
    press_on(page, "See what was measured", "Reflect on it")
    tab_to(page, "radio", "5 times")
    page.keyboard.press("ArrowDown")
    tab_to(page, "button", "Answer")
    page.keyboard.press("Enter")
    press_on(page, "Go on to Act II")
    commit_by_keyboard(page, "58 times")
    second = instrument(page, "act2")
    tab_to(page, "range", "Workers")
    page.keyboard.press("ArrowRight")
    expect(second.get_by_role("spinbutton", name="Workers", exact=True)).not_to_have_value("64")
    press_on(page, "See what was measured", "Reflect on it")
    expect(page.locator(".il-reflect").last).to_be_visible()


def test_it_can_be_read_everywhere_and_every_control_changes_something(done: str, page: Page) -> None:
    open_in_the_dark(page, done + LAB)
    unfold(page)
    first, second = instrument(page, "act1"), instrument(page, "act2")
    expect_readable(page)
    changes(page, first, lambda: first.get_by_label("The pass", exact=True).select_option(label=f"{about('gpt2')['name']}, batch 16"))
    changes(page, first, lambda: first.get_by_label("What gets faster", exact=True).first.select_option(label="norms"))
    changes(page, first, lambda: first.get_by_role("button", name="100", exact=True).click())
    changes(page, first, lambda: first.get_by_text("overlap", exact=True).click())
    changes(page, second, lambda: second.get_by_text("the serial share", exact=True).click())
    for name, value in (("Serial share", "5"), ("Crosstalk", "2"), ("Target", "5"), ("A worker-hour", "3"), ("Weeks of work", "1")):
        changes(page, second, lambda name=name, value=value: number(second, name, value))
    changes(page, second, lambda: number(second, "A week of work", "9000"))
    changes(page, second, lambda: second.get_by_text("grows with the workers", exact=True).click())
    changes(page, first, page.locator(".il-toggle").get_by_text("Arm Neoverse, two cores", exact=True).click)
