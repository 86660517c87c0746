"""Connections and transactions. When `writing()` ends without an error, the write is on disk."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import QueuePool

from ironlaw.errors import MissingExtra
from ironlaw.ledger import faults, file
from ironlaw.ledger.place import Place

LOCK = 0x69726F6E  # "iron": PostgreSQL's advisory lock; one writer at a time, as in SQLite


class Database:
    """One place, its connections, and its errors in plain words."""

    def __init__(self, place: Place, named_as: Place | None = None) -> None:
        self.place = named_as or place  # for messages: a new file is filled under a temporary name
        self.path = place.path
        self.engine = _engine(place)
        self._process = os.getpid()
        self._file: tuple[int, int] | None = None
        self._same_file()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with self._connected({}) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """One transaction, with every other writer locked out."""
        with self._connected({"write": True}) as connection:
            if self.place.path is None:
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({LOCK})")
            self._same_file()  # again: while we waited for the lock, the file may have been set aside
            yield connection

    def close(self) -> None:
        self.engine.dispose()

    @contextmanager
    def _connected(self, options: dict[str, Any]) -> Iterator[Connection]:
        self._same_process()
        self._same_file()
        try:
            with self.engine.connect() as connection, connection.execution_options(**options).begin():
                yield connection
        except (DBAPIError, UnicodeDecodeError) as error:  # the latter from bytes that are not text, in a damaged file
            raise faults.explain(self.place, error) from error

    def _same_process(self) -> None:
        # a connection must not be shared with the process that forked this one
        if self._process != os.getpid():
            self.engine.dispose(close=False)
            self._process = os.getpid()

    def _same_file(self) -> None:
        # SQLite would keep writing into a deleted file, and acknowledge writes that are lost
        path = self.path
        if path is None:
            return
        try:
            status = path.stat()
        except OSError as error:
            if self._file is None:
                raise faults.no_permission(self.place, error.strerror or str(error)) from None
            raise faults.file_replaced(self.place) from None
        if self._file is None:
            self._file = (status.st_dev, status.st_ino)
        elif self._file != (status.st_dev, status.st_ino):
            raise faults.file_replaced(self.place)


def _engine(place: Place) -> Engine:
    if place.path is not None:
        path = place.path
        # no limit on connections: waiting for one is no better than waiting for SQLite
        engine = create_engine(place.url, creator=lambda: _sqlite(path), poolclass=QueuePool, pool_size=4, max_overflow=-1)
        event.listen(engine, "begin", _begin)
        return engine
    try:
        engine = create_engine(
            place.url,
            pool_pre_ping=True,
            isolation_level="READ COMMITTED",  # a writer that waited for the lock must see what the one before it wrote
            connect_args={"connect_timeout": 10, "application_name": "ironlaw"},
        )
    except ImportError:
        raise MissingExtra("a ledger in PostgreSQL needs psycopg: pip install 'ironlaw[postgres]'") from None
    event.listen(engine, "connect", _durable)
    return engine


def _sqlite(path: Path) -> sqlite3.Connection:
    connection = file.connect(path, "rw")
    try:
        connection.execute("PRAGMA synchronous = FULL")  # a commit is on disk before it is acknowledged
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA journal_mode = WAL")  # persists in the file; where the file system can't, SQLite keeps its journal
        # each commit goes on into the file at once: the log's checksums don't say what is missing behind a bad one, the file's chain does,
        # and whoever copies the file alone has everything
        connection.execute("PRAGMA wal_autocheckpoint = 1")
    except BaseException:
        connection.close()
        raise
    return connection


def _begin(connection: Connection) -> None:
    # IMMEDIATE takes the lock at once: otherwise another writer could get in between the first read and the first write
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("write") else "BEGIN")


def _durable(connection: Any, _: Any) -> None:
    # a server may be configured to acknowledge before it has written; not for this session
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'")
    connection.commit()
