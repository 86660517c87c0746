"""Where the ledger is stored: an SQLite file or a PostgreSQL database."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from ironlaw import home
from ironlaw.errors import BadValue, LedgerUnavailable

FILE = "ledger.db"
FORMS = "give a file's path, sqlite:////absolute/path.db, or postgresql://USER@HOST/DATABASE"


@dataclass(frozen=True)
class Place:
    """`path` is None for PostgreSQL."""

    url: URL
    path: Path | None = None

    def __str__(self) -> str:
        """For people: the file, or user, host and database; never a password."""
        if self.path is not None:
            return str(self.path)
        host = self.url.host or self.url.query.get("host") or "localhost"
        port = f":{self.url.port}" if self.url.port else ""
        return f"PostgreSQL, {host}{port}, database {self.url.database or self.url.username or 'postgres'}"


def place(url: str | os.PathLike[str] | None = None) -> Place:
    """A ledger's place, from a URL or a path; by default IRONLAW_LEDGER, or else a file in ironlaw's home folder, created if missing."""
    text = os.fspath(url) if url is not None else os.environ.get("IRONLAW_LEDGER", "").strip()
    if not text:
        try:
            return _file(home.path(FILE))
        except BadValue as error:
            raise LedgerUnavailable(str(error)) from None
    return _parse(text)


def where(url: str | os.PathLike[str] | None = None) -> str:
    """For people; nothing is opened or created."""
    text = os.fspath(url) if url is not None else os.environ.get("IRONLAW_LEDGER", "").strip()
    return str(_parse(text) if text else _file(home.folder() / FILE))


def _parse(text: str) -> Place:
    scheme, separator, rest = text.partition("://")
    if not separator:
        try:
            return _file(Path(text).expanduser())
        except RuntimeError:  # "~nobody", or "~" where no home directory is known
            raise BadValue(f"cannot expand {text!r}: no such user's home directory is known; {FORMS}") from None
    if scheme == "sqlite":
        path = unquote(rest.removeprefix("/"))  # sqlite:///relative, sqlite:////absolute
        if not rest.startswith("/") or not path or path == ":memory:":
            raise BadValue(f"{text!r} does not name a file, and a ledger in memory would be lost; {FORMS}")
        return _file(Path(path))
    if scheme not in ("postgresql", "postgres", "postgresql+psycopg"):
        raise BadValue(f"{scheme!r} is not a database that can hold a ledger; {FORMS}")
    try:
        return Place(make_url(text).set(drivername="postgresql+psycopg"))
    except (ArgumentError, ValueError):
        raise BadValue(f"the ledger's address is not valid; {FORMS}") from None


def _file(path: Path) -> Place:
    path = path.absolute()
    return Place(URL.create("sqlite", database=str(path)), path)
