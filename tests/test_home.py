"""Where the user's data is kept, on each platform; and that data in a former place is moved or used, and never lost."""

import errno
import os
import sys
from pathlib import Path

import platformdirs
import pytest
from platformdirs.macos import MacOS
from platformdirs.unix import Unix
from platformdirs.windows import Windows

from ironlaw import home
from ironlaw.errors import IronlawError

CLASSES = {"linux": Unix, "darwin": MacOS, "win32": Windows}


@pytest.fixture(autouse=True)
def user(monkeypatch, tmp_path) -> Path:
    """A user without data, and nothing remembered from before."""
    for name in ("IRONLAW_HOME", "XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(home, "_resolved", {})
    return tmp_path


@pytest.fixture
def on(monkeypatch):
    """Play another platform: what Python says it is, and platformdirs' class for it."""

    def play(platform: str) -> None:
        monkeypatch.setattr(sys, "platform", platform)
        monkeypatch.setattr(platformdirs, "PlatformDirs", CLASSES[platform])
        local = "~/AppData/Local"
        monkeypatch.setattr("platformdirs.windows.get_win_folder", lambda name: os.environ.get("LOCALAPPDATA") or os.path.expanduser(local))

    return play


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
        ("darwin", ("XDG_DATA_HOME", "/data"), "/data/ironlaw"),
        ("win32", None, "~/AppData/Local/ironlaw"),
        ("win32", ("LOCALAPPDATA", "/profile"), "/profile/ironlaw"),
    ],
)
def test_the_platform_s_folder(on, monkeypatch, capsys, platform, variable, place):
    on(platform)
    if variable:
        monkeypatch.setenv(*variable)
    assert home.folder() == Path(place).expanduser()
    assert not home.folder().exists() and capsys.readouterr().err == ""  # asking creates nothing and says nothing


def test_a_home_sign_is_expanded(monkeypatch):
    monkeypatch.setenv("IRONLAW_HOME", "~/iron")
    assert home.folder() == Path.home() / "iron"


def test_a_bare_checkout_needs_no_platformdirs(on, monkeypatch, user):
    on("linux")
    monkeypatch.setitem(sys.modules, "platformdirs", None)  # an import of it fails
    assert home.folder() == user / ".local" / "share" / "ironlaw"


# ---- data in a former place


@pytest.fixture(params=["darwin", "win32"])
def former(request, on, monkeypatch, user) -> tuple[Path, Path]:
    """The former folder with a ledger in it, and the one that platformdirs names: where the two differ."""
    on(request.param)
    if request.param == "darwin":  # a Mac on which XDG_DATA_HOME is set
        monkeypatch.setenv("XDG_DATA_HOME", str(user / "xdg"))
        old, new = user / "Library" / "Application Support" / "ironlaw", user / "xdg" / "ironlaw"
    else:  # a Windows whose LOCALAPPDATA was changed; the system's own answer is another
        monkeypatch.setenv("LOCALAPPDATA", str(user / "elsewhere"))
        monkeypatch.setattr("platformdirs.windows.get_win_folder", lambda name: str(user / "AppData" / "Local"))
        old, new = user / "elsewhere" / "ironlaw", user / "AppData" / "Local" / "ironlaw"
    (old / "evidence").mkdir(parents=True)
    (old / "ledger.db").write_bytes(b"all my predictions")
    (old / "evidence" / "machine.json").write_text("{}")
    return old, new


def contents(place: Path) -> dict[str, bytes]:
    return {str(file.relative_to(place)): file.read_bytes() for file in place.rglob("*") if file.is_file()}


def test_it_is_moved_whole_and_once(former, capsys):
    old, new = former
    before = contents(old)
    assert home.folder() == new
    assert contents(new) == before and not old.exists()
    assert capsys.readouterr().err == f"ironlaw: moved your data from {old} to {new}\n"
    assert home.path("ledger.db").read_bytes() == b"all my predictions"
    assert capsys.readouterr().err == ""


def test_an_empty_new_folder_is_no_obstacle(former):
    old, new = former
    new.mkdir(parents=True)
    assert home.folder() == new and (new / "ledger.db").exists() and not old.exists()


def test_of_two_the_new_one_wins_and_the_other_is_left(former, capsys):
    old, new = former
    new.mkdir(parents=True)
    (new / "ledger.db").write_bytes(b"newer")
    before = contents(old)
    assert home.folder() == new and contents(new) == {"ledger.db": b"newer"} and contents(old) == before
    message = capsys.readouterr().err
    assert str(old) in message and str(new) in message and "left as it is" in message and "IRONLAW_HOME" in message
    home.folder()
    assert capsys.readouterr().err == ""  # once in a process is enough


def test_one_folder_by_two_names_is_nothing_to_speak_of(former, capsys):
    old, new = former
    new.parent.mkdir(parents=True, exist_ok=True)
    new.symlink_to(old)
    assert home.folder() == new and (new / "ledger.db").exists() and (old / "ledger.db").exists()
    assert capsys.readouterr().err == ""


def test_a_move_that_fails_leaves_it_in_use_where_it_is(former, monkeypatch, capsys):
    old, new = former
    before = contents(old)

    def refused(self, target):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "rename", refused)
    assert home.folder() == old and contents(old) == before and not new.exists()
    message = capsys.readouterr().err
    assert "Permission denied" in message and f"still using {old}" in message and "IRONLAW_HOME" in message


def test_a_new_place_that_can_t_be_made_is_a_move_that_fails(former, capsys):
    old, new = former
    new.parent.parent.mkdir(parents=True, exist_ok=True)
    new.parent.write_text("a file where the folder should be")
    assert home.folder() == old and (old / "ledger.db").exists()
    assert f"still using {old}" in capsys.readouterr().err


def across_file_systems(monkeypatch, old: Path) -> None:
    rename = Path.rename

    def other_device(self, target):
        if self == old:
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", other_device)


def test_across_file_systems_it_is_copied_then_renamed(former, monkeypatch):
    old, new = former
    before = contents(old)
    across_file_systems(monkeypatch, old)
    assert home.folder() == new and contents(new) == before and not old.exists()
    assert [place for place in new.parent.iterdir() if place.name.endswith(".part")] == []


def test_a_copy_that_breaks_off_costs_nothing(former, monkeypatch, capsys):
    old, new = former
    before = contents(old)
    across_file_systems(monkeypatch, old)

    def full(source, target, **options):
        (Path(target) / "ledger.db").write_bytes(b"all my pre")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("shutil.copytree", full)
    assert home.folder() == old and contents(old) == before and not new.exists()
    assert list(new.parent.iterdir()) == []
    assert "No space left on device" in capsys.readouterr().err


def test_another_process_that_was_quicker(former, monkeypatch, capsys):
    old, new = former

    def quicker(self, target):
        old.replace(new)
        raise FileNotFoundError(errno.ENOENT, "No such file or directory")

    monkeypatch.setattr(Path, "rename", quicker)
    assert home.folder() == new and (new / "ledger.db").exists()
    assert capsys.readouterr().err == ""


def test_the_variable_overrides_and_nothing_is_moved(former, monkeypatch, tmp_path):
    old, new = former
    monkeypatch.setenv("IRONLAW_HOME", str(tmp_path / "mine"))
    assert home.folder() == tmp_path / "mine"
    assert (old / "ledger.db").exists() and not new.exists()


# ---- what can't be used


def test_a_folder_that_can_t_be_created(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("IRONLAW_HOME", str(tmp_path / "file" / "below"))
    with pytest.raises(IronlawError, match="set IRONLAW_HOME to a folder"):
        home.path()


def test_a_folder_that_can_t_be_written(monkeypatch, tmp_path):
    monkeypatch.setenv("IRONLAW_HOME", str(tmp_path))
    monkeypatch.setattr("os.access", lambda *args: False)
    with pytest.raises(IronlawError, match="cannot write"):
        home.path()


def test_no_home_directory(monkeypatch):
    def none(self):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", none)
    with pytest.raises(IronlawError, match="IRONLAW_HOME"):
        home.folder()
