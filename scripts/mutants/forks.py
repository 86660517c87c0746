"""Processes that do one thing and end, and how pytest runs in them."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

OPTIONS = ["-q", "-s", "-x", "--assert=plain", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:anyio", "-o", "addopts="]


def fork(child: Callable[[], int], output: Path) -> int:
    """Its process id; what it writes goes to `output`."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 3
    try:
        words = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(words, 1)
        os.dup2(words, 2)
        code = child()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def ended(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
