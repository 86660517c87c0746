"""A damaged ledger is set aside whole, and what can be read of it is carried over into a new one."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection

from ironlaw.errors import LedgerDamaged, LedgerUnavailable
from ironlaw.ledger import opening, quarantine, quarantine_tables
from ironlaw.ledger.append import append_events
from ironlaw.ledger.database import Database
from ironlaw.ledger.place import Place
from ironlaw.ledger.salvage import Salvage, explain_damage, record
from ironlaw.ledger.salvage_file import rescue_file


def set_aside(source: Place, damage: LedgerDamaged, wholly: bool, even_unreadable: bool = False) -> str:
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
