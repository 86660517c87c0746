"""Contexts, sentences and offers in the browser: each sets what it says, whatever was touched before."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lab_steps import choose_context, instrument, tab_to, unfold, watched
from playwright.sync_api import Locator, Page, expect

from ironlaw import kit
from ironlaw.kit.lab_check import complete
from ironlaw.ledger import Ledger

CHECKPOINT, TAIL = "lab_v2_07_checkpoint", "lab_14_tail"


@pytest.fixture
def page(page: Page) -> Iterator[Page]:
    with watched(page):
        yield page


@pytest.fixture
def open_done(
    page: Page, beginner: str, shared_home: Path, shared_ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], None]:
    """A lab of somebody who has answered everything."""

    def open_lab(slug: str) -> None:
        monkeypatch.setenv("IRONLAW_HOME", str(shared_home))
        complete(kit.open(slug, shared_ledger))
        page.goto(f"{beginner}/lab/{slug}/")
        unfold(page)

    return open_lab


def field(page: Page, act: str, name: str) -> Locator:
    return instrument(page, act).locator(f'[data-dial="{name}"]').get_by_role("spinbutton")


def test_a_context_applies_after_a_dial_was_touched_and_stays_after_a_reload(page: Page, open_done: Callable[[str], None]) -> None:
    open_done(CHECKPOINT)
    expect(field(page, "act2", "gpus")).to_have_value("131,072")  # the question's own case
    field(page, "act2", "far_every").press("ArrowUp")
    choose_context(page, "1,024 GPUs", "act2")
    expect(field(page, "act2", "gpus")).to_have_value("1024")
    page.wait_for_timeout(300)  # what was stored would have been sent by now
    expect(field(page, "act2", "gpus")).to_have_value("1024")
    page.reload()
    unfold(page)
    expect(field(page, "act2", "gpus")).to_have_value("1024")


def test_a_context_is_chosen_by_keyboard_and_so_is_a_dial_that_is_folded_away(page: Page, open_done: Callable[[str], None]) -> None:
    open_done("lab_11_roofline")
    first = page.locator("#act1-instrument")
    expect(first.locator(".il-drawing").first).to_be_visible()
    tab_to(page, "radio", "NVIDIA H100 SXM5")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".il-hud")).to_contain_text("Jetson Orin NX")
    expect(first.get_by_role("radio", name="Jetson Orin NX")).to_be_focused()
    open_done(CHECKPOINT)
    expect(first.locator(".il-drawing").first).to_be_visible()
    fold = first.locator(".il-rest")
    expect(fold).not_to_have_attribute("open", "")
    tab_to(page, "summary", "More dials")
    page.keyboard.press("Enter")
    expect(fold).to_have_attribute("open", "")
    page.keyboard.press("Tab")
    assert fold.evaluate("(fold) => fold.contains(fold.getRootNode().activeElement)")  # the first of them is next


def test_a_sentence_sets_the_whole_state_and_brings_its_picture(page: Page, open_done: Callable[[str], None]) -> None:
    open_done(CHECKPOINT)
    field(page, "act1", "save").fill("7")
    field(page, "act1", "save").press("Enter")
    page.locator("#act1-reveal").get_by_role("button", name="play it").click()
    first = instrument(page, "act1")
    expect(first.get_by_role("tab", name="A day")).to_have_attribute("aria-selected", "true")
    expect(field(page, "act1", "gpus")).to_have_value("16,384")  # Act I is about another context than Act II
    expect(field(page, "act1", "interval")).to_have_value("18.6")
    expect(field(page, "act1", "save")).to_have_value("60")
    expect(page.locator("#act1-instrument .il-piece.il-toggle option:checked")).to_have_text("Llama 3's cluster")


def test_a_design_of_an_earlier_lab_is_a_button(page: Page, open_done: Callable[[str], None], shared_ledger: Ledger) -> None:
    shared_ledger.append("lab_13_line", "design", {"load": 0.1})
    open_done(TAIL)
    second = instrument(page, "act2")
    expect(field(page, "act2", "rho")).to_have_value("70")
    expect(second.get_by_text("70% → 10%")).to_be_visible()
    second.get_by_role("button", name="Start from my Lab 13 server (10% load)").click()
    expect(field(page, "act2", "rho")).to_have_value("10")
