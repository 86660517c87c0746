"""The socket of one lab's page. Whoever opens it gets the lab as it stands; each act is answered with what it changed, one after the other.

    -> {"cells": …, "pieces": …}                      at once
    <- {"piece": "p3", "state": {…}}
    -> {"cells": …, "pieces": …, "new": …}            or {"error": "…"}

A page lives as long as its socket. What a learner commits is in the ledger before the answer: a page that is loaded again goes on there.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from ironlaw.errors import BadValue, IronlawError
from ironlaw.pages.lab_catalogue import Lab
from ironlaw.server.direct_socket import NO_TEXT
from ironlaw.server.request_limits import PAGES
from ironlaw.server.work_queue import ACT, OPEN, WORK

LOG = logging.getLogger(__name__)
FAULT = "this is a bug in ironlaw, and what you committed is kept; load the page again"
REFUSED = 4000  # the socket's code for a page that need not try again


class Sockets:
    """The open pages of all labs; `most` may be open at once."""

    def __init__(self, most: int = PAGES) -> None:
        self.count, self.most = 0, most

    async def serve(self, socket: WebSocket, lab: Lab | None, slug: str) -> None:
        await socket.accept()
        reason = crowded(self.most) if self.count >= self.most else self.trouble(lab, slug)
        if reason or lab is None:
            await socket.send_text(text({"refused": True, "error": reason}))
            await socket.close(REFUSED, "this lab did not open")
            return
        self.count += 1
        desk = LabDesk(lab)
        try:
            await socket.send_text(await WORK.run(OPEN, answer, desk.open))
            while (message := await socket.receive())["type"] == "websocket.receive":
                if message.get("text") is None:
                    await socket.close(NO_TEXT, "send text, not bytes")
                    return
                await socket.send_text(await WORK.run(ACT, answer, desk.act, message["text"]))
        except WebSocketDisconnect:
            pass  # left before the answer, or takes none: nobody to tell
        finally:
            self.count -= 1
            await WORK.run(ACT, desk.close)

    def trouble(self, lab: Lab | None, slug: str) -> str:
        if lab is None:
            return f"there is no lab {slug!r}; choose one from the list"
        return "" if lab.ready else lab.error


def crowded(most: int) -> str:
    return f"{most} labs are open, and this server takes no more. Close one, or start it with a larger --pages, then load this page again"


class LabDesk:
    """One lab, as one page shows it, on the ledger that all pages share."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.page: Any = None

    def open(self) -> dict[str, Any]:
        from ironlaw.kit.page import Page  # brings the kit, which the start page need not wait for
        from ironlaw.kit.shared_ledger import shared_ledger

        class Shared(Page):
            def ledger(self) -> Any:
                return shared_ledger()

        self.page = Shared(self.lab.folder, None)
        self.page.open()
        shown: dict[str, Any] = self.page.shown()
        return shown

    def act(self, message: str) -> dict[str, Any]:
        try:
            asked = json.loads(message)
            piece, state = str(asked["piece"]), dict(asked["state"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise BadValue("this message can't be read; send {piece, state} as JSON") from None
        changes: dict[str, Any] = self.page.act(piece, state)
        return changes

    def close(self) -> None:
        if self.page is not None:
            self.page.close()


def answer(asked: Callable[..., dict[str, Any]], *arguments: Any) -> str:
    try:
        return text(asked(*arguments))
    except IronlawError as error:
        return text({"error": str(error)})
    except Exception as error:
        LOG.exception("a lab could not answer")
        return text(
            {"error": f"{type(error).__name__}: {error}: this is a bug in ironlaw, and what you committed is kept; load the page again"}
        )


def text(value: Any) -> str:
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return written if written.isascii() else written.encode("utf-8", "replace").decode()  # half a character can't be sent
