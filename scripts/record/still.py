"""What would differ from run to run is held still (the clock, ids, the home folder, the terminal's width) or blanked."""

from __future__ import annotations

import datetime as dates
import hashlib
import os
import re
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

NOON = dates.datetime(2026, 1, 2, 12, 0, 0, tzinfo=dates.UTC)
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)")
SETTINGS = {
    "COLUMNS": "120", "TZ": "UTC", "NO_COLOR": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1",
}  # fmt: skip
UNSET = ("IRONLAW_LEDGER", "IRONLAW_DEBUG", "FORCE_COLOR", "GITHUB_STEP_SUMMARY")
Real = dates.datetime


class _AnyDate(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Real)


class Noon(Real, metaclass=_AnyDate):
    """A datetime whose `now` is always noon of the same day."""

    @classmethod
    def now(cls, tz: dates.tzinfo | None = None) -> Any:
        return NOON.astimezone(tz) if tz else NOON.replace(tzinfo=None)


@contextmanager
def still(name: str = "") -> Iterator[Path]:
    """A new home folder where nothing was measured, a clock at noon, and ids that count up, in all modules imported so far or later.

    `name`: each has ids of its own, so that a ledger from one can be imported in another.
    """
    before = dict(os.environ)
    first = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") << 64
    ids = count(first)

    def next_id() -> uuid.UUID:
        return uuid.UUID(int=next(ids), version=4)

    swaps = {Real: Noon, uuid.uuid4: next_id}
    _swap(swaps)
    with tempfile.TemporaryDirectory(prefix="ironlaw-record-") as place:
        os.environ.update(SETTINGS, IRONLAW_HOME=str(Path(place, "home")))
        for variable in UNSET:
            os.environ.pop(variable, None)
        try:
            yield Path(place)
        finally:
            os.environ.clear()
            os.environ.update(before)
            _swap({still: real for real, still in swaps.items()})  # also where a module was imported meanwhile


def _swap(others: dict[Any, Any]) -> None:
    """Put others in the place of these objects, wherever a module has them by name."""
    by_id = {id(one): other for one, other in others.items()}
    for module in [dates, uuid, *(module for key, module in list(sys.modules.items()) if key.partition(".")[0] == "ironlaw")]:
        for key, value in list(vars(module).items()):
            if id(value) in by_id:
                setattr(module, key, by_id[id(value)])


def blanked(text: str, place: Path) -> str:
    """Without what differs from run to run: ids, times, and where the files are."""
    text = text.replace(str(place), "<place>").replace(sys.prefix, "<python>")
    return TIME.sub("<time>", ID.sub("<id>", text))
