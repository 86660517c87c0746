"""Where a user's things lie: the ledger, the evidence of this machine, settings.

IRONLAW_HOME if it is set; else the folder that the platform keeps for such data:
    Linux      $XDG_DATA_HOME/ironlaw, or ~/.local/share/ironlaw
    macOS      ~/Library/Application Support/ironlaw
    Windows    %LOCALAPPDATA%\\ironlaw
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from ironlaw.errors import BadValue

NEXT = "set IRONLAW_HOME to a folder that you can write to"


def folder() -> Path:
    """The folder's place, whether or not it exists."""
    chosen = os.environ.get("IRONLAW_HOME", "").strip()
    if chosen:
        return _absolute(chosen)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Application Support"
    else:
        base = os.environ.get("XDG_DATA_HOME", "")
        if not os.path.isabs(base):  # the XDG standard has relative paths ignored
            base = "~/.local/share"
    return _absolute(base) / "ironlaw"


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
    """`text` at `path`, the whole file or none of it: written beside its place, forced to the disk, then renamed over it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:  # Ctrl-C too
        Path(name).unlink(missing_ok=True)
        raise
    return path


def _absolute(text: str) -> Path:
    try:
        return Path(text).expanduser().absolute()
    except RuntimeError:  # a "~" where no home directory is known, as in some containers
        raise BadValue(f"no home directory is known to put {text} under; {NEXT}") from None
