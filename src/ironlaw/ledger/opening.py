"""Opening: a new ledger is created completely or not at all, an old one is migrated, a broken one is set aside, anything else is left
unchanged.

Alembic takes a third of a second to import, so it is imported only when there is something to migrate.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from uuid import uuid4

from sqlalchemy import Connection, insert, inspect, select
from sqlalchemy.engine import URL

from ironlaw.ledger import faults, file, integrity
from ironlaw.ledger.append import append_events
from ironlaw.ledger.chain import genesis
from ironlaw.ledger.database import Database
from ironlaw.ledger.events import Event, now
from ironlaw.ledger.place import Place
from ironlaw.ledger.sql_tables import VERSION, head, learner

REVISIONS = ("0001", "0002")  # oldest first; a test compares them with the folder
HEAD = REVISIONS[-1]
UNCHAINED = REVISIONS[:1]  # before each event had the hash of the one before it
MIGRATIONS = Path(__file__).parent / "migrations"
NO_CHAIN = integrity.Report(0, "")  # there is nothing that could be checked

_alembic_lock = Lock()  # Alembic has one context per process


def open_file(place: Place, path: Path) -> tuple[Database, str, integrity.Report]:
    """Ready to use; the learner's id; what was found. LedgerDamaged if it is not as it was written."""
    file.ensure(place, path, lambda fresh: fill(place, fresh))
    info, report = examine_file(place, path, wholly=False)
    database = Database(place)
    return database, _current(database, info), report


def open_server(place: Place) -> tuple[Database, str, integrity.Report]:
    database = Database(place)
    try:
        info, report = examine_server(database, wholly=False)
    except BaseException:
        database.close()
        raise
    return database, _current(database, info), report


def _current(database: Database, info: file.FileInfo) -> str:
    """The learner's id, once the ledger is as this version needs it."""
    if info.revision == HEAD and info.learner is not None:
        return info.learner
    try:
        with database.writing() as connection:
            return migrate_to_head(database, connection)
    except BaseException:
        database.close()
        raise


def examine_file(place: Place, path: Path, wholly: bool) -> tuple[file.FileInfo, integrity.Report]:
    """What the file says, and in what state it is. LedgerDamaged if it is not as it was written."""
    info = file.inspect(place, path, wholly)
    _check_revision(place, info.revision)
    if info.revision in UNCHAINED:
        return info, NO_CHAIN
    report = _sound(place, file.examine(place, path, wholly))
    if report.guards and not wholly:  # then nobody knows what was changed
        report = _sound(place, file.examine(place, path, True))
    return info, report


def examine_server(database: Database, wholly: bool) -> tuple[file.FileInfo, integrity.Report]:
    with database.reading() as connection:
        # one snapshot for all of it: others may write meanwhile
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        return examine_connection(database, connection, wholly)


def examine_connection(database: Database, connection: Connection, wholly: bool) -> tuple[file.FileInfo, integrity.Report]:
    revision = _revision(database, connection)
    if not revision or revision in UNCHAINED:
        return file.FileInfo(revision, None), NO_CHAIN
    report = _sound(database.place, integrity.examine(connection.exec_driver_sql, False, wholly))
    if report.guards and not wholly:
        report = _sound(database.place, integrity.examine(connection.exec_driver_sql, False, True))
    return file.FileInfo(revision, connection.scalar(select(learner.c.id))), report


def _sound(place: Place, report: integrity.Report) -> integrity.Report:
    if report.fault:
        raise faults.damaged(place, report.fault)
    return report


def _check_revision(place: Place, revision: str) -> None:
    if revision in REVISIONS:
        return
    if re.fullmatch(r"[0-9]{4}", revision) and revision > HEAD:
        raise faults.newer(place, revision, HEAD)
    raise faults.damaged(place, f"its version is {revision!r}")


def _revision(database: Database, connection: Connection) -> str:
    """ "" where there is no ledger yet."""
    if not inspect(connection).has_table(VERSION):
        return ""
    revision = str(connection.exec_driver_sql(f"SELECT version_num FROM {VERSION}").scalar() or "")
    _check_revision(database.place, revision)
    return revision


def fill(place: Place, fresh: Path, owner: str | None = None, events: Sequence[Event] = ()) -> None:
    """A new file; with its owner and first events, if there are some already."""
    database = Database(Place(URL.create("sqlite", database=str(fresh)), fresh), named_as=place)
    try:
        with database.writing() as connection:
            migrate_to_head(database, connection, owner)
            append_events(connection, events)
    finally:
        database.close()  # which moves everything from the write-ahead log into the file


def migrate_to_head(database: Database, connection: Connection, owner: str | None = None) -> str:
    """The learner's id, after a migration under the writer's lock. Reads the revision again, since another process may have been quicker.
    `owner`: the learner's id, if the ledger is new and its owner is not."""
    revision = _revision(database, connection)
    if revision != HEAD:
        if revision:
            _back_up(database, revision)
        _migrate(connection)
    present = connection.scalar(select(learner.c.id))
    if present is not None:
        return str(present)
    mine, since = owner or str(uuid4()), now()
    connection.execute(insert(learner).values(one=1, id=mine, since=since))
    connection.execute(insert(head).values(one=1, events=0, hash=genesis(mine, since)))
    return mine


def _back_up(database: Database, revision: str) -> None:
    """Copies an older file to `ledger.db.0001` before it is changed. A PostgreSQL database is backed up by its administrator."""
    path = database.place.path
    if path is None:
        return
    try:
        file.copy(path, path.with_name(f"{path.name}.{revision}"))
    except sqlite3.Error as error:
        raise faults.explain(database.place, error) from error
    except OSError as error:
        raise faults.no_permission(database.place, error.strerror or str(error)) from None


def _migrate(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    with _alembic_lock:
        command.upgrade(config, "head")
