"""Inside the worker's process: takes a request, runs the job, sends parts and a result back, a line of JSON each.

The way back is a private copy of standard output, which itself leads to standard error from then on: what the user's code prints, at
whatever level, can't get between. The way in stays open; when it closes, the parent is gone, and this process ends with all it started.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from ironlaw.errors import IronlawError
from ironlaw.worker import endings, process_group, supervisor

Send = Callable[[Any], None]
LONGEST_S = 1e6  # that faulthandler can wait
VICTIM = "800"  # of 1000: where memory runs out, Linux ends this process rather than the parent


def main() -> None:
    """Never returns: the process ends at once, whatever threads and exit handlers the user's code has left."""
    supervised = supervisor.supervise()
    requests, channel = os.dup(0), os.dup(1)  # copies are not inherited by what is started later
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        score.write(VICTIM)
    request = json.loads(_line(requests))
    threading.Thread(
        target=_end_with_parent, args=(requests, "" if supervised else os.environ.get(process_group.MARK, "")), daemon=True
    ).start()
    faulthandler.enable()
    sys.argv = [request["name"]]
    own, key, before = os.getpid(), request["key"], surroundings()

    def send(message: Any) -> None:
        if os.getpid() != own:  # the user's code has forked: one answer is enough
            os._exit(0)
        # the parent believes those with its key: the file may write to every descriptor that it finds, half a line too
        content = memoryview(b"\n" + json.dumps({**message, "key": key}).encode() + b"\n")
        while content:
            content = content[os.write(channel, content) :]

    send({"begun": True})
    if 0 < request["limit_s"] < LONGEST_S:
        faulthandler.dump_traceback_later(request["limit_s"], file=channel)
    answer = _answer(request, lambda part: send({"part": part}))
    if "internal" in answer and (changes := missing(before)):
        answer = _refusal(endings.undermined(request["name"], changes))
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    send(answer)
    os._exit(0)


def _answer(request: Any, send: Send) -> dict[str, Any]:
    name = request["name"]
    try:
        module, _, function = request["job"].partition(":")
        return {"result": getattr(import_module(module), function)(request["request"], send)}
    except IronlawError as error:
        return {"error": {"kind": type(error).__name__, "message": str(error), "field": error.field}}
    except SystemExit as error:
        return _refusal(endings.stopped(name, f"sys.exit({error.code!r})", users_place(error, name) or "an unknown line"))
    except BaseException as error:
        place, what = users_place(error, name), described(error)
        if place:
            return _refusal(endings.failed(name, what, place))
        if os.environ.get("IRONLAW_DEBUG"):
            traceback.print_exc()
        return {"internal": what}


def surroundings() -> tuple[list[str], list[str]]:
    return list(sys.path), list(sys.modules)


def missing(before: tuple[list[str], list[str]]) -> str:
    """What the user's code has taken away of the process that it shares with ours."""
    path, modules = before
    try:
        os.getcwd()
    except OSError:
        return "the folder that it runs in"
    if not {*path} <= {*sys.path}:
        return "folders of sys.path"
    return "modules of sys.modules" if not {*modules} <= {*sys.modules} else ""


def _refusal(message: str) -> dict[str, Any]:
    return {"error": {"kind": "BadValue", "message": message, "field": ""}}


def described(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}".removesuffix(": ")
    except Exception:  # its own __str__ fails
        return type(error).__name__


def users_place(error: BaseException, name: str) -> str:
    """The innermost line of the user's file that led here; empty where there is none."""
    lines = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).name == Path(name).name]
    return f"{Path(name).name}:{lines[-1].lineno} ({(lines[-1].line or '').strip()})" if lines else ""


def _line(descriptor: int) -> bytes:
    content = b""
    while not content.endswith(b"\n"):
        more = os.read(descriptor, 1 << 16)
        if not more:
            os._exit(1)
        content += more
    return content


def _end_with_parent(requests: int, mark: str) -> None:
    try:
        os.read(requests, 1)
    except OSError:  # the user's code has closed it
        return
    if not mark:
        os._exit(1)  # the supervisor ends the rest
    process_group.end_marked(mark)
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)
