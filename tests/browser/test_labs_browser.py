"""Every lab once in a browser, after every other was saved on an odd design: it opens locked, a commit opens the instrument, a dial turns
it, a design is saved, a receipt is there, and it can be read on a phone at night. Three labs are walked through in files of their own, the
others before a release."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe import serious
from full_ledger import spoil
from lab_steps import (
    SCREEN,
    as_on_a_phone,
    changes,
    commit,
    expect_answered_on_a_phone,
    expect_answered_on_one_screen,
    expect_near_the_top,
    expect_short,
    first_label,
    fits_across,
    go_on,
    instrument,
    open_in_the_dark,
    settle,
    unfold,
    watched,
)
from lab_walk import KEYS, walk_by_keyboard
from playwright.sync_api import Page, expect

from ironlaw import kit
from ironlaw.kit.lab import LABS, Lab
from ironlaw.kit.lab_check import complete
from ironlaw.ledger import Ledger

WALKED = ("lab_01_magnitude", "lab_11_roofline", "lab_v2_17_synthesis")
SLUGS = sorted({path.parent.name for path in LABS.glob("lab_*/lab.py")} - {*WALKED})
ROLES = {"range": "slider", "radio": "radio", "select": "combobox"}


@pytest.fixture
def page(page: Page) -> Iterator[Page]:
    with watched(page):
        yield page


def answer_first_act(lab: Lab) -> None:
    """Without a browser: the learner stands before the second lock."""
    for name in ("act1", "act1_reflection"):
        question = lab.question(name)
        if question.kind == "prediction":
            lab.ledger.commit_prediction(lab.slug, name, question.right.id, question.right.value, 3, True, 1)
        else:
            lab.ledger.append(lab.slug, "reflection", {"question": name, "choice": question.right.id, "correct": True})
    before = lab.places[lab.progress.index("act2.lock") - 1]
    lab.ledger.append(lab.slug, "step", {"step": before.name})


@pytest.mark.parametrize("slug", SLUGS)
def test_it_opens_is_committed_to_saved_and_turned_and_can_be_read(
    beginner: str, shared_home: Path, shared_ledger: Ledger, page: Page, monkeypatch: pytest.MonkeyPatch, slug: str
) -> None:
    monkeypatch.setenv("IRONLAW_HOME", str(shared_home))
    lab = kit.open(slug, shared_ledger)
    answer_first_act(lab)
    spoil(shared_ledger, slug)
    open_in_the_dark(page, f"{beginner}/lab/{slug}/")
    expect_short(page)
    expect_near_the_top(page)
    as_on_a_phone(page)
    unfold(page)
    instrument(page, "act1")
    expect(page.locator("#act2-instrument svg[role=img]")).to_have_count(0)
    page.set_viewport_size(SCREEN)
    commit(page, first_label(slug, "act2"), "4 sure")
    expect_answered_on_one_screen(page, "act2")
    expect_answered_on_a_phone(page, "act2")
    expect(page.locator("#act2-reveal")).to_be_visible()
    complete(lab)  # as if in another window
    page.locator(".il-next button").last.click()
    instrument(page, "act2")
    go_on(page, "Save my design")
    expect(page.locator(".il-hud")).to_contain_text(re.compile(r"saved \d\d:\d\d"))
    expect(page.locator(".il-receipt-table").first).to_be_visible()
    assert len(shared_ledger.events(slug, "design")) == 1
    act, kind, name, key = KEYS[slug][0]
    turned = instrument(page, act)
    dial = turned.locator(".il-dials").get_by_role(ROLES[kind], name=re.compile(f"^{re.escape(name)}"))
    changes(page, turned, lambda: dial.first.press(key))
    settle(page)
    assert fits_across(page)
    assert serious(page) == []


@pytest.mark.parametrize("slug", WALKED[:2])
def test_by_keyboard_alone(beginner: str, page: Page, slug: str) -> None:
    walk_by_keyboard(page, beginner, slug)
