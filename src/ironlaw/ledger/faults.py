"""What the database complains of -> what a person can do about it."""

from __future__ import annotations

import shlex
import sqlite3

from sqlalchemy.exc import DBAPIError

from ironlaw.errors import LedgerDamaged, LedgerError, LedgerNewer, LedgerUnavailable
from ironlaw.ledger.place import Place

KEPT = "everything acknowledged before is still there"
ELSEWHERE = "set IRONLAW_HOME (a folder) or IRONLAW_LEDGER (a file) to a place that you can write to"


def name(error: BaseException | None) -> str:
    """SQLite's own name for it, such as SQLITE_FULL."""
    return getattr(error, "sqlite_errorname", None) or ""


def explain(place: Place, error: Exception) -> LedgerError:
    """The error to raise in its stead."""
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
            " close what else has it open (a database browser, say) and try again"
        )
    if code.startswith("SQLITE_IOERR"):
        return LedgerUnavailable(
            f"the disk failed under the ledger {place} ({reason}, {code}): take this as not written; {KEPT};"
            " see whether the disk is full or was taken away, then try again"
        )
    if isinstance(reason, sqlite3.OperationalError) and "no such table" in str(reason):
        return damaged(place, str(reason))
    return LedgerUnavailable(f"the ledger {place} refused: {reason}; {KEPT}; look at it with `ironlaw ledger show`")


def no_permission(place: Place, reason: str) -> LedgerUnavailable:
    return LedgerUnavailable(
        f"cannot write the ledger {place} ({reason}): nothing was written; {KEPT};"
        f" make the file and its folder writable for you, or {ELSEWHERE} (a copy of the file may lie there)"
    )


def damaged(place: Place, reason: str) -> LedgerDamaged:
    if place.path is None:
        return LedgerDamaged(f"the ledger in {place} is damaged ({reason}) and was left as it is; restore the database from its back-up")
    return LedgerDamaged(
        f"the ledger {place} is damaged ({reason}) and was left as it is. Put a back-up in its place; or save what can be read with"
        " `ironlaw ledger export saved.json --rescue`, move the file and its -wal away, and `ironlaw ledger import saved.json`"
        " (or an older export)"
    )


def unreadable(place: Place, reason: str) -> LedgerDamaged:
    file, saved = shlex.quote(str(place.path)), shlex.quote(f"{place.path}.recovered")
    return LedgerDamaged(
        f"nothing can be read of the ledger {place} ({reason}); it was left as it is. Restore a back-up, or move it away and import an"
        f" older export; the last resort is `sqlite3 {file} .recover | sqlite3 {saved}` with a newer sqlite3, then IRONLAW_LEDGER={saved}"
    )


def stranger(place: Place, reason: str) -> LedgerDamaged:
    return LedgerDamaged(
        f"{place} is no ledger of ironlaw's ({reason}) and was left as it is; name another file in IRONLAW_LEDGER,"
        " or restore the ledger from a back-up if it should be one"
    )


def newer(place: Place, revision: str, head: str) -> LedgerNewer:
    return LedgerNewer(
        f"the ledger {place} was written by a newer ironlaw (revision {revision}; this one knows up to {head}) and was left as it is;"
        " upgrade with `pip install --upgrade ironlaw`, or use `ironlaw ledger export` there and import the file into another ledger here"
    )


def gone(place: Place) -> LedgerUnavailable:
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
        return LedgerUnavailable(f"may not write the ledger in {place} ({reason}); {KEPT}; ask its owner for the right to, or {ELSEWHERE}")
    if state.startswith("XX"):
        return damaged(place, reason)
    return LedgerUnavailable(
        f"the ledger in {place} does not answer as it should ({reason}): this was not written; {KEPT};"
        " see that the server runs and that IRONLAW_LEDGER is right, then try again"
    )
