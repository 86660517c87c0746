"""Lab 01 as a learner does it: by mouse, by keyboard alone, through reloads and a killed server."""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from lab_steps import (
    answer,
    changes,
    commit,
    commit_by_keyboard,
    expect_measured,
    expect_readable,
    label,
    measure,
    open_in_the_dark,
    payloads,
    tab_to,
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
    answer(page, "Each regime needs a software stack of its own.")


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
    expect(page.locator(".il-lock").first.get_by_role("radio").first).to_be_disabled()
    expect(page.get_by_text("Opens when you have answered Act I's reflection.")).to_be_visible()
    answer(page, "Each regime needs a software stack of its own.")
    commit(page, "Memory, moving the data, D/BW", "4 sure")
    instrument = page.locator("#act2-instrument .il-instrument")
    expect(instrument.get_by_text(re.compile("binds")).first).to_be_visible()
    instrument.locator(".il-dials").get_by_text("kernel by kernel", exact=True).click()
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
    answer(page, label(SLUG, "act2_reflection", "memory"))
    expect(page.locator(".il-hud")).to_contain_text(re.compile("saved|kept|holds", re.IGNORECASE))
    assert [each["value"] for each in payloads(shared_ledger, "prediction")] == [10**4, "memory"]
    assert [each["experiment"] for each in payloads(shared_ledger, "measured")] == ["tiny_ops"]  # what was cancelled is not there
    design = payloads(shared_ledger, "design")[-1]
    assert set(design) >= FIELDS
    assert design["act1_correct"] is False
    assert design["act2_correct"] is True
    assert design["oom_triggered"] is True


def test_by_keyboard_alone(beginner: str, page: Page) -> None:
    page.goto(beginner + LAB)
    commit_by_keyboard(page, "10²")
    expect(page.get_by_text("989,000").first).to_be_visible()
    tab_to(page, "radio", "Faster algorithms")
    page.keyboard.press("ArrowDown")
    tab_to(page, "button", "Answer")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Commit my prediction")).to_be_visible()


def test_a_reload_and_a_killed_server_bring_the_learner_back(labs, page: Page) -> None:
    with labs() as (url, server):
        port = urlsplit(url).port
        page.goto(url + LAB)
        act_one(page)
        commit(page, "Memory, moving the data, D/BW", "4 sure")
        instrument = page.locator("#act2-instrument .il-instrument")
        batch = instrument.get_by_role("spinbutton", name="Batch")
        batch.fill("64")
        batch.press("Enter")
        expect(batch).to_have_value("64")
        page.reload()
        expect(page.locator(".il-lock").nth(1).get_by_text("Committed")).to_be_visible()
        expect(page.locator(".il-lock").first.get_by_role("radio").first).to_be_disabled()
        expect(page.locator("#act2-instrument .il-instrument").get_by_role("spinbutton", name="Batch")).to_have_value("64")
        server.kill()
        server.wait()
    with labs(port) as (again, _):
        assert urlsplit(again).port == port
        page.goto(again + LAB)
        expect(page.locator(".il-lock").nth(1).get_by_text("Committed")).to_be_visible()
        expect(page.locator("#act2-instrument .il-instrument").get_by_role("spinbutton", name="Batch")).to_have_value("64")


def test_it_can_be_read_everywhere_and_every_control_changes_something(beginner: str, page: Page) -> None:
    open_in_the_dark(page, beginner + LAB)
    act_one(page)
    commit(page, "Memory, moving the data, D/BW", "4 sure")
    first, instrument = page.locator(".il-instrument").first, page.locator("#act2-instrument .il-instrument")
    binding = instrument.get_by_text(re.compile("binds")).first
    expect(binding).to_be_visible()
    expect_readable(page)
    changes(page, instrument, lambda: instrument.get_by_label("Model").select_option(index=1))
    changes(page, instrument, lambda: instrument.get_by_label("Device").select_option(index=1))
    changes(page, instrument, lambda: (instrument.get_by_role("spinbutton", name="Batch").fill("32"), page.keyboard.press("Enter")))
    for option in ("INT8", "every op's tensors", "fused graph", "kernel by kernel"):
        changes(page, instrument, lambda option=option: instrument.locator(".il-dials").get_by_text(option, exact=True).click())
    changes(page, first, page.get_by_text("Tiny", exact=True).first.click)
    expect(page.locator(".il-hud")).to_contain_text("Cortex-M7")
