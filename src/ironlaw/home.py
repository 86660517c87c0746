"""Where a user's data is kept: the ledger, the evidence of this machine, settings.

IRONLAW_HOME if it is set; else the folder that platformdirs names for such data, usually
    Linux      $XDG_DATA_HOME/ironlaw, or ~/.local/share/ironlaw
    macOS      ~/Library/Application Support/ironlaw (or under $XDG_DATA_HOME, if that is set)
    Windows    %LOCALAPPDATA%\\ironlaw
Earlier versions worked the folder out themselves and could arrive at another one. What they left there is moved once, as a whole;
where it can't be moved it is used where it is.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
from pathlib import Path

from ironlaw import files
from ironlaw.errors import BadValue

APP = "ironlaw"
NEXT = "set IRONLAW_HOME to a folder that you can write to"
_resolved: dict[tuple[Path, Path], Path] = {}  # (platform's folder, former folder) -> the one in use, decided once per process


def folder() -> Path:
    """The folder's place, whether or not it exists."""
    chosen = os.environ.get("IRONLAW_HOME", "").strip()
    if chosen:
        return _absolute(chosen)
    places = _platform_folder(), _former_folder()
    if places not in _resolved:
        _resolved[places] = _settle(*places)
    return _resolved[places]


def path(*parts: str) -> Path:
    """The folder, created if need be, or a file's place in it: `path("ledger.sqlite")`."""
    home = folder()
    place = home.joinpath(*parts)
    directory = place.parent if parts else home
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadValue(f"cannot create {directory} for ironlaw's data ({error.strerror}); {NEXT}") from None
    if not os.access(directory, os.W_OK | os.X_OK):
        raise BadValue(f"cannot write to {directory}, where ironlaw keeps its data; {NEXT}")
    return place


def replace_text(path: Path, text: str) -> Path:
    """`text` at `path`, whole or not at all, for the owner alone; its folder is created if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return files.replace_text(path, text, private=True)


def _absolute(text: str) -> Path:
    try:
        return Path(text).expanduser().absolute()
    except RuntimeError:  # a "~" where no home directory is known, as in some containers
        raise BadValue(f"cannot expand {text}, since no home directory is known; {NEXT}") from None


def _platform_folder() -> Path:
    try:
        import platformdirs
    except ImportError:  # a bare checkout on a locked-down machine, where `ironlaw measure` must still run
        return _former_folder()
    return _absolute(platformdirs.PlatformDirs(APP, appauthor=False).user_data_dir)


def _former_folder() -> Path:
    """The folder as versions before platformdirs worked it out."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Application Support"
    else:
        base = os.environ.get("XDG_DATA_HOME", "")
        if not os.path.isabs(base):  # the XDG standard ignores relative paths
            base = "~/.local/share"
    return _absolute(base) / APP


def _settle(new: Path, former: Path) -> Path:
    """The folder to use. The contents of the former one are moved, unless the new one has contents already."""
    if new == former or not _holds_something(former):
        return new
    if _holds_something(new):
        if not _same(new, former):
            _notice(
                f"data in both {new} and {former}; using the first. The second is left as it is: move it away, or set IRONLAW_HOME to it"
            )
        return new
    try:
        _move(former, new)
    except OSError as error:
        if _holds_something(new):  # another process was quicker
            return new
        _notice(f"cannot move {former} to {new} ({error.strerror or error}); still using {former}. Move it yourself, or set IRONLAW_HOME")
        return former
    _notice(f"moved your data from {former} to {new}")
    return new


def _move(old: Path, new: Path) -> None:
    """All of it or nothing: a rename, or across file systems a complete copy that is renamed before the original is removed."""
    new.parent.mkdir(parents=True, exist_ok=True)
    if new.is_dir():
        new.rmdir()  # it is empty, and Windows renames onto nothing that exists
    try:
        old.rename(new)
        return
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
    copy = Path(tempfile.mkdtemp(dir=new.parent, prefix=f".{new.name}.", suffix=".part"))
    try:
        shutil.copytree(old, copy, symlinks=True, dirs_exist_ok=True)
        copy.rename(new)
    except BaseException:
        shutil.rmtree(copy, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _holds_something(place: Path) -> bool:
    try:
        return any(place.iterdir())
    except OSError:
        return False


def _same(a: Path, b: Path) -> bool:
    try:
        return a.samefile(b)
    except OSError:
        return False


def _notice(text: str) -> None:
    if sys.stderr is not None:
        print(f"ironlaw: {text}", file=sys.stderr)
