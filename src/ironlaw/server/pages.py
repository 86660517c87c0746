"""Our pages as the server's responses."""

from __future__ import annotations

from html import escape

from starlette.responses import HTMLResponse

from ironlaw.pages.page_templates import fill, sentence


def page(template_name: str, status: int = 200, /, **slots: str) -> HTMLResponse:
    return response(fill(template_name, **slots), status)


def response(html: str, status: int = 200) -> HTMLResponse:
    return HTMLResponse(html, status, headers={"cache-control": "no-store"})


def problem(title: str, about: str, reason: str, status: int) -> HTMLResponse:
    """A page of its own for what went wrong: what, why, the way back, and the way out: one's data, and a new beginning."""
    text = f"<p>{escape(about)}</p>" if about else ""
    ways = '<p><a href="/">All labs</a> · <a href="/export" download>Download the export</a> · <a href="/#reset">Reset …</a></p>'
    body = f'{text}<p class="banner fail">{sentence(reason)}</p>{ways}'
    return page("message.html", status, title=escape(title), body=body)
