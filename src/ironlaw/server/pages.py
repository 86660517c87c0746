"""HTML from templates with `{{ slots }}`: every slot is filled, and every text that is not ours is escaped."""

from __future__ import annotations

import re
from functools import cache
from html import escape
from pathlib import Path

from starlette.responses import HTMLResponse

from ironlaw import __version__, errors
from ironlaw.server.files import digest
from ironlaw.widget.assets import CSS

STATIC = Path(__file__).parent / "static"
THEME = CSS / "theme.css"
SLOT = re.compile(r"\{\{ (\w+) \}\}")


@cache
def static() -> str:
    """Where our files are served: the address changes when one of them does."""
    return f"/static/{digest(path for path in STATIC.rglob('*') if path.is_file())}"


@cache
def theme() -> str:
    """Where the labs' theme and the typeface of every page are served."""
    return f"/theme/{digest(path for path in CSS.iterdir() if path.is_file())}"


@cache
def template(name: str) -> str:
    return (Path(__file__).parent / name).read_text("utf-8")


def fill(template_name: str, /, **slots: str) -> str:
    """The template with its slots filled; in one pass, so that a text that looks like a slot is left alone.

    `{{ law }}` and, with a title, `{{ head }}` are shared by several pages.
    """
    values = {"static": static(), "theme": theme(), "version": __version__, "law": template("law.html"), **slots}
    if "title" in slots:
        values["head"] = SLOT.sub(lambda slot: values[slot[1]], template("head.html"))
    return SLOT.sub(lambda slot: values[slot[1]], template(template_name))


def page(template_name: str, status: int = 200, /, **slots: str) -> HTMLResponse:
    return HTMLResponse(fill(template_name, **slots), status, headers={"cache-control": "no-store"})


def sentence(reason: str) -> str:
    """An error's message as HTML: a sentence, with what stands in backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(errors.sentence(reason)))


def problem(title: str, about: str, reason: str, status: int) -> HTMLResponse:
    """A page of its own for what went wrong: what, why, the way back, and the way out: one's data, and a new beginning."""
    text = f"<p>{escape(about)}</p>" if about else ""
    ways = '<p><a href="/">All labs</a> · <a href="/export" download>Download the export</a> · <a href="/#reset">Reset …</a></p>'
    body = f'{text}<p class="banner fail">{sentence(reason)}</p>{ways}'
    return page("message.html", status, title=escape(title), body=body)
