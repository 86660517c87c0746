"""The parent's side of a worker: starts it, hears its parts and its result, relays what it prints, and ends it whatever happens."""

from __future__ import annotations

import codecs
import json
import os
import queue
import re
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from ironlaw import errors
from ironlaw.errors import BadValue, IronlawError
from ironlaw.worker import endings, process_group, supervisor

BOOT = "import json, sys; sys.path[:] = json.loads(sys.argv.pop()); from ironlaw.worker.child import main; main()"
RELAYED = 1 << 16  # bytes of the user's prints that are shown
GRACE_S = 1.0  # for a process to end before it is killed
START_S = 120.0  # for a process to begin its job: a busy machine's slowness is not the user's
PLACE_S = 5.0  # for it to say where it is when its time is over
LOOK_S = 0.2  # between two looks at whether the process is still there
FRAME = re.compile(r'File "(.+)", line (\d+) in ')
Part = Callable[[Any], None]


def run(job: str, request: Any, *, name: str, limit_s: float = 0.0, on_part: Part | None = None) -> Any:
    """What the function `job` ("package.module:function") returns for `request`, run in a process of its own.

    It is called with the request and a function that sends parts, which `on_part` receives; all are JSON. `name` is the user's file,
    for messages. `limit_s` seconds after it has begun (0: never) it is ended.
    """
    session = Session(name, limit_s)
    try:
        session.start({"job": job, "request": request, "name": name, "limit_s": limit_s})
        return session.listen(on_part or (lambda part: None))
    finally:
        session.end()


class Session:
    def __init__(self, name: str, limit_s: float) -> None:
        self.name, self.limit_s, self.mark, self.key = name, limit_s, secrets.token_hex(8), secrets.token_hex(8)
        self.deadline = float("inf")
        self.lines: queue.Queue[bytes] = queue.Queue()
        self.stacks: list[str] = []  # where the process was when its time was over
        self.threads: list[threading.Thread] = []
        self.process: subprocess.Popen[bytes] | None = None
        self.orphans: supervisor.Orphans | None = None

    def start(self, request: Any) -> None:
        command = [sys.executable, "-P", "-c", BOOT, json.dumps(sys.path)]
        try:
            os.getcwd()
        except OSError:
            raise BadValue(f"the folder that this command runs in was deleted; change to another, then run {self.name} again") from None
        if sys.platform == "linux":
            self.orphans = supervisor.Orphans()
        try:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **process_group.settings(self.mark)
            )
        except OSError as error:
            raise BadValue(
                f"no process could be started for {self.name} ({error.strerror or error}); close other programs, then try again"
            ) from None
        if self.orphans:
            self.orphans.expect(self.process.pid)
        for target, stream in ((self._hear, self.process.stdout), (self._relay, self.process.stderr)):
            thread = threading.Thread(target=target, args=(stream,), daemon=True)
            thread.start()
            self.threads.append(thread)
        assert self.process.stdin is not None
        with suppress(OSError):  # it has ended already, and `listen` will say how
            self.process.stdin.write(json.dumps({**request, "key": self.key}).encode() + b"\n")
            self.process.stdin.flush()

    def listen(self, on_part: Part) -> Any:
        for line in self._answers():
            try:
                message = json.loads(line)
                if not isinstance(message, dict) or message.get("key") != self.key:  # the file may write to every descriptor that it finds
                    raise ValueError
            except (ValueError, RecursionError):
                if FRAME.search(text := line.decode("utf-8", "replace")):
                    self.stacks.append(text)
                continue
            if "begun" in message:
                self._allow(self.limit_s)
            elif "part" in message:
                on_part(message["part"])
            elif "result" in message:
                return message["result"]
            else:
                raise _error(message)
        assert self.process is not None
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(GRACE_S)
        raise BadValue(endings.describe(self.name, self.process.returncode))

    def _answers(self) -> Iterator[bytes]:
        """Lines as they arrive, until the process has ended or its time is over."""
        assert self.process is not None
        self._allow(START_S)
        while True:
            if (late := time.monotonic() - self.deadline) > PLACE_S or (late > 0 and self._place()):
                raise BadValue(endings.too_long(self.name, self.limit_s, self._place()))
            try:
                line = self.lines.get(timeout=LOOK_S)
            except queue.Empty:
                if self.process.poll() is None:
                    continue
                process_group.end(self.process, self.mark)  # what it started may hold the pipe open
                self.threads[0].join(GRACE_S)
                line = b"" if self.lines.empty() else self.lines.get()
            if not line:
                return
            yield line

    def _allow(self, seconds: float) -> None:
        """Starts the time limit; a job without one may take as long as it likes, its start too."""
        self.deadline = time.monotonic() + seconds if self.limit_s else float("inf")

    def _place(self) -> str:
        """The innermost line of the user's file among the stacks that the process reported."""
        frames = [FRAME.search(line) for line in self.stacks]
        own = [frame for frame in frames if frame and Path(frame[1]).name == Path(self.name).name]
        return f"line {own[0][2]}" if own else ""

    def _hear(self, stream: IO[bytes]) -> None:
        with suppress(OSError, ValueError):
            for line in stream:
                self.lines.put(line)
        self.lines.put(b"")

    def _relay(self, stream: IO[bytes]) -> None:
        """What the user's code prints goes to standard error, up to a limit; it is read to the end, so that nothing waits."""
        decoder, left = codecs.getincrementaldecoder("utf-8")("replace"), RELAYED
        with suppress(OSError, ValueError):
            while chunk := os.read(stream.fileno(), 1 << 16):
                if left >= 0:
                    _print(decoder.decode(chunk[:left]))
                    left -= len(chunk)
                    if left < 0:
                        _print(f"\n… the rest of what {self.name} prints is left out\n")

    def end(self) -> None:
        if self.process is None:
            return
        process_group.end(self.process, self.mark)
        if self.orphans:
            self.orphans.end(self.process.pid, (self.process.returncode or 0) < 0)
        for thread, stream in zip(self.threads, (self.process.stdout, self.process.stderr), strict=True):
            thread.join(GRACE_S)
            if stream is not None and not thread.is_alive():  # closing one that is being read would wait
                stream.close()
        with suppress(OSError):
            if self.process.stdin is not None:
                self.process.stdin.close()


def _print(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(text)
        sys.stderr.flush()


def _error(message: dict[str, Any]) -> Exception:
    refusal = message.get("error")
    if "internal" in message:
        return RuntimeError(message["internal"])
    if not isinstance(refusal, dict) or not all(isinstance(refusal.get(key), str) for key in ("kind", "message", "field")):
        return BadValue("the process of your file sent what ironlaw never sends; a file must not write to descriptors that it did not open")
    kind = getattr(errors, refusal["kind"], IronlawError)
    known = isinstance(kind, type) and issubclass(kind, IronlawError)
    error: Exception = (kind if known else IronlawError)(refusal["message"], refusal["field"])
    return error
