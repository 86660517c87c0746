"""A ledger in few characters, for a course system that keeps a little text for each learner; and how far the learner is, in its terms.

The hashes are left out: they follow from the owner and the events, and are computed again when the copy is read.
"""

from __future__ import annotations

import base64
import json
import uuid
import zlib
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.ledger import Ledger
from ironlaw.ledger.chain import CONTENT, genesis, link, question_of
from ironlaw.ledger.memory_store import MemoryStore
from ironlaw.pages.records import standings
from ironlaw.site.ledger_damage import owner_of

LARGEST = 5_000_000  # characters that a copy may unpack to
UNREADABLE = (
    "the copy of your work that the course holds can't be read; if this browser has no work of yours, import the file that you saved"
)


def copy(store: MemoryStore, owner: str) -> str:
    """The events and whose they are, as text that any course system stores unchanged."""
    rows = [list(row[: len(CONTENT)]) for row in store.rows]
    text = json.dumps([owner, rows], separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def _read(text: str) -> tuple[str, list[list[Any]]]:
    try:
        unpacker = zlib.decompressobj()
        content = unpacker.decompress(base64.b64decode(text, validate=True), LARGEST)
        owner, rows = json.loads(content)
        if unpacker.unconsumed_tail or not isinstance(owner, str) or not all(len(row) == len(CONTENT) for row in rows):
            raise ValueError(len(rows))
    except (ValueError, TypeError, zlib.error, RecursionError):
        raise BadValue(UNREADABLE) from None
    return owner, rows


def owner_in(text: str) -> str:
    """Whose the copy is; empty where it can't be read."""
    try:
        owner = _read(text)[0]
        uuid.UUID(owner_of(owner)["learner"])
    except (BadValue, ValueError):
        return ""
    return owner


def exported(text: str) -> dict[str, Any]:
    """The copy as an export, which is checked like any other when it is imported."""
    owner, rows = _read(text)
    try:
        about = owner_of(owner)
        before, linked = genesis(about["learner"], about["since"]), []
        for row in rows:
            digest = link(before, row)
            linked.append((*row, question_of(row[5], row[6]), before, digest))
            before = digest
        store = MemoryStore(about["learner"], about["since"], linked)
        data: dict[str, Any] = Ledger(store, about["learner"]).export()
    except (ValueError, KeyError, TypeError, AttributeError):
        raise BadValue(UNREADABLE) from None
    return data


def progress(ledger: Ledger, owner: str, room: int) -> dict[str, Any]:
    """How far each lab is (an index into records.STAGES), how many events there are, and the copy if there is room for it."""
    store: Any = ledger.store
    text = copy(store, owner)
    stages = {slug: standing.stage for slug, standing in standings(ledger.events()).items()}
    return {"labs": stages, "events": len(store.rows), "copy": text if len(text) <= room else ""}
