"""The two controls that only Lab 07 has: a curve that is drawn, and a chain that is built. By pointer and by keys."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab_steps import changes, commit, payloads, watched
from playwright.sync_api import Page, expect

from ironlaw import kit
from ironlaw.kit.lab_check import complete
from ironlaw.ledger import Ledger

SLUG = "lab_07_fusion"
LAB = f"/lab/{SLUG}/"


@pytest.fixture
def page(page: Page) -> Iterator[Page]:
    with watched(page):
        yield page


def test_a_curve_is_drawn(beginner: str, shared_ledger: Ledger, page: Page) -> None:
    page.goto(beginner + LAB)
    plot = page.locator(".il-sketch .il-handles")
    expect(plot.get_by_role("slider")).to_have_count(7)
    page.mouse.wheel(0, 1)  # until the learner moves, a page that was just opened holds its place
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    assert box
    page.mouse.move(box["x"] + 0.1 * box["width"], box["y"] + 0.7 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.95 * box["width"], box["y"] + 0.2 * box["height"], steps=25)
    page.mouse.up()
    point = page.get_by_role("slider", name="kernels of 15 µs")
    point.focus()
    for key in ("ArrowUp", "PageUp", "Home", "End"):
        page.keyboard.press(key)
    expect(point).to_have_attribute("aria-valuetext", "100%")
    expect(point).to_be_focused()
    commit(page, "Nine tenths", "fairly sure")
    expect(page.locator("#act1-instrument [data-figure=curve] .il-drawing")).to_be_visible()  # the truth over what was drawn
    drawn = payloads(shared_ledger, "prediction")[0]["sketch"]
    stroke = [share for share in drawn if share != 100]
    assert len(drawn) == 7 and stroke == sorted(stroke) and stroke[-1] - stroke[0] > 30  # as the pointer went


def test_a_chain_is_built(beginner: str, shared_home: Path, shared_ledger: Ledger, page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRONLAW_HOME", str(shared_home))
    complete(kit.open(SLUG, shared_ledger))
    page.goto(beginner + LAB)
    explorer = page.locator("#act2-instrument .il-instrument")
    expect(explorer.locator(".il-drawing").first).to_be_visible()

    def link(name: str, place: str) -> None:
        expect(explorer.get_by_role("button", name=re.compile(f"^{name}, {place}"))).to_be_visible()

    explorer.get_by_role("button", name=re.compile("^LayerNorm, 1 of 3")).press("ArrowDown")
    expect(explorer.get_by_role("button", name=re.compile("^LayerNorm, 2 of 3"))).to_be_focused()
    changes(page, explorer, lambda: page.keyboard.press("Delete"))  # each answer is drawn before the next act, or a drag is lost
    changes(page, explorer, lambda: explorer.get_by_role("button", name="Add GELU").press("Enter"))
    link("GELU", "3 of 3")
    changes(page, explorer, lambda: explorer.get_by_role("button", name="Add softmax").drag_to(explorer.locator(".il-link").first))
    link("softmax", "1 of 4")
    third = explorer.locator(".il-link").nth(2)
    behind = {"x": 20, "y": 27}  # in the lower half of a link: behind it
    changes(page, explorer, lambda: explorer.locator(".il-link").first.drag_to(third, target_position=behind))
    link("softmax", "3 of 4")
