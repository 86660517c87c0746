"""The lab of a test's own file (`SLUG`) locked, half-way, revealed and complete; `SAID` is what is answered on the way."""

import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
import quick_commits  # noqa: F401
from headless import Page, Stages
from ledger_at_hand import open_ledger

from ironlaw import kit
from ironlaw.kit import background
from ironlaw.kit.lab import folder
from ironlaw.kit.lab_check import complete as answer_everything
from ironlaw.kit.page import Page as PlainPage
from ironlaw.kit.page_host import using

background.allowed.clear()  # a test builds what it asks for


@pytest.fixture(scope="session")
def completed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Path], Path]:
    """(slug, folder) -> a ledger there of somebody who was right throughout that lab. Each is played once."""

    @cache
    def ledger_of(slug: str) -> Path:
        path = tmp_path_factory.mktemp(slug) / "ledger.db"
        with open_ledger(path) as ledger, using(PlainPage(folder(slug), ledger)):
            answer_everything(kit.open(slug))
        return path

    return lambda slug, folder: Path(shutil.copy(ledger_of(slug), folder / "ledger.db"))


def end(page: Page) -> None:
    page.reflect("act2", page.said["act2_reflection"])
    page.reload().save()


@pytest.fixture(scope="module")
def stages(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Stages:
    module = request.module
    steps: list[Callable[[Page], object]] = [Page.first_act, Page.second_lock, getattr(module, "end", end)]
    return Stages(tmp_path_factory.mktemp("stages"), module.SLUG, *steps, said=module.SAID)


@pytest.fixture
def page(stages, tmp_path) -> Iterator[Page]:
    with stages.page(0, tmp_path) as page:
        yield page


@pytest.fixture
def half(stages, tmp_path) -> Iterator[Page]:
    """Act I done, Act II open."""
    with stages.page(1, tmp_path) as page:
        yield page


@pytest.fixture
def revealed(stages, tmp_path) -> Iterator[Page]:
    """Act II's prediction is committed as well."""
    with stages.page(2, tmp_path) as page:
        yield page


@pytest.fixture
def complete(stages, tmp_path) -> Iterator[Page]:
    with stages.page(3, tmp_path) as page:
        yield page


@pytest.fixture(scope="module")
def one_for_all(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """With what the file's own `before` puts into its ledger first."""
    module = request.module
    with open_ledger(tmp_path_factory.mktemp("shared") / "ledger.db") as ledger:
        getattr(module, "before", lambda ledger: None)(ledger)
        yield Page(ledger, module.SLUG, module.SAID).first_act().second_lock()


@pytest.fixture
def bench(one_for_all: Page) -> Page:
    """The revealed lab with every dial at its start, for tests that only turn dials."""
    return one_for_all.to_start()
