"""The way in: how near to the top of its page a lab begins, and that a context is chosen in its instrument."""

import pytest
from how_thorough import RELEASE
from lab_steps import as_on_a_phone, choose_context, expect_near_the_top, fits_across, watched
from playwright.sync_api import Page, expect

from ironlaw import kit
from ironlaw.kit.lab import LABS
from ironlaw.kit.lab_check import complete
from ironlaw.ledger import Ledger

SLUGS = sorted(path.parent.name for path in LABS.glob("lab_*/lab.py"))


@pytest.mark.parametrize("slug", SLUGS if RELEASE else ["lab_01_magnitude", "lab_11_roofline", "lab_v2_17_synthesis"])
def test_a_lab_begins_near_the_top(beginner: str, page: Page, slug: str) -> None:
    """As a beginner meets it; the others once their first act is done (test_labs_browser.py)."""
    with watched(page):
        page.goto(f"{beginner}/lab/{slug}/")
        expect(page.locator(".il-rail")).to_be_visible()
        expect_near_the_top(page)
        assert page.locator(".il-toggle :is(input, select)").count() == 0  # nothing to decide before the story


def test_the_context_is_in_the_head_of_each_instrument(beginner: str, shared_ledger: Ledger, page: Page) -> None:
    """By keyboard, by mouse and on a phone, and all of them stand at the same one."""
    complete(kit.open("lab_13_line", shared_ledger))
    with watched(page):
        page.goto(f"{beginner}/lab/lab_13_line/#act1-instrument")
        toggles = page.locator(".il-piece.il-toggle")
        expect(toggles).to_have_count(2)
        choose_context(page, "NVIDIA A100")
        for toggle in toggles.all():
            expect(toggle.get_by_role("radio", name="NVIDIA A100")).to_be_checked()
        toggles.nth(1).get_by_role("radio", name="NVIDIA A100").focus()
        page.keyboard.press("ArrowRight")
        expect(toggles.first.get_by_role("radio", name="Jetson Orin NX")).to_be_checked()
        expect(page.locator(".il-hud")).to_contain_text("Jetson Orin NX")
        as_on_a_phone(page)
        page.reload()
        expect(toggles.first.locator("select")).to_contain_text("NVIDIA H200")
        choose_context(page, "NVIDIA H200")
        expect(page.locator(".il-hud")).to_contain_text("NVIDIA H200")
        assert fits_across(page)


@pytest.mark.parametrize("slug", ["lab_07_fusion", "lab_v2_15_jevons"])
def test_a_menu_of_contexts_hides_nothing(beginner: str, shared_ledger: Ledger, page: Page, slug: str) -> None:
    """Where the names are long it is a menu, on the line of the instrument's title."""
    complete(kit.open(slug, shared_ledger))
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(f"{beginner}/lab/{slug}/#act1-instrument")
    menu = page.locator("#act1-instrument .il-toggle select")
    expect(menu).to_be_visible()
    toggle, under = page.locator("#act1-instrument .il-context").bounding_box(), page.locator("#act1-instrument .il-show").bounding_box()
    right_end = "(e) => (r => (r.selectNodeContents(e), r.getBoundingClientRect().right))(document.createRange())"
    title = page.locator("#act1-instrument .il-title").evaluate(right_end)
    assert toggle["y"] + toggle["height"] <= under["y"] and title < toggle["x"]
