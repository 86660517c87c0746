"""The SQLite file before it is used: inspected without being touched, or created in one step.

Only SQLite opens the file: closing any other descriptor of it would drop the locks of this process's connections.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from ironlaw.errors import LedgerUnavailable
from ironlaw.ledger import faults
from ironlaw.ledger.place import Place
from ironlaw.ledger.tables import VERSION, learner

PATIENCE = 30.0  # seconds to wait for another writer; a write takes milliseconds
CHECK_UP_TO = 64_000_000  # bytes: a file of this size is checked in about 0.1 s when opened


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
    if not path.exists():
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            raise faults.damaged(place, f"the file is missing, but {log.name} is there")
        _create(place, path, fill)
    if not path.is_file():
        raise faults.not_a_ledger(place, "it is not a file")
    if not os.access(path, os.R_OK | os.W_OK):
        raise faults.no_permission(place, "no permission to read and write the file")


def _create(place: Place, path: Path, fill: Callable[[Path], None]) -> None:
    """Create it under a temporary name, then move it in one step: a crash never leaves half a ledger, and of two creators one wins."""
    fresh = path.with_name(f".{path.name}.{uuid4().hex}.new")
    try:
        os.close(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        fill(fresh)
        try:
            os.link(fresh, path)
        except FileExistsError:
            return
        except OSError:  # a file system without hard links
            if not path.exists():
                os.rename(fresh, path)
        _sync(path.parent)
    except OSError as error:
        raise faults.no_permission(place, error.strerror or str(error)) from None
    finally:
        for ending in ("", "-wal", "-shm", "-journal"):
            fresh.with_name(fresh.name + ending).unlink(missing_ok=True)


def _sync(folder: Path) -> None:
    if os.name == "nt":
        return  # Windows can't, and needn't
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def inspect(place: Place, path: Path) -> FileInfo:
    """Read-only, so that a damaged, newer or foreign file stays unchanged, including its write-ahead log."""
    if path.stat().st_size == 0:  # SQLite would treat it as a new database: a silent reset
        raise faults.damaged(place, "it is empty")
    try:
        return _inspect(place, path, "ro")
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if not faults.name(error).startswith("SQLITE_READONLY"):
            raise faults.explain(place, error) from error
    try:  # a transaction that a crash left unfinished must be rolled back first
        return _inspect(place, path, "rw")
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise faults.explain(place, error) from error


def _inspect(place: Place, path: Path, mode: str) -> FileInfo:
    with closing(connect(path, mode)) as connection:
        if path.stat().st_size <= CHECK_UP_TO:
            verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if verdict != "ok":
                raise faults.damaged(place, " ".join(verdict.split()))
        _check_length(place, path, connection)
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if VERSION not in tables:
            raise faults.not_a_ledger(place, "it is an SQLite file without a ledger's tables")
        revision = connection.execute(f"SELECT version_num FROM {VERSION}").fetchone()
        if revision is None:
            raise faults.damaged(place, f"{VERSION} is empty")
        owner = connection.execute(f"SELECT id FROM {learner.name}").fetchone() if learner.name in tables else None
        return FileInfo(str(revision[0]), str(owner[0]) if owner else None)


def _check_length(place: Place, path: Path, connection: sqlite3.Connection) -> None:
    """SQLite silently pads a truncated last page. Missing pages may also be in the write-ahead log, and then all is well."""
    pages, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    log = path.with_name(f"{path.name}-wal")
    if path.stat().st_size < pages * size and not (log.exists() and log.stat().st_size):
        raise faults.damaged(place, f"it has {path.stat().st_size:,} bytes of {pages * size:,}")


def copy(path: Path, target: Path) -> None:
    """A consistent copy, even while others write. An existing copy is kept."""
    half = target.with_name(f".{target.name}.{uuid4().hex}.part")
    try:
        with closing(connect(path, "ro")) as source, closing(sqlite3.connect(half)) as target_file:
            source.backup(target_file)
        if not target.exists():
            os.replace(half, target)
    finally:
        half.unlink(missing_ok=True)
