"""The glossary: a page with every term, what the labs' marked words look up, and the script that shows it."""

from __future__ import annotations

from functools import cache
from html import escape
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from ironlaw.server import pages
from ironlaw.server.files import Immutable, digest_of
from ironlaw.widget import assets

if TYPE_CHECKING:
    from ironlaw.registry.glossary import Term

# fetched with the first word that is looked at: a page does not wait for it
START = (
    "(() => {\n"
    "let terms = null;\n"
    'startGlossary(async (id) => (await (terms ??= fetch("/glossary.json").then((answer) => answer.json())))[id]);\n'
    "})();\n"
)


@cache
def script() -> str:
    return f"{assets.script(assets.GLOSSARY)}\n{START}"


@cache
def address() -> str:
    """Where the script is served: the address changes with it."""
    return f"/glossary/{digest_of(script())}"


def routes() -> list[BaseRoute]:
    return [
        Route("/glossary", page),
        Route("/glossary.json", data),
        Mount(address(), Immutable(texts={"glossary.js": script()})),
    ]


def data(request: Request) -> Response:
    from ironlaw.widget.glossary import explanations  # brings the claims, which the start page need not wait for

    return JSONResponse(explanations(), headers={"cache-control": "no-cache"})


def page(request: Request) -> Response:
    """Every term, by group."""
    from ironlaw.registry.glossary import GROUPS, terms

    by_group = {group: [term for term in terms().values() if term.group == group] for group in GROUPS}
    links = "".join(f'<li><a href="#{group}">{heading}</a></li>' for group, heading in GROUPS.items())
    body = "".join(
        f'<details class="group" id="{group}" open><summary><h2>{GROUPS[group]}</h2> <span class="unit">{len(listed)}</span></summary>'
        f'<dl class="terms">{"".join(map(_term, listed))}</dl></details>'
        for group, listed in by_group.items()
    )
    return pages.page("glossary.html", title="glossary", links=links, terms=body)


def _term(term: Term) -> str:
    also = f' <span class="unit">{escape(", ".join(term.spellings[1:]))}</span>' if term.spellings[1:] else ""
    figure = term.figure
    return (
        f'<div id="term-{term.id}"><dt>{escape(term.name)}{also}</dt><dd>{escape(term.says)}'
        f'<p class="figure">{escape(figure.label)}: <b>{escape(figure.value)}</b></p><p class="hint">{escape(figure.source)}</p></dd></div>'
    )
