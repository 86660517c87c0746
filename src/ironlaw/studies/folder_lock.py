"""One run at a time in a folder. The system lets go of the lock when its process ends, however it ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ironlaw.errors import BadValue

NAME = ".lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    handle = os.open(folder / NAME, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            _take(handle)
        except OSError:
            who = os.pread(handle, 32, 1).decode("ascii", "replace").strip() if hasattr(os, "pread") else ""
            run = f"another run (process {who})" if who else "another run"
            raise BadValue(f"{run} is writing to {folder}; wait until it ends, or name another folder with --out") from None
        os.ftruncate(handle, 0)
        os.write(handle, f" {os.getpid()}\n".encode())  # the first byte is what Windows locks
        yield
    finally:
        os.close(handle)


def is_held(folder: Path) -> bool:
    """Whether a run is writing to the folder. Nothing is written, and no link is followed."""
    try:
        handle = os.open(folder / NAME, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return False
    try:
        _take(handle)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False


if sys.platform == "win32":

    def _take(handle: int) -> None:
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
else:

    def _take(handle: int) -> None:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
