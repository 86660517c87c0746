"""Removes a folder as soon as the process that started this one is gone, in whatever way it went.

Run as a script in a session of its own: what kills an experiment and all that it started does not reach it.
"""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

TRIES = 100  # a job that still writes may bring a file back


def remove(folder: Path, wait: float = 0.1) -> None:
    for _ in range(TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(wait)


if __name__ == "__main__":
    sys.stdin.read()  # ends with the one who holds the other end
    remove(Path(sys.argv[1]))
