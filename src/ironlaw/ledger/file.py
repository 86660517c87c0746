"""The SQLite file before it is used: inspected without being touched, or created in one step.

Only SQLite opens the file: closing any other descriptor of it would drop the locks of this process's connections.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

from ironlaw.errors import LedgerUnavailable
from ironlaw.ledger import faults, integrity, log
from ironlaw.ledger.place import Place
from ironlaw.ledger.sql_tables import VERSION, learner

PATIENCE = 30.0  # seconds to wait for another writer; a write takes milliseconds
CHECK_UP_TO = 64_000_000  # bytes: a file of this size is checked in about 0.1 s when opened
CHECK_INDEXES_UP_TO = 8_000_000  # bytes: comparing indexes with their table takes longer
STALE = 60.0  # seconds after which a file that was being made has no maker any more: it takes one
COMPANIONS = ("", "-wal", "-shm", "-journal")

T = TypeVar("T")


@dataclass(frozen=True)
class FileInfo:
    """What the file itself says."""

    revision: str
    learner: str | None


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """`mode` is ro or rw; neither creates a file. Transactions are the caller's."""
    return sqlite3.connect(f"{path.as_uri()}?mode={mode}", uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False)


def ensure(place: Place, path: Path, fill: Callable[[Path], None]) -> None:
    """Make sure that the file exists and can be written. `fill` writes a new one."""
    folder = path.parent
    if not folder.is_dir():
        raise LedgerUnavailable(
            f"the folder {folder} of the ledger {path.name} does not exist; create it, or connect its disk,"
            " or name another place in IRONLAW_LEDGER"
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise faults.no_permission(place, f"no permission to write to the folder {folder}")
    _sweep(path)
    if not path.exists():
        written = log.path_of(path)
        if written.exists() and written.stat().st_size:
            raise faults.damaged(place, f"the file is missing, but {written.name} is there")
        _create(place, path, fill)
    if not path.is_file():
        raise faults.not_a_ledger(place, "it is not a file")
    if not os.access(path, os.R_OK | os.W_OK):
        raise faults.no_permission(place, "no permission to read and write the file")


def temporary(path: Path, ending: str) -> Path:
    """An empty file of our own beside it, which nobody else can read."""
    fresh = path.with_name(f".{path.name}.{uuid4().hex}.{ending}")
    os.close(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    return fresh


def remove(path: Path) -> None:
    for ending in COMPANIONS:
        path.with_name(path.name + ending).unlink(missing_ok=True)


def _sweep(path: Path) -> None:
    """Remove what processes that were killed while they made a ledger or a copy left behind."""
    with suppress(OSError):
        for entry in os.scandir(path.parent):
            ours = entry.name.startswith(f".{path.name}.") and (".new" in entry.name or ".part" in entry.name)
            if ours and entry.is_file() and abs(time.time() - entry.stat().st_mtime) > STALE:
                Path(entry.path).unlink(missing_ok=True)


def _create(place: Place, path: Path, fill: Callable[[Path], None]) -> None:
    """Create it under a temporary name, then move it in one step: a crash never leaves half a ledger, and of two creators one wins."""
    fresh: Path | None = None
    try:
        fresh = temporary(path, "new")
        fill(fresh)
        try:
            os.link(fresh, path)
        except FileExistsError:
            return
        except (OSError, AttributeError):  # a file system without hard links, or a Python without os.link
            if not path.exists():
                os.rename(fresh, path)
        sync(path.parent)
    except OSError as error:
        raise faults.no_permission(place, error.strerror or str(error)) from None
    finally:
        if fresh is not None:
            remove(fresh)


def sync(folder: Path) -> None:
    if os.name == "nt":
        return  # Windows can't, and needn't
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def inspect(place: Place, path: Path, wholly: bool = False) -> FileInfo:
    """Read-only, so that a damaged, newer or foreign file stays unchanged, including its write-ahead log. `wholly`: a log of any length."""
    if path.stat().st_size == 0:  # SQLite would treat it as a new database: a silent reset
        raise faults.damaged(place, "it is empty")
    if reason := log.fault(path, wholly):
        raise faults.damaged(place, reason)
    return _reading(place, path, lambda connection: _inspect(place, path, connection))


def examine(place: Place, path: Path, wholly: bool) -> integrity.Report:
    """Whether the events are as they were written. Read-only as well."""

    def work(connection: sqlite3.Connection) -> integrity.Report:
        if wholly:
            _check_pages(place, connection, "integrity_check")
        return integrity.examine(connection.execute, True, wholly)

    return _reading(place, path, work)


def _reading(place: Place, path: Path, work: Callable[[sqlite3.Connection], T]) -> T:
    for mode in ("ro", "rw"):  # the latter where a transaction that a crash left unfinished must be rolled back first
        try:
            with closing(connect(path, mode)) as connection:
                connection.execute("BEGIN")  # one moment for all of it: others may write meanwhile
                return work(connection)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            if mode == "rw" or not faults.name(error).startswith("SQLITE_READONLY"):
                raise faults.explain(place, error) from error
    raise AssertionError("unreachable")


def _inspect(place: Place, path: Path, connection: sqlite3.Connection) -> FileInfo:
    size = path.stat().st_size
    if size <= CHECK_UP_TO:
        _check_pages(place, connection, "integrity_check" if size <= CHECK_INDEXES_UP_TO else "quick_check")
    _check_length(place, path, connection)
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if VERSION not in tables:
        raise faults.not_a_ledger(place, "it is an SQLite file without a ledger's tables")
    revision = connection.execute(f"SELECT version_num FROM {VERSION}").fetchone()
    if revision is None or not revision[0]:
        raise faults.damaged(place, f"{VERSION} is empty")
    owner = connection.execute(f"SELECT id FROM {learner.name}").fetchone() if learner.name in tables else None
    return FileInfo(str(revision[0]), str(owner[0]) if owner else None)


def _check_pages(place: Place, connection: sqlite3.Connection, pragma: str) -> None:
    verdict = connection.execute(f"PRAGMA {pragma}(1)").fetchone()[0]
    if verdict != "ok":
        raise faults.damaged(place, " ".join(verdict.split()))


def _check_length(place: Place, path: Path, connection: sqlite3.Connection) -> None:
    """SQLite silently pads a truncated last page. Missing pages may also be in the write-ahead log, and then all is well."""
    pages, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    written = log.path_of(path)
    if path.stat().st_size < pages * size and not (written.exists() and written.stat().st_size):
        raise faults.damaged(place, f"it has {path.stat().st_size:,} bytes of {pages * size:,}")


def copy(path: Path, target: Path) -> None:
    """A consistent copy, as private as the file, even while others write. An existing copy is kept."""
    half = temporary(target, "part")
    try:
        with closing(connect(path, "ro")) as source, closing(sqlite3.connect(half)) as target_file:
            source.backup(target_file)
        if not target.exists():
            os.replace(half, target)
    finally:
        remove(half)
