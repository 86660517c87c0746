"""A stalled browser is told from a slow page and from one that hangs."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page
from stalls import SECONDS, stalled

NO_FRAMES = "requestAnimationFrame = () => 0"


@pytest.fixture
def blank(chromium: Browser) -> Iterator[Page]:
    with chromium.new_context() as context:
        yield context.new_page()


def test_a_page_that_is_drawn_is_not_stalled(blank: Page) -> None:
    assert not stalled(blank, SECONDS)


def test_a_page_without_frames_is_stalled(blank: Page) -> None:
    blank.evaluate(NO_FRAMES)
    assert stalled(blank, 0.3)


def test_a_page_that_is_busy_or_does_not_answer_is_not(blank: Page) -> None:
    busy = "setTimeout(() => { const end = Date.now() + 2000; while (Date.now() < end); }, 50)"
    blank.evaluate(busy)
    assert not stalled(blank, 1.0)
    blank.evaluate(f"{busy}; {NO_FRAMES}")
    assert not stalled(blank, 0.5, answer=200)
