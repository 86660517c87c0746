"""A folder of hand-ins while they arrive: each look reads what is new or changed, and nothing else.

A file that is being written is not broken yet. Until it has been left alone for a while, what was read of it before stays.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from ironlaw.classroom.hand_in_file import HandIn, Name, Refusal, read
from ironlaw.classroom.hand_ins import HandIns, listing, together
from ironlaw.classroom.reading import FEWEST, read_all

SETTLED_S = 10.0  # a file that nobody has written to for so long is as it will be
UNFINISHED = ("empty", "truncated", "damaged", "foreign", "invalid", "edited", "encoding", "unreadable")
Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class _Kept:
    """`stamp`: of the file when it was read; None where it has to be read again."""

    stamp: Stamp | None
    result: HandIn | Refusal | None


class Folder:
    """`look()` says whether anything has changed, `hand_ins()` what there is."""

    def __init__(self, folder: Path, idle_s: float) -> None:
        self.folder, self.idle_s = folder, idle_s
        self._kept: dict[str, _Kept] = {}

    def look(self) -> bool:
        """BadValue where the folder can't be read."""
        paths, links, _ = listing(self.folder, None)
        here = {path.relative_to(self.folder).as_posix(): path for path in [*paths, *links]}
        gone = self._kept.keys() - here.keys()
        for name in gone:
            del self._kept[name]
        stamps = {name: _stamp(path) for name, path in here.items()}
        fresh = [name for name, stamp in stamps.items() if name not in self._kept or stamp is None or self._kept[name].stamp != stamp]
        files = [(here[name], name) for name in fresh]
        results = read_all(files, self.idle_s) if len(files) >= FEWEST else [read(path, name, self.idle_s) for path, name in files]
        changed = bool(gone)
        for name, result in zip(fresh, results, strict=True):
            before = self._kept.get(name, _Kept(None, None))
            self._kept[name] = now = _settled(before, stamps[name], result)
            changed = changed or now.result != before.result
        return changed

    def hand_ins(self) -> HandIns:
        def again(one: HandIn, known: frozenset[Name]) -> HandIn | Refusal:
            return read(self.folder / one.file, one.file, self.idle_s, known)

        return together((kept.result for kept in self._kept.values() if kept.result is not None), again, idle_s=self.idle_s)


def _settled(before: _Kept, stamp: Stamp | None, result: HandIn | Refusal) -> _Kept:
    arriving = stamp is None or abs(time.time() - stamp[0] / 1e9) < SETTLED_S
    if isinstance(result, Refusal) and result.kind in UNFINISHED and arriving:
        return _Kept(None, before.result)
    return _Kept(stamp, result)


def _stamp(path: Path) -> Stamp | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
