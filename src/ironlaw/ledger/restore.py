"""A ledger that is not as it was written: noticed when it is opened, and set aside (`damage`).

Where only the guards in the database are missing, every event is checked; if all are as they were written, the guards are put back.
"""

from __future__ import annotations

import os

from ironlaw.errors import BadValue, LedgerDamaged
from ironlaw.ledger import guards, opening
from ironlaw.ledger.database import Database
from ironlaw.ledger.integrity import Report
from ironlaw.ledger.place import Place, place

BACK = "The ledger's protection against changes had been taken away ({}). Every event was checked, none was changed, and it is back."
Opened = tuple[Database, str, str]  # ready to use; the learner's id; what the learner should know, in plain words


def open_database(source: Place) -> Opened:
    """The ledger at that place; a new one if there is none, and the rest of a broken one."""
    notice = ""
    try:
        database, owner, report = _open(source)
    except LedgerDamaged as error:
        if not error.reason:
            raise  # not a ledger at all
        from ironlaw.ledger.damage import set_aside  # here: most ledgers are as they were written

        notice = set_aside(source, error, wholly=False)
        database, owner, report = _open(source)
    if report.guards:
        try:
            notice = f"{notice} {_restore(database, report)}".strip()
        except BaseException:
            database.close()
            raise
    return database, owner, notice


def verify(url: str | os.PathLike[str] | None = None) -> Report:
    """Every event and every guard, read-only. LedgerDamaged names the first event that is not as it was written."""
    source = place(url)
    if source.path is not None:
        if not source.path.is_file():
            raise BadValue(f"there is no ledger {source.path} to verify; name one in IRONLAW_LEDGER")
        report = opening.examine_file(source, source.path, wholly=True)[1]
    else:
        database = Database(source)
        try:
            report = opening.examine_server(database, wholly=True)[1]
        finally:
            database.close()
    if report is opening.NO_CHAIN:
        raise BadValue(f"the ledger {source} has no chain yet; `ironlaw ledger show` opens it and adds one; then verify it")
    return report


def repair(url: str | os.PathLike[str] | None = None) -> str:
    """Verify it wholly; a damaged one is set aside and what can be read carried over, even if that is nothing. What was done, in plain
    words; empty if nothing was wrong."""
    source = place(url)
    try:
        verify(url)
    except LedgerDamaged as error:
        if not error.reason:
            raise
        from ironlaw.ledger.damage import set_aside

        return set_aside(source, error, wholly=True, even_unreadable=True)
    database, _, notice = open_database(source)
    database.close()
    return notice


def _open(source: Place) -> tuple[Database, str, Report]:
    return opening.open_server(source) if source.path is None else opening.open_file(source, source.path)


def _restore(database: Database, report: Report) -> str:
    with database.writing() as connection:
        guards.restore(connection.exec_driver_sql, connection.exec_driver_sql, database.place.path is not None)
    return BACK.format("; ".join(report.guards))
