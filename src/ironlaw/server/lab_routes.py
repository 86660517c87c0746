"""The labs under /lab/<slug>/: a page each, whether the server is there, and the socket over which a page asks.

What labs need takes a second to import, so the gallery does not wait for it: `warm` runs in the background once the first page is out, and
a learner who opens a lab sooner waits for it. A lab that can't be shown answers with the reason; the others and the gallery go on.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import time
import uuid
from contextlib import suppress
from html import escape
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.websockets import WebSocket

from ironlaw import command
from ironlaw.pages import lab_page, widget
from ironlaw.pages.lab_catalogue import LABS, Lab, every_lab, find
from ironlaw.pages.no_such_page import no_such_page
from ironlaw.pages.page_templates import static
from ironlaw.server import glossary_routes, pages
from ironlaw.server.form_parsing import one_at_a_time
from ironlaw.server.lab_socket import Sockets
from ironlaw.server.request_limits import PAGES

QUIET_S = 1.5  # without a request, get the other labs ready
# No script but the server's own files: one that is smuggled in, in a text of the ledger say, does not run.
POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "connect-src 'self' {sockets}; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


class Labs:
    """An ASGI app for everything under /lab/."""

    def __init__(self, folder: Path, pages: int = PAGES, in_jupyter: bool = False) -> None:
        self.folder, self.sockets, self.in_jupyter = folder, Sockets(pages), in_jupyter
        self.last_request = -QUIET_S  # when a lab last had a request
        one_at_a_time()
        offer_direct()

    def warm(self) -> None:
        """Imports what the labs need, and opens each once for nobody. May be called from any thread."""
        for lab in [lab for lab in every_lab(self.folder) if lab.ready]:
            self.wait()
            with suppress(Exception):  # reported by the lab when it is opened
                prepare(lab, self.folder == LABS and not lab.own)

    def close(self) -> None:
        """The labs' ledger, if a lab has opened one."""
        if "ironlaw.kit.shared_ledger" in sys.modules:
            sys.modules["ironlaw.kit.shared_ledger"].close_shared()

    def wait(self) -> None:
        """Wait until there was no request for a while: a learner who opens a lab now needs this thread's share of the CPU."""
        while time.monotonic() - self.last_request < QUIET_S:
            time.sleep(QUIET_S / 10)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.last_request = time.monotonic()
        slug, slash, place = scope["path"].removeprefix("/lab/").partition("/")
        if scope["type"] == "websocket":
            socket = WebSocket(scope, receive, send)
            if place == "ws":
                await self.sockets.serve(socket, find(slug, self.folder), slug)
            else:
                await socket.close(1008, "not part of a lab")
            return
        response = await self.answer(scope, slug, slash, place)
        await response(scope, receive, send)

    async def answer(self, scope: Any, slug: str, slash: str, place: str) -> Response:
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse(
                "405: this address only answers GET and HEAD; a lab talks over its WebSocket\n", 405, {"allow": "GET, HEAD"}
            )
        if place == "health":
            return PlainTextResponse("here\n", headers={"cache-control": "no-store"})
        if place:
            return pages.page("message.html", 404, **no_such_page(f"/lab/{slug}/{place}"))
        if not slash:
            return RedirectResponse(f"/lab/{slug}/", 307)
        host = next((value.decode("latin-1") for key, value in scope["headers"] if key == b"host"), "")
        return await run_in_threadpool(self.page, slug, host)

    def page(self, slug: str, host: str) -> Response:
        lab = find(slug, self.folder)
        if lab is None:
            return pages.page("message.html", 404, **no_such_page(f"/lab/{slug}/"))
        try:
            html = lab_page.page(lab, scripts(self.in_jupyter), f'<script src="{static()}/early.js"></script>\n') if lab.ready else ""
        except Exception as error:
            return pages.problem("This lab did not open", lab.title, f"{type(error).__name__}: {error}", 500)
        if not html:
            return pages.problem("This lab did not open", lab.title, lab.error, 500)
        # never cached, so that going back shows what the ledger holds
        return HTMLResponse(html, headers={"cache-control": "no-store", "content-security-policy": POLICY.format(sockets=sockets(host))})


def sockets(host: str) -> str:
    """A page's sockets, for the policy; in some browsers 'self' does not cover them."""
    return f"ws://{host} wss://{host}"


def scripts(in_jupyter: bool = False) -> str:
    """What runs in every lab's page: around it, the glossary's words, and the pieces."""
    start = 'data-hub="yes"' if in_jupyter else f'data-start="{escape(command.line("labs"), quote=True)}" data-port="{command.PORT}"'
    return (
        f'<script src="{static()}/lab.js" {start}></script>'
        f'<script defer src="{glossary_routes.address()}/glossary.js"></script>'
        f'<script type="module" src="{widget.address()}/lab.js"></script>'
    )


def ahead() -> str:
    """Lets a browser fetch what a lab needs while the start page is read."""
    return f'<link rel="prefetch" href="{widget.address()}/lab.js" as="script">\n'


def offer_direct() -> None:
    """Instruments created from now on answer on /direct too."""
    from ironlaw.widget.direct_answers import OFFERED

    OFFERED.set()


def prepare(lab: Lab, ours: bool) -> None:
    """Opens the lab once for nobody, so that the first learner finds everything imported. A module of ours with a function `warm` computes
    in advance what its lab will need."""
    from ironlaw.kit.page import Page
    from ironlaw.ledger import Ledger
    from ironlaw.ledger.events import now
    from ironlaw.ledger.memory_store import MemoryStore

    learner = str(uuid.uuid4())
    page = Page(lab.folder, Ledger(MemoryStore(learner, now()), learner))
    page.open()
    page.close()
    if not ours:
        return
    package = importlib.import_module(f"ironlaw.labs.{lab.slug}")
    for module in pkgutil.iter_modules(package.__path__):
        if module.name != "lab":
            getattr(importlib.import_module(f"{package.__name__}.{module.name}"), "warm", lambda: None)()
