"""Files that are written: whole or not at all, never over an input, never over anything but a regular file.

target = output("report.html", "the report", inputs=["model.py"])      before the work: a bad place is refused at once
replace_text(target, text)                                             after it
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ironlaw.errors import BadValue

HALF = ".part"  # how the name of a temporary file ends
HEAD = 512  # bytes that say what kind of file it is
KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)
Place = str | os.PathLike[str]


def output(place: Place, what: str, inputs: Iterable[Place] = (), accepts: Callable[[bytes], bool] | None = None) -> Path:
    """Where `what` is to be written: the file behind any links. BadValue if it may not be written there.

    `accepts` judges an existing file by its first bytes: a report replaces a report, and nothing else. An empty file may always go.
    """
    target = regular(place, what)
    for source in inputs:
        if _same(target, source):
            raise BadValue(f"{what} would be written over {source}, which is read here; give another file")
    if accepts is not None and target.exists():
        with target.open("rb") as file:
            head = file.read(HEAD)
        if head and not accepts(head):
            raise BadValue(
                f"{place} already exists and is something else, so {what} was not written over it; give another name, or move the file away"
            )
    return target


def regular(place: Place, what: str = "this") -> Path:
    """The file behind any links, which need not exist yet. BadValue for a folder, a device, a pipe or a socket."""
    try:
        target = Path(os.path.realpath(place))
        mode = target.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return target
    except ValueError as error:
        raise BadValue(f"{os.fspath(place)!r} is not a valid name for a file ({error}); give another") from None
    for is_kind, name in KINDS:
        if is_kind(mode):
            hint = f", such as {Path(place) / 'FILE'}" if name == "a folder" else ""
            raise BadValue(f"{os.fspath(place) or '.'} is {name}; {what} goes into a regular file: name one{hint}")
    return target


def read_toml(place: Place, what: str, start: str) -> dict[str, Any]:
    """The tables of a file that a user wrote. `what` it is, and how to `start` one, for whoever named a file that is not there."""
    path = Path(place)
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except IsADirectoryError:
        raise BadValue(f"{path} is a folder; name a TOML file with {what}") from None
    except (FileNotFoundError, NotADirectoryError):
        raise BadValue(f"there is no file {path}; {start}") from None
    except RecursionError:
        raise BadValue(f"{path.name}: its lists or tables are nested too deeply; write them flat") from None
    except ValueError as error:  # TOML, UTF-8, or a name that can't be one
        raise BadValue(f"{path.name}: {error}; fix the TOML there") from None


def replace_text(place: Place, text: str, private: bool = False) -> Path:
    """`text` at `place`, as `replace_bytes` writes."""
    return replace_bytes(place, text.encode("utf-8", "replace"), private)


def replace_bytes(place: Place, content: bytes | memoryview, private: bool = False) -> Path:
    """`content` at `place`, the whole file or none of it: written to a temporary file next to it, flushed to disk, then renamed over it.

    A link stays a link. A file that exists keeps its permissions; a new one gets the usual ones, or the owner's alone if `private`.
    """
    target = regular(place)
    if not target.parent.is_dir():
        raise BadValue(f"there is no folder {target.parent} to write {target.name} into; create it, or name another file")
    half = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}{HALF}")
    try:
        with open(half, "xb", opener=_private if private else None) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if not private and target.exists():
            shutil.copymode(target, half)
        os.replace(half, target)
    except BaseException:  # Ctrl-C too
        half.unlink(missing_ok=True)
        raise
    return Path(place)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _same(target: Path, source: Place) -> bool:
    try:
        return target.samefile(source)
    except (OSError, ValueError):  # one of them does not exist, so compare their names
        return target == Path(os.path.realpath(source))
