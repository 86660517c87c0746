"""Lab V2-17 as a learner does it: by mouse with all the help, on a phone at night, and by keyboard alone."""

from collections.abc import Iterator

import pytest
from lab_steps import changes, watched
from lab_walk import Walk, banner, hud, walk_by_keyboard, walk_by_mouse
from playwright.sync_api import Locator, Page, expect

from ironlaw.kit.hint import RUNGS
from ironlaw.ledger import Ledger

SLUG = "lab_v2_17_synthesis"


@pytest.fixture
def page(page: Page) -> Iterator[Page]:
    with watched(page):
        yield page


def the_record(page: Page, first: Locator) -> None:
    expect(page.locator("#act1-reveal")).to_contain_text("25")
    expect(first.locator('[data-figure="calibration"] .il-drawing')).to_be_visible()
    level = first.locator('[data-dial="level"] select')
    level.select_option(label="5 (95%)")
    expect(hud(page)).to_contain_text("0 of 0")


def the_system(page: Page, second: Locator) -> None:
    expect(banner(second)).to_contain_text("limits are broken")
    expect(hud(page)).to_contain_text("does not meet the goal yet")
    for rung in RUNGS:
        page.get_by_role("button", name=rung).click()
    page.get_by_role("button", name="Set these dials").click()
    expect(hud(page)).to_contain_text("meets the goal")
    expect(banner(second)).to_contain_text("All limits hold")
    menu(second, "Chunks per stage", "4")
    expect(banner(second)).to_contain_text("The layout doesn't divide")
    menu(second, "Chunks per stage", "1")
    expect(banner(second)).to_contain_text("All limits hold")


def menu(where: Locator, name: str, label: str) -> None:
    where.get_by_label(name, exact=True).select_option(label=label)


def system_controls(page: Page, first: Locator, second: Locator) -> None:
    changes(page, second, lambda: menu(second, "Data hall", "Old hall"))
    for tab, drawn in (("Waterfall", "waterfall"), ("Levers", "tornado"), ("Limits", "margins")):
        second.get_by_role("tab", name=tab).click()
        expect(second.locator(f'[data-figure="{drawn}"] .il-drawing')).to_be_visible()


WALK = Walk(
    ("Brier score", "72.7"), ("half", "theme", "nics", "seven"), "", the_record, the_system,
    lambda d: (d["virtual"], d["budget"], d["spares"], d["retries"], d["limits_broken"], d["hints"]) == (1, 512, 1, 1, [], 3)
    and (d["act1_correct"], d["act2_correct"]) == (False, False) and d["predictions"] == 0 and d["days"] < 60,
    system_controls,
)  # fmt: skip


def test_the_whole_lab_by_mouse_and_how_it_reads(beginner: str, shared_ledger: Ledger, page: Page) -> None:
    walk_by_mouse(page, beginner, shared_ledger, SLUG, WALK)


def test_by_keyboard_alone(beginner: str, page: Page) -> None:
    walk_by_keyboard(page, beginner, SLUG)
