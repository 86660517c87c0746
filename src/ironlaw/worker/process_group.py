"""Ends a process together with everything that it started.

On Linux and macOS the process leads a session of its own, so one signal reaches all of it. On Linux what has left the session (a daemon) is
adopted and ended by the process's supervisor, which SIGTERM asks for that; should that be gone, a mark in the environment, which every
descendant inherits, finds most. On Windows `taskkill /T` follows the tree of processes.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

MARK = "IRONLAW_WORKER"
PATIENCE_S = 5.0
ROUNDS = 10  # a process may start another while it is being ended


def settings(mark: str) -> dict[str, Any]:
    """How Popen starts a process that `end` can end."""
    environment: Mapping[str, str] = {**os.environ, MARK: mark}
    if sys.platform == "win32":
        return {"env": environment, "creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"env": environment, "start_new_session": True}


def end(process: subprocess.Popen[bytes], mark: str) -> None:
    """Kill it and all that it started; returns when they are gone."""
    if sys.platform == "win32":
        command = ["taskkill", "/T", "/F", "/PID", str(process.pid)]
        with suppress(OSError, subprocess.SubprocessError):
            subprocess.run(command, capture_output=True, timeout=PATIENCE_S, check=False)
    else:
        if sys.platform == "linux" and process.poll() is None:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE_S)
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(PATIENCE_S)
    end_marked(mark)


def end_marked(mark: str) -> None:
    """What carries the mark and is not this process."""
    for _ in range(ROUNDS):
        left = [pid for pid in marked(mark) if pid != os.getpid()]
        for pid in left:
            with suppress(OSError):
                os.kill(pid, signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)
        if not left:
            return


def marked(mark: str) -> Iterator[int]:
    """Processes of this user with the mark in their environment; Linux only."""
    wanted = f"{MARK}={mark}".encode()
    for folder in Path("/proc").glob("[0-9]*") if sys.platform == "linux" else ():
        with suppress(OSError):  # it has ended, or is another user's
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                yield int(folder.name)
