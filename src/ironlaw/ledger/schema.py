"""Opening: a new ledger is created completely or not at all, an old one is migrated, anything else is left unchanged.

Alembic takes a third of a second to import, so it is imported only when there is something to migrate.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from threading import Lock
from uuid import uuid4

from sqlalchemy import Connection, insert, inspect, select
from sqlalchemy.engine import URL

from ironlaw.ledger import faults, file
from ironlaw.ledger.database import Database
from ironlaw.ledger.events import now
from ironlaw.ledger.place import Place
from ironlaw.ledger.tables import VERSION, learner

REVISIONS = ("0001",)  # oldest first; a test compares them with the folder
HEAD = REVISIONS[-1]
MIGRATIONS = Path(__file__).parent / "migrations"

_alembic_lock = Lock()  # Alembic has one context per process


def open_database(place: Place) -> tuple[Database, str]:
    """The database, ready to use, and the learner's id."""
    path = place.path
    if path is not None:
        file.ensure(place, path, lambda fresh: _fill(place, fresh))
        info = file.inspect(place, path)
        check_revision(place, info.revision)
    database = Database(place)
    try:
        if path is None:
            info = _inspect(database)
        owner = info.learner
        if info.revision != HEAD or owner is None:
            owner = _migrate_to_head(database)
    except BaseException:
        database.close()
        raise
    return database, owner


def check_revision(place: Place, revision: str) -> None:
    if revision and revision not in REVISIONS:
        raise faults.newer(place, revision, HEAD)


def _inspect(database: Database) -> file.FileInfo:
    with database.reading() as connection:
        revision = _revision(database, connection)
        return file.FileInfo(revision, connection.scalar(select(learner.c.id)) if revision == HEAD else None)


def _revision(database: Database, connection: Connection) -> str:
    """ "" where there is no ledger yet."""
    if not inspect(connection).has_table(VERSION):
        return ""
    revision = str(connection.exec_driver_sql(f"SELECT version_num FROM {VERSION}").scalar() or "")
    check_revision(database.place, revision)
    return revision


def _fill(place: Place, fresh: Path) -> None:
    database = Database(Place(URL.create("sqlite", database=str(fresh)), fresh), named_as=place)
    try:
        _migrate_to_head(database)
    finally:
        database.close()  # which moves everything from the write-ahead log into the file


def _migrate_to_head(database: Database) -> str:
    """Migrate under the writer's lock, in one transaction. Reads the revision again, since another process may have been quicker."""
    with database.writing() as connection:
        revision = _revision(database, connection)
        if revision != HEAD:
            if revision:
                _back_up(database, revision)
            _migrate(connection)
        owner = connection.scalar(select(learner.c.id))
        if owner is None:
            owner = str(uuid4())
            connection.execute(insert(learner).values(one=1, id=owner, since=now()))
    return str(owner)


def _back_up(database: Database, revision: str) -> None:
    """Before an older file is changed: `ledger.db.0001`. A PostgreSQL database is backed up by its administrator."""
    path = database.place.path
    if path is None:
        return
    try:
        file.copy(path, path.with_name(f"{path.name}.{revision}"))
    except sqlite3.Error as error:
        raise faults.explain(database.place, error) from error


def _migrate(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    with _alembic_lock:
        command.upgrade(config, "head")
