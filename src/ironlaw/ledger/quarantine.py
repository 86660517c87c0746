"""A broken file is set aside whole, under another name; what can be read of it goes on in a new one, in its place.

At no moment is there no ledger: the new one is complete before it takes the old one's name, and the old one has its other name before.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from ironlaw.ledger import faults, file
from ironlaw.ledger.place import Place
from ironlaw.ledger.salvage import Salvage
from ironlaw.ledger.salvage_file import rescue_file

Fill = Callable[[Path, Salvage, str], None]  # a new file, what goes into it, the name of the old one


def set_aside(place: Place, path: Path, fill: Fill) -> tuple[Salvage, Path]:
    """What was carried over, and where the broken file is now. LedgerDamaged, and nothing touched, if nothing in it can be read."""
    salvage = rescue_file(place, path)
    return salvage, replace(place, path, lambda fresh, name: fill(fresh, salvage, name))


def replace(place: Place, path: Path, fill: Callable[[Path, str], None]) -> Path:
    """A new file in the place of this one, which keeps its content and its log under another name."""
    old_name = _free_name(path)
    fresh: Path | None = None
    try:
        fresh = file.temporary(path, "new")
        fill(fresh, old_name.name)
        for ending in ("", "-wal", "-journal"):
            source = path.with_name(path.name + ending)
            if source.exists() and source.stat().st_size:
                _second_name(source, old_name.with_name(old_name.name + ending))
        file.sync(path.parent)
        for ending in ("-wal", "-shm", "-journal"):  # SQLite would take them for the new file's
            path.with_name(path.name + ending).unlink(missing_ok=True)
        os.replace(fresh, path)
        file.sync(path.parent)
    except OSError as error:
        raise faults.no_permission(place, error.strerror or str(error)) from None
    finally:
        if fresh is not None:
            file.remove(fresh)
    return old_name


@contextmanager
def locked(place: Place, path: Path) -> Iterator[None]:
    """No other process writes meanwhile; one that waits for its turn then sees that the file is another.

    Closing the connection leaves the new file's log alone: SQLite notices that the file it had open was moved.
    """
    connection = file.connect(path, "rw")
    try:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except (sqlite3.Error, UnicodeDecodeError) as error:
            if not faults.name(error).startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
                raise faults.explain(place, error) from error
            # too broken to be locked, and so to be written
        if os.name == "nt":
            connection.close()  # Windows renames no file that is open
        yield
    finally:
        connection.close()


def _second_name(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except (OSError, AttributeError):  # a file system without hard links
        os.rename(source, target)


def _free_name(path: Path) -> Path:
    stamp = datetime.now(UTC).strftime("%Y-%m-%d-%H%M%S")
    names = (path.with_name(f"{path.name}.broken-{stamp}{more}") for more in ("", *(f"-{n}" for n in range(2, 1000))))
    return next(name for name in names if not name.exists())
