"""The labs: marimo apps, mounted in this process under /lab/<slug>/.

marimo takes a second to import, so the gallery does not wait for it: `warm` runs in the background once the first page
is out, and a learner who opens a lab sooner waits for it. A lab that can't be mounted answers with the reason; the others and
the gallery go on.
"""

from __future__ import annotations

import importlib
import pkgutil
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse

from ironlaw.pages import widget
from ironlaw.pages.catalogue import LABS, Lab, catalogue, find
from ironlaw.server import pages
from ironlaw.server.marimo_cache import compute_once
from ironlaw.server.marimo_page import Rewritten
from ironlaw.server.parsing import one_at_a_time

QUIET_S = 1.5  # without a request, get the other labs ready
SESSION_S = 30  # how long a page that lost its connection may come back to the same session; the ledger brings back all the rest
MOST_SESSIONS = 48  # pages that are open at once, of all labs
CROWDED = f"{MOST_SESSIONS} labs are open; close one, then load this page again"
# What a lab needs first; imported in advance so that the first lab opens as fast as the second.
AHEAD = ("marimo._server.main", "marimo._runtime.runtime", "tomlkit", "anywidget", "ironlaw.kit")


class Labs:
    """An ASGI app for everything under /lab/."""

    def __init__(self, folder: Path, assets: str, head: str) -> None:
        self.folder, self.assets, self.head = folder, assets, head
        self.mounted: dict[str, Any] = {}
        self.turn = threading.Lock()
        self.last_request = -QUIET_S  # when a lab last had a request

    def warm(self) -> None:
        """Imports what the labs need, and lets each prepare itself. May be called from any thread."""
        with self.turn:
            import_ahead()
        ready = [lab for lab in catalogue(self.folder) if lab.ready]
        for lab in ready:
            self.wait()  # two threads that read labs at once disturb each other
            with suppress(Exception):
                self.mount(lab)
        for lab in ready if self.folder == LABS else ():
            self.wait()
            with suppress(Exception):
                prepare(lab)

    def wait(self) -> None:
        """Wait until there was no request for a while: a learner who opens a lab now needs this thread's share of the CPU."""
        while time.monotonic() - self.last_request < QUIET_S:
            time.sleep(QUIET_S / 10)

    def mount(self, lab: Lab) -> Any:
        """The lab's ASGI app, created on the first call.

        Not before the imports are done: a session that starts while another thread is inside IPython's import makes both fail.
        """
        with self.turn:
            import_ahead()
            offer_pieces()
            one_at_a_time()  # marimo's own compiler is there only now
            compute_once()
            if lab.slug not in self.mounted:
                self.mounted[lab.slug] = Rewritten(create(lab, self.assets, self.head), lab)
            return self.mounted[lab.slug]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.last_request = time.monotonic()
        path = scope["path"]
        slug = path.removeprefix("/lab/").partition("/")[0]
        if path == f"/lab/{slug}":
            await RedirectResponse(f"{path}/", 307)(scope, receive, send)
            return
        app = self.mounted.get(slug)
        if app is None:
            lab, reason = await run_in_threadpool(self.try_mount, slug)
            if reason is not None:
                await self.refuse(lab, reason, scope, receive, send)
                return
            app = self.mounted[slug]
        if scope["type"] == "websocket" and not self.has_room():
            await send({"type": "websocket.close", "code": 1013, "reason": CROWDED})
            return
        # marimo's app is mounted at the whole path, so that every address it makes is right
        await app({**scope, "root_path": ""}, receive, send)

    def try_mount(self, slug: str) -> tuple[Lab | None, str | None]:
        lab = find(slug, self.folder)
        if lab is None:
            return None, f"there is no lab {slug!r}; choose one of the list"
        if not lab.ready:
            return lab, lab.error
        try:
            self.mount(lab)
        except Exception as error:
            return lab, f"{type(error).__name__}: {error}"
        return lab, None

    async def refuse(self, lab: Lab | None, reason: str, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": reason[:120]})
            return
        response = pages.problem("This lab did not open", lab.title if lab else "", reason, 404 if lab is None else 500)
        await response(scope, receive, send)

    async def close(self) -> None:
        """Ends every session, so that no kernel outlives the server."""
        for app in self.mounted.values():
            with suppress(Exception):
                await app.inner.state.session_manager.shutdown()

    def sessions(self) -> int:
        return sum(len(manager.sessions) for manager in self.managers())

    def managers(self) -> list[Any]:
        return [app.inner.state.session_manager for app in self.mounted.values()]

    def has_room(self) -> bool:
        """Whether another page may be opened. Sessions whose page is gone do not wait for it where there is no room."""
        if self.sessions() < MOST_SESSIONS:
            return True
        for manager in self.managers():
            for name, session in list(manager.sessions.items()):
                if session.connection_state().name == "ORPHANED":
                    manager.close_session(name)
        return self.sessions() < MOST_SESSIONS


def offer_pieces() -> None:
    """Pieces created from now on are drawn by the one module that every page has, and instruments answer on /direct too."""
    from ironlaw.widget import assets
    from ironlaw.widget.direct import OFFERED

    assets.serve_at(f"{widget.address()}/lab.js")
    OFFERED.set()


def import_ahead() -> None:
    """A failure here is reported by the lab that needs the module."""
    for name in AHEAD:
        with suppress(Exception):
            importlib.import_module(name)


def create(lab: Lab, assets: str, head: str) -> Any:
    """marimo's app for one lab, with none of the settings that a user of marimo keeps for notebooks."""
    import marimo

    builder = marimo.create_asgi_app(quiet=True, include_code=False, session_ttl=SESSION_S, asset_url=assets, html_head=head)
    app: Any = builder.with_app(path=f"/lab/{lab.slug}", root=str(lab.folder / "lab.py")).build()
    settle(app.routes[0].app.state.config_manager)
    return app


def prepare(lab: Lab) -> None:
    """Imports the modules beside a lab's lab.py; one with a function `warm` computes in advance what its lab will need."""
    package = importlib.import_module(f"ironlaw.labs.{lab.slug}")
    for module in pkgutil.iter_modules(package.__path__):
        if module.name != "lab":
            getattr(importlib.import_module(f"{package.__name__}.{module.name}"), "warm", lambda: None)()


class NoStore:
    """In place of ~/.marimo.toml, which may say anything (a dark theme, cells that do not run by themselves)."""

    def read(self) -> dict[str, Any]:
        return {}


def settle(manager: Any) -> None:
    """Our settings and no others; light and dark follow the system."""
    from marimo._config.manager import OverrideConfigReader

    manager.user_config_mgr = NoStore()
    settings: Any = {"display": {"theme": "system"}, "runtime": {"show_tracebacks": False}}
    manager.partials = (OverrideConfigReader(settings),)
    vars(manager).pop("_config", None)  # what it has read so far
