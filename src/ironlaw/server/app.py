"""The Starlette app: the start page and its actions, the labs, the free instrument and its JSON API over the engine."""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute

from ironlaw.errors import IronlawError
from ironlaw.pages import widget
from ironlaw.pages.gallery import JUPYTER, MESSAGES, SERVER, gallery, imported
from ironlaw.pages.lab_catalogue import LABS, every_lab
from ironlaw.pages.no_such_page import no_such_page
from ironlaw.pages.page_templates import STATIC, static, theme
from ironlaw.pages.records import Keeper
from ironlaw.server import certificate_routes, glossary_routes, pages
from ironlaw.server.actions import Actions
from ironlaw.server.behind_proxy import Attentive, Proxy, ProxyGuard, UnderBase
from ironlaw.server.direct_socket import direct
from ironlaw.server.door import Door
from ironlaw.server.guard import SECURITY, Guard
from ironlaw.server.lab_routes import Labs, ahead, sockets
from ironlaw.server.request_limits import PAGES, Bodies
from ironlaw.server.static_files import Immutable
from ironlaw.widget.assets import CSS
from ironlaw.widget.direct_answers import HOSTED

FIRST_PICTURE = "/roofline.json"
COUNT = re.compile(r"[0-9]{1,9}")


def create_app(
    stop: Callable[[], None] = lambda: None, labs_folder: Path = LABS, door_token: str = "", most_pages: int = PAGES,
    proxy: Proxy | None = None,
) -> Starlette:  # fmt: skip
    """`stop` ends the server; `door_token` is its secret, and without one everybody on this machine is let in; `most_pages` may be open.
    `proxy`: a Jupyter server's, which alone is let in then."""
    keeper, token, first_visit = Keeper(), secrets.token_urlsafe(24), threading.Event()
    labs, door = Labs(labs_folder, most_pages, in_jupyter=proxy is not None), Door(door_token)
    HOSTED["explore"] = explored

    def show(message: str = "", wrong: dict[str, str] | None = None) -> Response:
        listed = every_lab(labs_folder)
        scripts = f"{widget_files()}{ahead() if any(lab.ready for lab in listed) else ''}"
        html = gallery(listed, keeper.records(), token, message, wrong, scripts, JUPYTER if proxy else SERVER, FIRST_PICTURE)
        return pages.response(html, 400 if wrong else 200)

    def start(request: Request) -> Response:
        query = request.query_params
        if "workload" in query or "hardware" in query:  # the instrument was here once; its bookmarks still work
            return RedirectResponse(f"/explore?{query}", 307)
        response = show(announcement(query.get("said", ""), query.get("n", "")))
        response.background = BackgroundTask(first_visit.set)
        return response

    routes = [
        Route("/", start),
        Route("/explore", explore),
        Route(FIRST_PICTURE, first_picture),
        Route("/favicon.ico", icon),  # browsers request it of their own accord
        *Actions(keeper, token, show, None if proxy else stop).routes(),
        Route("/api/registry", registry),
        Route("/api/predict", Predict().__call__),
        *glossary_routes.routes(),
        *certificate_routes.routes(keeper, labs_folder),
        Mount("/lab", labs),
        Mount(widget.address(), Immutable(texts=widget.texts())),  # at another version's address there is nothing: no page mixes two
        WebSocketRoute("/direct", direct),
        Mount(static(), Immutable(STATIC)),
        Mount(theme(), Immutable(CSS)),
    ]
    # check who is asking first, then the size of the request
    inside = [Middleware(Guard, door=door), Middleware(Bodies)]
    if proxy:
        inside = [Middleware(ProxyGuard, secret=proxy.secret), Middleware(Attentive, clock=proxy.clock), Middleware(Bodies)]
        inside.insert(1, Middleware(UnderBase, base=proxy.base))
    app = Starlette(routes=routes, middleware=inside, exception_handlers={404: not_found, 500: failed})
    app.state.labs, app.state.keeper, app.state.door, app.state.proxy = labs, keeper, door, proxy
    app.state.first_visit = first_visit  # set once the start page has been served
    return app


def announcement(action: str, count: str) -> str:
    """The start page's message about the last action."""
    if action == "imported" and COUNT.fullmatch(count):
        return imported(int(count))
    return MESSAGES.get(action, "")


def widget_files() -> str:
    """What draws the start page's picture."""
    place = widget.address()
    return f'<link rel="stylesheet" href="{place}/piece.css">\n<script type="module" src="{place}/piece.js"></script>\n'


def icon(request: Request) -> Response:
    return RedirectResponse(f"{static()}/icon.svg", 308)


def explore(request: Request) -> Response:
    """The free instrument. The policy names its socket for browsers in which 'self' does not cover one."""
    from ironlaw.pages.explore.explore_page import page  # brings the engine, which the start page need not wait for

    policy = dict(SECURITY)[b"content-security-policy"].decode() + f"; connect-src 'self' {sockets(request.headers['host'])}"
    headers = {"cache-control": "no-cache", "content-security-policy": policy}
    html = page(request.query_params.multi_items())
    if request.app.state.proxy:
        html = html.replace("It runs only on this machine.", "It runs in your own Jupyter server.", 1)
    return HTMLResponse(html, headers=headers)


def first_picture(request: Request) -> Response:
    """What the start page shows; it brings the engine, which the page itself need not wait for."""
    from ironlaw.pages.first_picture import as_json

    return Response(as_json(), media_type="application/json", headers={"cache-control": "no-cache"})


def explored() -> Any:
    """The piece of the free instrument, for the socket."""
    from ironlaw.pages.explore.explore_page import piece

    return piece()


def registry(request: Request) -> Response:
    from ironlaw.pages.choices import choices

    return JSONResponse(choices(), headers={"cache-control": "no-cache"})


def predicted(settings: list[tuple[str, str]]) -> Any:
    from ironlaw.pages.explore_answers import answer

    return answer(settings)


class Predict:
    """`?workload=resnet50&hardware=h100_sxm&batch=1&dtype=fp16&mode=eager&dispatch=queued` -> the prediction, in SI.

    One at a time: a dial that is turned while a large model is being predicted leaves requests behind that nobody
    waits for any more, and those are never started.
    """

    def __init__(self) -> None:
        self.turn = anyio.Lock()

    async def __call__(self, request: Request) -> Response:
        async with self.turn:
            if await request.is_disconnected():
                return Response(status_code=204)
            try:
                prediction = await run_in_threadpool(predicted, request.query_params.multi_items())
            except IronlawError as refusal:
                return JSONResponse({"error": str(refusal), "field": refusal.field}, 400, headers={"cache-control": "no-store"})
        return JSONResponse(prediction, headers={"cache-control": "no-store"})


def failed(request: Request, error: Exception) -> Response:
    """The page for a fault of ours. The terminal names it too, and the page says how learners can still get at their data."""
    reason = f"{type(error).__name__} at {request.url.path}: this is a bug in ironlaw, and what you committed is kept. Please report it."
    response = pages.problem("Something failed", "", reason, 500)
    response.headers.update({name.decode(): value.decode() for name, value in SECURITY})
    return response


def not_found(request: Request, error: Exception) -> Response:
    return pages.page("message.html", 404, **no_such_page(request.url.path))
