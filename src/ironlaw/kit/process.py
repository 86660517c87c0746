"""Runs a measurement in a process of its own: starts it, reads its output, ends it. One at a time: two would disturb each other.

The process prints JSON lines: {"share", "doing"} as it goes, then {"result"} or {"error", "noisy"} (ironlaw.measure.experiments). A page
that is loaded again finds the run still going; its result is stored whether or not anybody is looking.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from ironlaw.errors import BadValue, IronlawError

LONGEST_S = 300.0  # none of our measurements takes that long
RUNNING, DONE, FAILED, CANCELLED = "running", "done", "failed", "cancelled"
Keep = Callable[[dict[str, Any]], None]


class Run:
    """One process. `keep` receives the result before the run counts as done."""

    def __init__(self, name: str, command: Sequence[str], keep: Keep, on_end: Callable[[], None], longest: float = LONGEST_S) -> None:
        self.name, self.keep, self.on_end = name, keep, on_end
        self.state, self.share, self.doing, self.error = RUNNING, 0.0, "starting", ""
        self.noisy = False  # refused because the machine was busy: the learner may take it all the same
        self._result: dict[str, Any] | None = None
        apart = os.name == "posix"  # a session of its own: what it starts itself (a compiler, say) ends with it
        self.process = subprocess.Popen(
            list(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=apart
        )
        self._errors_tail: list[str] = []
        self._limit = threading.Timer(longest, self._too_long, (longest,))
        self._limit.daemon = True
        self._limit.start()
        self._errors = threading.Thread(target=self._overhear, daemon=True)
        self._errors.start()
        self.thread = threading.Thread(target=self._listen, daemon=True)
        self.thread.start()

    def cancel(self) -> None:
        if self.state == RUNNING:
            self.state = CANCELLED
            self.end()

    def end(self) -> None:
        with suppress(OSError):
            if os.name == "posix":
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()

    def _too_long(self, longest: float) -> None:
        if self.state == RUNNING:
            self.error = f"It took longer than {longest:.0f} s and was ended; close other programs, then measure again."
            self.end()

    def _overhear(self) -> None:
        for line in self.process.stderr or ():
            self._errors_tail = [*self._errors_tail[-19:], line.strip()]

    def _listen(self) -> None:
        for line in self.process.stdout or ():
            self._hear(line)
        code = self.process.wait()
        self._errors.join()
        self._limit.cancel()
        if self.state == RUNNING:
            self.state = self._outcome(code)
        self.on_end()

    def _hear(self, line: str) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            return  # a library printed something of its own
        if not isinstance(message, dict):
            return
        self.share, self.doing = float(message.get("share", self.share)), str(message.get("doing", self.doing))
        self.error = str(message.get("error", self.error))
        self.noisy = bool(message.get("noisy", self.noisy))
        self._result = message.get("result", self._result)

    def _outcome(self, code: int) -> str:
        if not self.error and self._result is None:
            last = next((line for line in reversed(self._errors_tail) if line), f"it ended with {code}")
            self.error = f"The measurement stopped early: {last}. Try again; if that does not help, run it in a terminal to see more."
        if self.error:
            return FAILED
        try:
            assert self._result is not None
            self.keep(self._result)
        except IronlawError as error:
            self.error = f"It was measured, but the result could not be saved: {error}"
            return FAILED
        return DONE


class JobRunner:
    """Where runs are started. `finished` rises with every run that ends, so that a page knows when to look again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.now: Run | None = None
        self.finished = 0

    def start(self, name: str, command: Sequence[str], keep: Keep) -> Run:
        with self._lock:
            if self.now is not None:
                raise BadValue(
                    f"Another measurement is running ({self.now.name}), and two would disturb each other; wait for it or cancel it."
                )
            try:
                self.now = Run(name, command, keep, self._on_end)
            except OSError as error:
                raise BadValue(f"{command[0]} could not be started: {error.strerror or error}; start the labs again") from None
            return self.now

    def running(self, name: str) -> Run | None:
        now = self.now
        return now if now is not None and now.name == name else None

    def cancel(self, name: str) -> None:
        run = self.running(name)
        if run is not None:
            run.cancel()
            run.thread.join(timeout=5)

    def _on_end(self) -> None:
        self.finished += 1  # first: a reader that sees nothing running must also see that a run has ended
        self.now = None

    def close(self) -> None:
        """Leaves nothing running when the server ends."""
        if self.now is not None:
            self.now.end()


JOBS = JobRunner()
atexit.register(JOBS.close)
