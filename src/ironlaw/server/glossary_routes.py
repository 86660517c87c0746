"""The glossary's addresses: its page, what the labs' marked words look up, and the script that shows it."""

from __future__ import annotations

from functools import cache

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from ironlaw.pages import glossary_page
from ironlaw.pages.page_templates import digest_of
from ironlaw.server import pages
from ironlaw.server.static_files import Immutable

DATA = "/glossary.json"


@cache
def script() -> str:
    root = '(document.documentElement.dataset.root ?? "/")'  # a page says where the labs begin
    return glossary_page.script(DATA).replace(f'"{DATA}"', f'{root} + "{DATA.removeprefix("/")}"')


@cache
def address() -> str:
    """Where the script is served: the address changes with it."""
    return f"/glossary/{digest_of(script())}"


def routes() -> list[BaseRoute]:
    return [
        Route("/glossary", page),
        Route(DATA, data),
        Mount(address(), Immutable(texts={"glossary.js": script()})),
    ]


def data(request: Request) -> Response:
    from ironlaw.widget.glossary_words import explanations  # brings the claims, which the start page need not wait for

    return JSONResponse(explanations(), headers={"cache-control": "no-cache"})


def page(request: Request) -> Response:
    return pages.response(glossary_page.page())
