"""A small process above the user's code, on Linux: it adopts whatever that code leaves behind, and ends it.

A daemon leaves its session and may empty its environment, but it can't choose who inherits it: with PR_SET_CHILD_SUBREAPER that is the
nearest ancestor which asked for it. So a process that waits and does nothing else starts the one with the user's code, and kills its
children until it has none.

Code that kills this process as well leaves its daemons to the next one above which asked for them: the command itself, while a file runs
(`Orphans`).
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # <linux/prctl.h>
ROUNDS = 20  # one that is killed may have children, which are ours next
DEATHS = ("SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGPIPE", "SIGALRM")  # that one to a whole group would bring


def supervise() -> bool:
    """Returns in a process of its own; this one stays above it, and ends as it does. False where there can be none."""
    if sys.platform != "linux" or not adopts():
        return False
    worker = os.fork()
    if worker == 0:
        return True
    os._exit(_stay(worker))


def adopts() -> bool:
    """Whether orphans among our descendants are now ours, and a signal comes when the parent dies."""
    return _told(PR_SET_CHILD_SUBREAPER, 1) and _told(PR_SET_PDEATHSIG, signal.SIGTERM)


def _told(option: int, value: int) -> bool:
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0)
    except (ImportError, OSError, AttributeError):
        return False


class Orphans:
    """What a killed supervisor leaves behind comes to this process. `end` kills it: children that are not from before and have left our
    session, while no supervisor is there whose they could be."""

    running: ClassVar[set[int]] = set()  # supervisors of this process; several files may run at once
    lock = threading.Lock()

    def __init__(self) -> None:
        self.before = set(children()) if sys.platform == "linux" else set()

    def expect(self, supervisor: int) -> None:
        with self.lock:
            self.running.add(supervisor)
            _told(PR_SET_CHILD_SUBREAPER, 1)

    def end(self, supervisor: int, killed: bool) -> None:
        with self.lock:
            for _ in range(ROUNDS if killed else 0):
                left = [child for child in children() if child not in self.before | self.running and _has_left(child)]
                for child in left:
                    with suppress(OSError):
                        os.kill(child, signal.SIGKILL)
                        os.waitpid(child, 0)
                if not left:
                    break
            self.running.discard(supervisor)
            if not self.running:
                _told(PR_SET_CHILD_SUBREAPER, 0)


def _has_left(child: int) -> bool:
    with suppress(OSError):
        return os.getsid(child) != os.getsid(0)
    return False


def _stay(worker: int) -> int:
    for descriptor in range(3):  # or the parent would not see that the worker closed them
        with suppress(OSError):
            os.close(descriptor)
    for name in DEATHS:
        signal.signal(getattr(signal, name), signal.SIG_IGN)

    def end(number: int, frame: Any) -> None:
        for child in children():
            with suppress(OSError):
                os.kill(child, signal.SIGKILL)

    signal.signal(signal.SIGTERM, end)
    status = 0
    while True:
        try:
            child, code = os.waitpid(-1, 0)
        except ChildProcessError:
            break
        if child == worker:
            status, worker = code, 0
        if not worker:
            end(0, None)
    if os.WIFSIGNALED(status):
        _die_of(os.WTERMSIG(status))
    return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 1


def children() -> Iterator[int]:
    """The children of this process, including those it has adopted."""
    own = os.getpid()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            if int((folder / "stat").read_bytes().rpartition(b")")[2].split()[1]) == own:
                yield int(folder.name)


def _die_of(number: int) -> None:
    """Ends the way the worker did, so that the parent can say so, without a second core file."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError, ValueError):  # SIGKILL has no handler
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
