"""When nobody has done anything for a while, a server behind a proxy ends: open pages are told, and its memory is free.

A page keeps its socket open and a socket is pinged, so to a hub a forgotten tab looks like somebody at work; without this, no hub could
tell that a student has left. What was committed is in the ledger; the next request starts the server again (`ironlaw.server.hub_server`).
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.server.work_queue import WORK

VARIABLE = "IRONLAW_HUB_IDLE_MINUTES"
MINUTES = 30.0
LOOK_S = 5.0
ASLEEP = '{"asleep":true}'  # a page stops asking, and comes back when somebody touches it


def idle_seconds() -> float:
    """How long nobody has to have done anything, from the environment; 0 means that the server never ends by itself."""
    text = os.environ.get(VARIABLE, "").strip()
    try:
        minutes = float(text) if text else MINUTES
    except ValueError:
        minutes = -1.0
    if not 0 <= minutes <= 1e6:
        raise BadValue(f"{VARIABLE}={text} is not a number of minutes; give one such as 30, or 0 to run until the Jupyter server ends")
    return 60 * minutes


class Clock:
    """Since when nobody has done anything, and whom to tell."""

    def __init__(self) -> None:
        self.last = time.monotonic()
        self.listeners: set[Callable[[Any], Any]] = set()

    def touch(self) -> None:
        self.last = time.monotonic()

    @property
    def idle(self) -> float:
        """For how many seconds nobody has done anything; 0 while something is being computed."""
        if any(WORK.running.values()):
            self.touch()
        return time.monotonic() - self.last

    async def watch(self, seconds: float, stop: Callable[[], None], look: float = LOOK_S) -> None:
        """Calls `stop` once nobody has done anything for so long, or nobody is there to start us again."""
        parent = os.getppid()
        while not seconds or self.idle < seconds:
            await asyncio.sleep(min(look, seconds or look))
            if os.getppid() != parent:
                break
        await self.say_good_night()
        stop()

    async def say_good_night(self) -> None:
        for send in list(self.listeners):
            with suppress(Exception):  # a page that has gone needs no word
                await send({"type": "websocket.send", "text": ASLEEP})
                await send({"type": "websocket.close", "code": 1001, "reason": "nobody has done anything for a while"})
