"""The file of SQLite before it is used: looked at without touching it, or made whole in one step.

Nothing here opens the file but SQLite: closing any other descriptor of it would drop the locks of this process's connections.
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
CHECKED = 64_000_000  # bytes up to which the whole file is checked on opening, in about 0.1 s


@dataclass(frozen=True)
class Found:
    """What a file says of itself."""

    revision: str
    learner: str | None


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """`mode` is ro or rw: neither creates a file. Transactions are left to the caller."""
    return sqlite3.connect(f"{path.as_uri()}?mode={mode}", uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False)


def settle(place: Place, path: Path, fill: Callable[[Path], None]) -> None:
    """See that there is a file and that it is ours to write. A new one is made by `fill`."""
    folder = path.parent
    if not folder.is_dir():
        raise LedgerUnavailable(
            f"the folder {folder} of the ledger {path.name} does not exist; create it, or connect the disk that it lies on,"
            " or name another place in IRONLAW_LEDGER"
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise faults.no_permission(place, f"no right to write to the folder {folder}")
    if not path.exists():
        left = path.with_name(f"{path.name}-wal")
        if left.exists() and left.stat().st_size:
            raise faults.damaged(place, f"the file is missing, but {left.name} is there")
        _create(place, path, fill)
    if not path.is_file():
        raise faults.stranger(place, "it is not a file")
    if not os.access(path, os.R_OK | os.W_OK):
        raise faults.no_permission(place, "no right to read and write the file")


def _create(place: Place, path: Path, fill: Callable[[Path], None]) -> None:
    """Make it beside its place, then put it there in one step: a kill leaves no half of a ledger, and of two makers one wins."""
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
        return  # Windows can't, and has no need to
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def inspect(place: Place, path: Path) -> Found:
    """Read-only, so that a file which is damaged, newer or not ours stays as it is, its write-ahead log included."""
    if path.stat().st_size == 0:  # SQLite would take it for a new database: a silent reset
        raise faults.damaged(place, "it is empty")
    try:
        return _inspect(place, path, "ro")
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if not faults.name(error).startswith("SQLITE_READONLY"):
            raise faults.explain(place, error) from error
    try:  # what a crash left unfinished has to be rolled back first
        return _inspect(place, path, "rw")
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise faults.explain(place, error) from error


def _inspect(place: Place, path: Path, mode: str) -> Found:
    with closing(connect(path, mode)) as connection:
        if path.stat().st_size <= CHECKED:
            verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if verdict != "ok":
                raise faults.damaged(place, " ".join(verdict.split()))
        _whole(place, path, connection)
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if VERSION not in tables:
            raise faults.stranger(place, "it is a file of SQLite, but without a ledger's tables")
        revision = connection.execute(f"SELECT version_num FROM {VERSION}").fetchone()
        if revision is None:
            raise faults.damaged(place, f"{VERSION} is empty")
        whose = connection.execute(f"SELECT id FROM {learner.name}").fetchone() if learner.name in tables else None
        return Found(str(revision[0]), str(whose[0]) if whose else None)


def _whole(place: Place, path: Path, connection: sqlite3.Connection) -> None:
    """SQLite fills up a last page that is cut short. What the file lacks may also lie in the write-ahead log, and then all is well."""
    pages, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    log = path.with_name(f"{path.name}-wal")
    if path.stat().st_size < pages * size and not (log.exists() and log.stat().st_size):
        raise faults.damaged(place, f"it has {path.stat().st_size:,} bytes of {pages * size:,}")


def copy(path: Path, target: Path) -> None:
    """A copy as of now, also while others write. An older copy of that name is kept."""
    half = target.with_name(f".{target.name}.{uuid4().hex}.part")
    try:
        with closing(connect(path, "ro")) as source, closing(sqlite3.connect(half)) as made:
            source.backup(made)
        if not target.exists():
            os.replace(half, target)
    finally:
        half.unlink(missing_ok=True)
