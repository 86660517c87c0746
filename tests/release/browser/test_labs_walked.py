"""Every lab as a learner does it, by mouse, on a phone and by keyboard: those that tests/browser opens and commits in, but does not walk
through."""

from collections.abc import Iterator

import pytest
from lab_steps import watched
from lab_walk import KEYS, walk_by_keyboard, walk_by_mouse
from lab_walks import WALKS
from playwright.sync_api import Page

from ironlaw.kit.lab import LABS
from ironlaw.ledger import Ledger

# by mouse or keyboard in files of their own
OWN = {"lab_01_magnitude", "lab_07_fusion", "lab_11_roofline", "lab_v2_17_synthesis"}
SLUGS = sorted({path.parent.name for path in LABS.glob("lab_*/lab.py")} - OWN)


@pytest.fixture
def page(page: Page) -> Iterator[Page]:
    with watched(page):
        yield page


def test_every_lab_has_a_walk_and_a_dial_for_the_keyboard() -> None:
    assert sorted(WALKS) == SLUGS and set(SLUGS) <= set(KEYS)


@pytest.mark.parametrize("slug", WALKS)
def test_the_whole_lab_by_mouse_and_how_it_reads(beginner: str, shared_ledger: Ledger, page: Page, slug: str) -> None:
    walk_by_mouse(page, beginner, shared_ledger, slug, WALKS[slug])


@pytest.mark.parametrize("slug", SLUGS)
def test_by_keyboard_alone(beginner: str, page: Page, slug: str) -> None:
    walk_by_keyboard(page, beginner, slug)
