"""Lab 01 locked, half-way, revealed and complete."""

import pytest
from headless import SLUG, Page, Stages

from ironlaw.labs.lab_01_magnitude import models
from ironlaw.labs.lab_v2_17_synthesis import warming
from ironlaw.ledger import open_ledger

for one in (models, warming):
    one._warm.acquire(blocking=False)  # nothing in the background: a test builds what it asks for


def first_act(page: Page) -> Page:
    page.predict("act1", "e9", 4)
    page.reload()
    page.reflect("act1", "stacks")
    return page.reload()


def second_lock(page: Page) -> Page:
    page.predict("act2", "memory", 2)
    return page.reload()


def end(page: Page) -> None:
    page.reflect("act2", "memory")
    page.reload().save()


@pytest.fixture(scope="session")
def stages(tmp_path_factory):
    return Stages(tmp_path_factory.mktemp("stages"), SLUG, first_act, second_lock, end)


@pytest.fixture
def page(stages, tmp_path):
    with stages.page(0, tmp_path) as page:
        yield page


@pytest.fixture
def half(stages, tmp_path):
    """Act I done, Act II open."""
    with stages.page(1, tmp_path) as page:
        yield page


@pytest.fixture
def revealed(stages, tmp_path):
    """Act II's prediction is committed as well."""
    with stages.page(2, tmp_path) as page:
        yield page


@pytest.fixture
def complete(stages, tmp_path):
    with stages.page(3, tmp_path) as page:
        yield page


@pytest.fixture(scope="module")
def one_for_all(tmp_path_factory):
    with open_ledger(tmp_path_factory.mktemp("shared") / "ledger.db") as ledger:
        yield second_lock(first_act(Page(ledger)))


@pytest.fixture
def bench(one_for_all):
    """The revealed lab with every dial at its start, for tests that only turn dials: nothing they do reaches the ledger."""
    before = one_for_all.ledger.events()
    for act in ("act1", "act2"):
        one_for_all.turn(act, **{dial["id"]: dial["value"] for dial in one_for_all.piece(f"{act}.instrument").spec["dials"]})
    yield one_for_all
    assert one_for_all.ledger.events() == before
