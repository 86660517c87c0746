"""Ledgers of the tests that import this don't wait for the disk, which took most of a commit. A killed process loses nothing by it."""

import sqlite3
from pathlib import Path

from ironlaw.ledger import database

durable = database._sqlite


def quick(path: Path) -> sqlite3.Connection:
    connection = durable(path)
    connection.execute("PRAGMA synchronous = OFF")
    return connection


database._sqlite = quick
