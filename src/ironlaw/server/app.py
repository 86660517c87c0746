"""The Starlette app: one page, its files, and a small JSON API over the engine."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import anyio
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from ironlaw.server.answers import Refused, answer
from ironlaw.server.choices import choices
from ironlaw.server.guard import Guard

STATIC = Path(__file__).parent / "static"
PAGE = Path(__file__).parent / "page.html"


class Immutable(StaticFiles):
    """Files whose address holds a digest of what is in them: a browser asks for each once."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers["cache-control"] = "public, max-age=31536000, immutable"
        return response


def create_app() -> Starlette:
    static = f"/static/{digest()}"

    def page(request: Request) -> Response:
        return HTMLResponse(page_text(static), headers={"cache-control": "no-cache"})

    routes = [
        Route("/", page),
        Route("/api/registry", registry),
        Route("/api/predict", Predict().__call__),
        Mount(static, Immutable(directory=STATIC)),
    ]
    return Starlette(routes=routes, middleware=[Middleware(Guard)], exception_handlers={404: not_found})


@cache
def digest() -> str:
    """Changes with any static file."""
    files = sorted(path for path in STATIC.rglob("*") if path.is_file())
    return hashlib.sha256(b"".join(path.name.encode() + path.read_bytes() for path in files)).hexdigest()[:12]


@cache
def page_text(static: str) -> str:
    """The page, with the registry's choices in it, so that it draws after one more request."""
    from ironlaw import __version__

    modules = "".join(f'<link rel="modulepreload" href="{static}/js/{path.name}">\n' for path in sorted((STATIC / "js").glob("*.js")))
    data = json.dumps(choices(), separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    html = PAGE.read_text("utf-8")
    for slot, text in (("static", static), ("version", __version__), ("modules", modules), ("registry", data)):
        html = html.replace("{{ " + slot + " }}", text)
    return html


def registry(request: Request) -> Response:
    return JSONResponse(choices(), headers={"cache-control": "no-cache"})


class Predict:
    """`?workload=resnet50&hardware=h100_sxm&batch=1&dtype=fp16&mode=eager&dispatch=queued` -> the prediction, in SI.

    One at a time: a dial that is turned while a large model is being predicted leaves requests behind that nobody
    waits for any more, and those are never begun.
    """

    def __init__(self) -> None:
        self.turn = anyio.Lock()

    async def __call__(self, request: Request) -> Response:
        async with self.turn:
            if await request.is_disconnected():
                return Response(status_code=204)
            try:
                found = await run_in_threadpool(answer, request.query_params.multi_items())
            except Refused as refused:
                return JSONResponse({"error": str(refused), "field": refused.field}, 400, headers={"cache-control": "no-store"})
        return JSONResponse(found, headers={"cache-control": "no-store"})


def not_found(request: Request, error: Exception) -> Response:
    return Response(f"404: nothing at {request.url.path}; the page is at /\n", 404, media_type="text/plain")
