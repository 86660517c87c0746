"""A ledger without a database: a page asks it dozens of times, and SQL took an eighth of these tests. Between pages it is a file to copy.

What a database adds is tested where it matters: in tests/ledger, and with labs in tests/server, tests/kit and the browser's.
"""

import json
from pathlib import Path
from uuid import uuid4

from ironlaw.ledger import Ledger
from ironlaw.ledger.events import now
from ironlaw.ledger.memory_store import MemoryStore


class KeptInFile(MemoryStore):
    """The chain of its rows is checked whenever it is opened, as everywhere."""

    def __init__(self, path: Path) -> None:
        self.path = path
        learner, since, rows = json.loads(path.read_text("utf-8")) if path.exists() else (str(uuid4()), now(), ())
        super().__init__(learner, since, rows, str(path))

    def close(self) -> None:
        self.path.write_text(json.dumps([self.learner, self.since, self.rows]), "utf-8")


def open_ledger(path: Path) -> Ledger:
    store = KeptInFile(path)
    return Ledger(store, store.learner)
