"""`ironlaw class live`: the class's page on this machine, behind a secret as the labs are."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route

from ironlaw.classroom import class_live
from ironlaw.errors import MissingExtra
from ironlaw.pages.page_templates import STATIC, static
from ironlaw.server import log_lines, request_limits, secret
from ironlaw.server.door import Door
from ironlaw.server.guard import SECURITY, Guard
from ironlaw.server.request_limits import Bodies
from ironlaw.server.start_server import has_display, listen, options, say, show_page
from ironlaw.server.static_files import Immutable

POLICY = f"{dict(SECURITY)[b'content-security-policy'].decode()}; font-src data:; style-src 'self' 'unsafe-inline'"  # widths of bars
NO_STORE = {"cache-control": "no-store"}


def create_app(following: class_live.Following, token: str) -> Starlette:
    def page(request: Request) -> Response:
        return HTMLResponse(class_live.page(), headers={**NO_STORE, "content-security-policy": POLICY})

    def news(request: Request) -> Response:
        shown = following.shown
        fresh = request.query_params.get("version") != str(shown.version)
        return JSONResponse({"version": shown.version, "html": shown.html if fresh else None}, headers=NO_STORE)

    def script(request: Request) -> Response:
        return Response(class_live.script(), media_type="text/javascript", headers={"cache-control": "no-cache"})

    def css(request: Request) -> Response:
        return Response(class_live.css(), media_type="text/css", headers={"cache-control": "no-cache"})

    door = Door(token, "ironlaw class live")
    routes = [
        Route("/", page),
        Route("/live.json", news),
        Route("/live.js", script),
        Route("/live.css", css),
        Mount(static(), Immutable(STATIC)),
    ]
    app = Starlette(routes=routes, middleware=[Middleware(Guard, door=door), Middleware(Bodies)])
    app.state.door = door
    return app


def serve(source: class_live.Source, names: bool, port: int, open_browser: bool = True) -> None:
    """Serves the page on this machine alone, until Ctrl-C."""
    try:
        import uvicorn
    except ImportError as error:
        raise MissingExtra(f"the page needs {error.name}; install it with: pip install starlette uvicorn") from None
    following = class_live.Following(source, names)
    sock = listen("127.0.0.1", port)
    actual = sock.getsockname()[1]
    if port not in (0, actual):
        say(f"port {port} is taken; using {actual}")
    token = secret.token(actual)
    url = f"http://127.0.0.1:{actual}/?token={token}"
    app = create_app(following, token)

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets=sockets)
            if self.started:
                say(f"ironlaw class live: {url}")
                threading.Thread(target=following.run, daemon=True).start()
                if open_browser and has_display():
                    threading.Thread(target=show_page, args=(actual, url, app.state.door), daemon=True).start()

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            following.stopped.set()
            await super().shutdown(sockets=sockets)
            secret.forget(actual)

    server = Server(uvicorn.Config(app, **options(request_limits.allow_descriptors(request_limits.PAGES))))
    log_lines.say_each_once()
    with sock, suppress(KeyboardInterrupt):
        server.run(sockets=[sock])
    say("ironlaw class live: stopped")
