"""A ledger that is not as it was written: noticed when it is opened, set aside whole, and what can be read is carried over.

Where only the guards in the database are missing, every event is checked; if all are as they were written, the guards are put back.
"""

from __future__ import annotations

import os
from pathlib import Path

from sqlalchemy import Connection

from ironlaw.errors import BadValue, LedgerDamaged, LedgerUnavailable
from ironlaw.ledger import guards, opening, quarantine, quarantine_tables
from ironlaw.ledger.append import append_events
from ironlaw.ledger.database import Database
from ironlaw.ledger.integrity import Report
from ironlaw.ledger.place import Place, place
from ironlaw.ledger.salvage import Salvage, explain_damage, record
from ironlaw.ledger.salvage_file import rescue_file

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
        notice = _set_aside(source, error, wholly=False)
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
        return _set_aside(source, error, wholly=True, even_unreadable=True)
    database, _, notice = open_database(source)
    database.close()
    return notice


def _open(source: Place) -> tuple[Database, str, Report]:
    return opening.open_server(source) if source.path is None else opening.open_file(source, source.path)


def _restore(database: Database, report: Report) -> str:
    with database.writing() as connection:
        guards.restore(connection.exec_driver_sql, connection.exec_driver_sql, database.place.path is not None)
    return BACK.format("; ".join(report.guards))


def _set_aside(source: Place, damage: LedgerDamaged, wholly: bool, even_unreadable: bool = False) -> str:
    """What to tell the learner. The damage again, if nothing can be read: then nothing is touched."""
    if source.path is None:
        return _set_tables_aside(source, damage, wholly)
    path = source.path
    if not path.is_file() or not (even_unreadable or _readable(source, path)):
        raise damage
    with quarantine.locked(source, path):
        try:
            opening.examine_file(source, path, wholly)
            return ""  # another process was quicker
        except LedgerDamaged as error:
            if not error.reason:
                raise
            damage = error

        def fill(fresh: Path, salvage: Salvage, old_name: str) -> None:
            opening.fill(source, fresh, salvage.owner, [*salvage.events, record(salvage, damage.reason, old_name)])

        try:
            salvage, old_name = quarantine.set_aside(source, path, fill)
        except LedgerDamaged:
            if not even_unreadable:
                raise damage from None
            old_name = quarantine.replace(source, path, lambda fresh, _: opening.fill(source, fresh))
            return f"Nothing in your ledger could be read ({damage.reason}). It is kept whole, as {old_name}, and a new one was begun."
    return explain_damage(f"the file {old_name}", damage.reason, salvage)


def _readable(source: Place, path: Path) -> bool:
    """Whether there is anything to carry over. Read-only: to lock the file would touch its log."""
    try:
        return bool(rescue_file(source, path))
    except LedgerDamaged:
        return False


def _set_tables_aside(source: Place, damage: LedgerDamaged, wholly: bool) -> str:
    database = Database(source)

    def fill(connection: Connection, salvage: Salvage, old_name: str) -> None:
        opening.migrate_to_head(database, connection, salvage.owner)
        append_events(connection, [*salvage.events, record(salvage, damage.reason, old_name)])

    try:
        with database.writing() as connection:
            try:
                opening.examine_connection(database, connection, wholly)
                return ""  # another process was quicker
            except LedgerDamaged as error:
                damage = error
            salvage, old_name = quarantine_tables.set_aside(database, connection, fill)
    except LedgerUnavailable:
        raise damage from None  # only its owner may move the tables
    finally:
        database.close()
    return explain_damage(f"the schema {old_name} of the same database", damage.reason, salvage)
