"""Every lab as a learner does it: by mouse from the lock to the receipt, then on a phone at night; and by keyboard alone."""

import re
from collections.abc import Iterator

import pytest
from lab_steps import (
    answer,
    as_on_a_phone,
    changes,
    commit,
    commit_by_keyboard,
    expect_readable,
    expect_short,
    first_label,
    go_on,
    instrument,
    label,
    measure,
    payloads,
    press_on,
    question,
    tab_to,
    to_reflection,
    unfold,
    watched,
)
from lab_walks import KEYS, WALKS, banner
from playwright.sync_api import Page, expect

from ironlaw.kit.lab import LABS
from ironlaw.ledger import Ledger

OWN = {"lab_07_fusion"}  # a curve to draw and a chain to build: by keyboard from lock to receipt in test_lab_07_browser.py
SLUGS = sorted({path.parent.name for path in LABS.glob("lab_*/lab.py")} - OWN)


@pytest.fixture
def page(page: Page) -> Iterator[Page]:
    with watched(page):
        yield page


@pytest.mark.parametrize("slug", WALKS)
def test_the_whole_lab_by_mouse_and_how_it_reads(beginner: str, shared_ledger: Ledger, page: Page, slug: str) -> None:
    walk = WALKS[slug]
    first_choice, first_answer, second_choice, second_answer = walk.choices
    page.goto(f"{beginner}/lab/{slug}/")
    expect(page.get_by_role("button", name="Commit my prediction")).to_be_disabled()
    before = page.locator("body").inner_text()
    assert [words for words in walk.sealed if words in before] == []
    expect(page.locator("svg[role=img]")).to_have_count(0)
    commit(page, label(slug, "act1", first_choice), "fairly sure")
    first = instrument(page, "act1")
    walk.first(page, first)
    go_on(page, "See what was measured")
    if walk.experiment:
        measure(page, "act1", walk.experiment)
    go_on(page, "Reflect on it")
    answer(page, label(slug, "act1_reflection", first_answer))
    go_on(page, "Go on to Act II")
    commit(page, label(slug, "act2", second_choice), "4 sure")
    second = instrument(page, "act2")
    walk.second(page, second)
    stood = banner(second).inner_text()
    page.reload()
    expect(page.locator(".il-lock").nth(1).get_by_text("Committed")).to_be_visible()
    expect(banner(second)).to_have_text(stood)  # the dials came back
    to_reflection(page)
    answer(page, label(slug, "act2_reflection", second_answer))
    go_on(page, "Finish", "Save my design")
    expect(page.locator(".il-hud")).to_contain_text(re.compile(r"saved \d\d:\d\d"))
    asked = [question(slug, act).option(choice).value for act, choice in (("act1", first_choice), ("act2", second_choice))]
    assert [each["value"] for each in payloads(shared_ledger, "prediction")] == asked
    assert [each["experiment"] for each in payloads(shared_ledger, "measured")] == ([walk.experiment] if walk.experiment else [])
    (design,) = payloads(shared_ledger, "design")
    assert walk.saved(design), design

    as_on_a_phone(page)
    expect_short(page)
    unfold(page)
    walk.controls(page, first, second)
    expect_readable(page)


@pytest.mark.parametrize("slug", SLUGS)
def test_by_keyboard_alone(beginner: str, page: Page, slug: str) -> None:
    page.goto(f"{beginner}/lab/{slug}/")
    for act in ("act1", "act2"):
        commit_by_keyboard(page, first_label(slug, act))
        shown = instrument(page, act)
        expect(page.locator(f"#{act}-instrument")).to_be_focused()  # the next place, so that Tab goes on from there
        for _, kind, name, key in (each for each in KEYS.get(slug, ()) if each[0] == act):
            tab_to(page, kind, name, most=160)
            changes(page, shown, lambda key=key: page.keyboard.press(key))
        if act == "act1":
            press_on(page, "See what was measured", "Reflect on it")
            expect(page.locator("#act1-reflect")).to_be_focused()
            tab_to(page, "radio", first_label(slug, "act1_reflection"))
            page.keyboard.press("ArrowDown")
            tab_to(page, "button", "Answer")
            page.keyboard.press("Enter")
            press_on(page, "Go on to Act II")
