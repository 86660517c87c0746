"""The Design Ledger: what a learner decided, kept from lab to lab as append-only events.

>>> ledger = open_ledger()
>>> ledger.commit_prediction("lab_01_magnitude", "act1", choice="e6", value=1e6, confidence=4, correct=False, attempt=1)
>>> ledger.prediction("lab_01_magnitude", "act1").payload["choice"]
'e6'
"""

from ironlaw.ledger.events import Event
from ironlaw.ledger.kinds import KINDS
from ironlaw.ledger.ledger import Ledger, Progress, open_ledger
from ironlaw.ledger.place import where
from ironlaw.ledger.repair import repair, verify
from ironlaw.ledger.rescue import rescue

__all__ = ["KINDS", "Event", "Ledger", "Progress", "open_ledger", "repair", "rescue", "verify", "where"]
