import sys
from pathlib import Path

import pytest

from ironlaw import home
from ironlaw.errors import IronlawError


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    for name in ("IRONLAW_HOME", "XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)


def test_chosen_by_variable_and_created(monkeypatch, tmp_path):
    monkeypatch.setenv("IRONLAW_HOME", str(tmp_path / "a" / "b"))
    assert home.folder() == tmp_path / "a" / "b" and not home.folder().exists()
    assert home.path() == tmp_path / "a" / "b" and home.path().is_dir()
    file = home.path("evidence", "mine.json")
    assert file.parent.is_dir() and not file.exists()


@pytest.mark.parametrize(
    ("platform", "variable", "place"),
    [
        ("linux", None, "~/.local/share/ironlaw"),
        ("linux", ("XDG_DATA_HOME", "/data"), "/data/ironlaw"),
        ("linux", ("XDG_DATA_HOME", "relative"), "~/.local/share/ironlaw"),
        ("darwin", None, "~/Library/Application Support/ironlaw"),
        ("win32", None, "~/AppData/Local/ironlaw"),
        ("win32", ("LOCALAPPDATA", "/profile"), "/profile/ironlaw"),
    ],
)
def test_the_platform_s_folder(monkeypatch, platform, variable, place):
    monkeypatch.setattr(sys, "platform", platform)
    if variable:
        monkeypatch.setenv(*variable)
    assert home.folder() == Path(place).expanduser()


def test_a_home_sign_is_expanded(monkeypatch):
    monkeypatch.setenv("IRONLAW_HOME", "~/iron")
    assert home.folder() == Path.home() / "iron"


def test_what_can_t_be_created_is_told(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("IRONLAW_HOME", str(tmp_path / "file" / "below"))
    with pytest.raises(IronlawError, match="set IRONLAW_HOME to a folder"):
        home.path()


def test_what_can_t_be_written_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("IRONLAW_HOME", str(tmp_path))
    monkeypatch.setattr("os.access", lambda *args: False)
    with pytest.raises(IronlawError, match="cannot write"):
        home.path()


def test_no_home_directory_is_told(monkeypatch):
    def none(self):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", none)
    with pytest.raises(IronlawError, match="IRONLAW_HOME"):
        home.folder()
