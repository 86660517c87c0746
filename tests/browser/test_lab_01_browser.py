"""Lab 01 as a learner does it: by mouse with a cancelled experiment and a reload, on a phone at night, control by control."""

import re
from collections.abc import Iterator

import pytest
from lab_steps import (
    answer,
    cancel,
    changes,
    choose_context,
    commit,
    expect_measured,
    expect_readable,
    go_on,
    label,
    measure,
    open_in_the_dark,
    payloads,
    to_reflection,
    unfold,
    watched,
)
from playwright.sync_api import Page, expect

from ironlaw.ledger import Ledger

SLUG = "lab_01_magnitude"

LAB = "/lab/lab_01_magnitude/"
FIELDS = {
    "context", "act1_prediction", "act1_correct", "act2_prediction", "act2_correct", "act2_bottleneck", "constraint_hit",
    "oom_triggered", "confidences",
}  # fmt: skip


@pytest.fixture
def page(page: Page) -> Iterator[Page]:
    """The page of conftest, with patience, and a test that fails on anything the console complains of."""
    with watched(page):
        yield page


def act_one(page: Page) -> None:
    commit(page, "10⁴", "fairly sure")
    to_reflection(page)
    answer(page, "Tuning one stack.")
    go_on(page, "Go on to Act II")


def test_the_whole_lab_by_mouse(beginner: str, shared_ledger: Ledger, page: Page) -> None:
    page.goto(beginner + LAB)
    expect(page.get_by_role("button", name="Commit my prediction")).to_be_disabled()
    before = page.locator("body").inner_text()
    for sealed in ("989", "3.35 TB/s", "512 KiB", "80 GiB", "700 W", "163,840"):
        assert sealed not in before, f"{sealed} is on the page before the first prediction"
    expect(page.locator("svg[role=img]")).to_have_count(0)
    commit(page, "10⁴", "fairly sure")
    expect(page.get_by_text("989,000").first).to_be_visible()
    expect(page.get_by_text(re.compile("too low by a factor of 98.9"))).to_be_visible()
    expect(page.get_by_role("button", name="9.89 times 10 to the power of 5")).to_be_visible()  # as a screen reader hears the card
    expect(page.get_by_role("radio", name="10 to the power of 4")).to_be_checked()
    expect(page.locator(".il-lock").first.get_by_role("radio").first).to_be_disabled()
    expect(page.get_by_text("Opens at the end of Act I.")).to_be_visible()
    for later in ("#act1-claims", "#act1-reflect", "#act1-peek"):
        expect(page.locator(later)).to_have_count(0)  # one place after the other
    to_reflection(page)
    answer(page, "Tuning one stack.")
    go_on(page, "Go on to Act II")
    commit(page, "Memory, moving data, D/BW", "4 sure")
    instrument = page.locator("#act2-instrument .il-instrument")
    expect(instrument.get_by_text(re.compile("bottleneck")).first).to_be_visible()
    instrument.locator(".il-dials").get_by_text("kernel by kernel", exact=True).click()
    go_on(page, "Walk a byte", "See what was measured")
    cancel(page, "act2", "tiny_ops")
    measure(page, "act2", "tiny_ops")
    expect(instrument.get_by_text("L at this host's cost").first).to_be_visible()  # drawn at once
    page.reload()
    expect_measured(page, "act2", "tiny_ops")
    expect(instrument.get_by_text("L at this host's cost").first).to_be_visible()
    instrument.get_by_label("Device").select_option(label="Tiny: Cortex-M7 MCU")
    instrument.locator(".il-dials").get_by_text("FP32", exact=True).click()
    instrument.get_by_role("tab", name="Memory").click()
    expect(instrument.get_by_text("It does not fit").first).to_be_visible()
    expect(page.locator(".il-hud")).to_contain_text("OOM")
    go_on(page, "Check yourself")
    answer(page, label(SLUG, "act2_reflection", "memory"))
    go_on(page, "Finish")
    assert payloads(shared_ledger, "design") == []  # nothing is written until the learner says so
    go_on(page, "Save my design")
    expect(page.locator(".il-hud")).to_contain_text(re.compile(r"saved \d\d:\d\d"))
    expect(page.get_by_role("link", name="Next: Lab 07")).to_be_visible()
    expect(page.locator(".il-receipt-table")).to_contain_text("989,000")
    assert [each["value"] for each in payloads(shared_ledger, "prediction")] == [10**4, "memory"]
    assert [each["experiment"] for each in payloads(shared_ledger, "measured")] == ["tiny_ops"]  # what was cancelled is not there
    design = payloads(shared_ledger, "design")[-1]
    assert set(design) >= FIELDS
    assert design["act1_correct"] is False
    assert design["act2_correct"] is True
    assert design["oom_triggered"] is True


def test_it_can_be_read_everywhere_and_every_control_changes_something(beginner: str, page: Page) -> None:
    open_in_the_dark(page, beginner + LAB)
    unfold(page)
    act_one(page)
    commit(page, "Memory, moving data, D/BW", "4 sure")
    first, instrument = page.locator(".il-instrument").first, page.locator("#act2-instrument .il-instrument")
    binding = instrument.get_by_text(re.compile("bottleneck")).first
    expect(binding).to_be_visible()
    expect_readable(page)
    changes(page, instrument, lambda: instrument.get_by_label("Model").select_option(index=1))
    changes(page, instrument, lambda: instrument.get_by_label("Device").select_option(index=1))
    changes(page, instrument, lambda: (instrument.get_by_role("spinbutton", name="Batch").fill("32"), page.keyboard.press("Enter")))
    for option in ("INT8", "every op's tensors", "fused graph", "kernel by kernel"):
        changes(page, instrument, lambda option=option: instrument.locator(".il-dials").get_by_text(option, exact=True).click())
    changes(page, first, lambda: choose_context(page, "Tiny"))
    expect(page.locator(".il-hud")).to_contain_text("Cortex-M7")
