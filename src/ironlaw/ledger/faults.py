"""Database errors -> messages that say what to do."""

from __future__ import annotations

import shlex
import sqlite3

from sqlalchemy.exc import DBAPIError

from ironlaw.errors import LedgerDamaged, LedgerError, LedgerNewer, LedgerUnavailable
from ironlaw.ledger.place import Place

KEPT = "everything saved before is still there"
ELSEWHERE = "set IRONLAW_HOME (a folder) or IRONLAW_LEDGER (a file) to a place you can write to"


def name(error: BaseException | None) -> str:
    """SQLite's own name for it, such as SQLITE_FULL."""
    return getattr(error, "sqlite_errorname", None) or ""


def explain(place: Place, error: Exception) -> LedgerError:
    """The error to raise instead."""
    reason = error.orig if isinstance(error, DBAPIError) else error
    if place.path is None:
        return _postgresql(place, reason)
    code = name(reason)
    if code.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or isinstance(reason, UnicodeDecodeError) or "decode to UTF-8" in str(reason):
        return damaged(place, str(reason))
    if code.startswith("SQLITE_FULL"):
        return LedgerUnavailable(f"no room on the disk for the ledger {place}: this was not written; {KEPT}; free some space and try again")
    if code.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")):
        return no_permission(place, str(reason))
    if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return LedgerUnavailable(
            f"another program kept the ledger {place} locked for too long: this was not written; {KEPT};"
            " close whatever else has it open (a database browser, say) and try again"
        )
    if code.startswith("SQLITE_IOERR"):
        return LedgerUnavailable(
            f"the disk failed while the ledger {place} was in use ({reason}, {code}): assume that this was not written; {KEPT};"
            " check whether the disk is full or disconnected, then try again"
        )
    if isinstance(reason, sqlite3.OperationalError) and "no such table" in str(reason):
        return damaged(place, str(reason))
    return LedgerUnavailable(f"the ledger {place} reports: {reason}; {KEPT}; inspect it with `ironlaw ledger show`")


def no_permission(place: Place, reason: str) -> LedgerUnavailable:
    return LedgerUnavailable(
        f"cannot write the ledger {place} ({reason}): nothing was written; {KEPT};"
        f" make the file and its folder writable, or {ELSEWHERE} (you can copy the file there)"
    )


def damaged(place: Place, reason: str) -> LedgerDamaged:
    where = f"in {place}" if place.path is None else f"{place}"
    error = LedgerDamaged(
        f"the ledger {where} is damaged ({reason}) and was left unchanged. `ironlaw ledger repair` sets it aside whole and carries over"
        " what can be read; `ironlaw ledger export saved.json --rescue` only saves that; or restore a backup"
    )
    error.reason = reason
    return error


def unreadable(place: Place, reason: str) -> LedgerDamaged:
    file, saved = shlex.quote(str(place.path)), shlex.quote(f"{place.path}.recovered")
    return LedgerDamaged(
        f"nothing in the ledger {place} can be read ({reason}); it was left unchanged. Restore a backup, or move it away and import an"
        f" older export; the last resort is `sqlite3 {file} .recover | sqlite3 {saved}` with a newer sqlite3, then IRONLAW_LEDGER={saved}"
    )


def not_a_ledger(place: Place, reason: str) -> LedgerDamaged:
    return LedgerDamaged(
        f"{place} is not an ironlaw ledger ({reason}) and was left unchanged; name another file in IRONLAW_LEDGER,"
        " or, if it should be one, restore it from a backup"
    )


def newer(place: Place, revision: str, head: str) -> LedgerNewer:
    return LedgerNewer(
        f"the ledger {place} was written by a newer ironlaw (revision {revision}; this one knows up to {head}) and was left unchanged;"
        " upgrade with `pip install --upgrade ironlaw`, or run `ironlaw ledger export` with the newer one and import the file"
        " into another ledger here"
    )


def migrated(place: Place) -> LedgerNewer:
    return LedgerNewer(
        f"a newer ironlaw has updated the ledger {place} while this one was running, so this one writes nothing more into it,"
        " and nothing is lost; stop this one, then start the newer one with `ironlaw labs`"
    )


def file_replaced(place: Place) -> LedgerUnavailable:
    return LedgerUnavailable(
        f"the ledger {place} was moved, deleted or replaced while ironlaw was using it: nothing was written;"
        " put it back and start ironlaw again"
    )


def _postgresql(place: Place, error: BaseException | None) -> LedgerError:
    reason = " ".join(str(error).split())[:300]
    state = getattr(error, "sqlstate", None) or ""
    if state == "53100":
        return LedgerUnavailable(f"no room on the disk for the ledger in {place}: this was not written; {KEPT}; free some space there")
    if state in ("25006", "42501"):
        return LedgerUnavailable(
            f"no permission to write the ledger in {place} ({reason}); {KEPT}; ask its owner for write access, or {ELSEWHERE}"
        )
    if state.startswith("XX"):
        return damaged(place, reason)
    return LedgerUnavailable(
        f"the ledger in {place} is not responding properly ({reason}): this was not written; {KEPT};"
        " check that the server is running and that IRONLAW_LEDGER is right, then try again"
    )
