"""The browser of tests/browser, and a hub."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "browser"))
from browser_fixtures import *  # noqa: F403
from running_hub import Hub, running


@pytest.fixture(scope="session")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    with running(tmp_path_factory.mktemp("hub"), {"cy": {"IRONLAW_HUB_IDLE_MINUTES": "0.2"}}) as hub:
        yield hub
