"""What every test gets: a home of its own, so that no test reads or writes the user's things."""

import pytest


@pytest.fixture(autouse=True)
def ironlaw_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch):
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("IRONLAW_HOME", str(home))
    return home
