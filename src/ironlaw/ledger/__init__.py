"""The Design Ledger: what a learner decided, kept from lab to lab as append-only events.

>>> ledger = open_ledger()
>>> ledger.commit_prediction("lab_01_magnitude", "act1", choice="e6", value=1e6, confidence=4, correct=False, attempt=1)
>>> ledger.prediction("lab_01_magnitude", "act1").payload["choice"]
'e6'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ironlaw.ledger.event_kinds import KINDS
from ironlaw.ledger.events import Event
from ironlaw.ledger.ledger import Ledger, Progress, open_ledger

if TYPE_CHECKING:
    from ironlaw.ledger.place import where
    from ironlaw.ledger.restore import repair, verify
    from ironlaw.ledger.salvage_file import rescue

__all__ = ["KINDS", "Event", "Ledger", "Progress", "open_ledger", "repair", "rescue", "verify", "where"]

LATE = {"where": "place", "repair": "restore", "verify": "restore", "rescue": "salvage_file"}  # these bring SQLAlchemy


def __getattr__(name: str) -> Any:
    if name in LATE:
        return getattr(import_module(f"ironlaw.ledger.{LATE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
