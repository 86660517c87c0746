"""The class report in a real browser, opened from disk: whole on a phone at night; its long list sorts and filters."""

import sys
from pathlib import Path

import pytest
from axe import serious
from lab_steps import fits_across, watched
from playwright.sync_api import Browser, expect

from ironlaw.classroom import collect, count, write

sys.path.append(str(Path(__file__).parent.parent / "classroom"))
from made_class import hand_in


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("class")
    hand_in(folder / "handed-in", 30)
    return write(count(collect(folder / "handed-in")), folder / "report")[0].as_uri()


def test_it_fits_can_be_read_by_everyone_and_asks_for_nothing(chromium: Browser, report: str):
    with chromium.new_context(viewport={"width": 390, "height": 900}, color_scheme="dark") as context:
        asked: list[str] = []
        context.on("request", lambda request: asked.append(request.url))
        with watched(context.new_page()) as page:
            page.goto(report)
            assert fits_across(page) and serious(page) == []
        assert asked == [report]


def test_the_long_list_sorts_and_filters(chromium: Browser, report: str):
    with chromium.new_context() as context, watched(context.new_page()) as page:
        page.goto(report)
        names = page.locator(".people tbody tr:visible th")
        expect(names.first).to_have_text("Learner 000")
        page.get_by_role("button", name="learner", exact=True).click()
        expect(names.first).to_have_text("Learner 029")
        page.get_by_label("Learner", exact=True).fill("02")
        expect(names).to_have_count(11)  # 002 and 020 to 029
        expect(page.get_by_text("11 of 30")).to_be_visible()
