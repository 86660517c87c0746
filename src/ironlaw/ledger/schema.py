"""Opening: a new ledger is made whole or not at all, an old one is brought up to date, anything else is left as it is.

Alembic takes a third of a second to import, so it is asked only when there is something to migrate.
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

_one_at_a_time = Lock()  # Alembic's context is one per process


def open_database(place: Place) -> tuple[Database, str]:
    """The database, ready to use, and the learner's id."""
    path = place.path
    if path is not None:
        file.settle(place, path, lambda fresh: _fill(place, fresh))
        found = file.inspect(place, path)
        known(place, found.revision)
    database = Database(place)
    try:
        if path is None:
            found = _look(database)
        whose = found.learner
        if found.revision != HEAD or whose is None:
            whose = _bring_up_to_date(database)
    except BaseException:
        database.close()
        raise
    return database, whose


def known(place: Place, revision: str) -> None:
    if revision and revision not in REVISIONS:
        raise faults.newer(place, revision, HEAD)


def _look(database: Database) -> file.Found:
    with database.reading() as connection:
        revision = _revision(database, connection)
        return file.Found(revision, connection.scalar(select(learner.c.id)) if revision == HEAD else None)


def _revision(database: Database, connection: Connection) -> str:
    """ "" where there is no ledger yet."""
    if not inspect(connection).has_table(VERSION):
        return ""
    revision = str(connection.exec_driver_sql(f"SELECT version_num FROM {VERSION}").scalar() or "")
    known(database.place, revision)
    return revision


def _fill(place: Place, fresh: Path) -> None:
    database = Database(Place(URL.create("sqlite", database=str(fresh)), fresh), called=place)
    try:
        _bring_up_to_date(database)
    finally:
        database.close()  # which moves everything from the write-ahead log into the file


def _bring_up_to_date(database: Database) -> str:
    """Migrate under the writer's lock, in one transaction. Looks again, since another process may have been quicker."""
    with database.writing() as connection:
        revision = _revision(database, connection)
        if revision != HEAD:
            if revision:
                _back_up(database, revision)
            _migrate(connection)
        found = connection.scalar(select(learner.c.id))
        if found is None:
            found = str(uuid4())
            connection.execute(insert(learner).values(one=1, id=found, since=now()))
    return str(found)


def _back_up(database: Database, revision: str) -> None:
    """Before the first touch of an older file: `ledger.db.0001`. PostgreSQL's back-ups are its keeper's."""
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
    with _one_at_a_time:
        command.upgrade(config, "head")
