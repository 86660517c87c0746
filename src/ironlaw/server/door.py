"""The way in: the secret in the address that `ironlaw labs` opens is exchanged for a cookie, and the address is clean again.

Everybody on this machine can connect to the port, other users too. Without the cookie they only get a page that says how to get in.
Scripts can't read the cookie (HttpOnly), and a browser does not send it with requests that another site starts (SameSite=Strict), not
even when a link there is followed. Such a visitor is shown a link of our own, and following that sends the cookie.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import threading
from html import escape
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, Response

from ironlaw.pages.page_templates import static
from ironlaw.server import pages

PAGE = re.compile(r"/|/explore|/lab/[A-Za-z0-9_-]+/?")
OUTSIDE = ("page.css", "icon.svg")  # what the page at the door is drawn with
NO_STORE = {"cache-control": "no-store", "referrer-policy": "no-referrer"}
FORM = (
    '<form class="door" action="/" autocomplete="off"><label for="token">Or paste the token here:</label>'
    '<input id="token" name="token" required><button>Open the labs</button></form>'
)
HOW = (
    "<p>Open the address that <code>ironlaw labs</code> printed in its terminal; it ends in <code>?token=…</code>. A cookie then lets "
    f"this browser in until you close it.</p>{FORM}"
)
WRONG = '<p class="banner fail" role="alert">That is not this server’s token. The token changes whenever the server is started again.</p>'


class Door:
    """Knows the secret. An empty one admits everybody."""

    def __init__(self, token: str, program: str = "ironlaw labs") -> None:
        self.token, self.program = token, program
        self.entered = threading.Event()  # somebody is in: the browser that we opened has found its way

    def admits(self, scope: Any) -> bool:
        """Whether the request carries the cookie, or asks for what the page at the door is drawn with."""
        if not self.token:
            return True
        cookies = [cookie_parser(value).get(cookie_name(scope), "") for value in values(scope, b"cookie")]
        if any(same(cookie, self.cookie(scope)) for cookie in cookies):
            self.entered.set()
            return True
        return scope["type"] == "http" and scope["path"] in {f"{static()}/{name}" for name in OUTSIDE}

    def entry(self, scope: Any) -> Response | None:
        """The answer to an address with a token in it: the cookie and the clean address, or the page at the door."""
        if not self.token or not is_visit(scope):
            return None
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        tokens = [value for key, value in query if key == "token"]
        if not tokens:
            return None
        if len(tokens) != 1 or not same(tokens[0], self.token):
            return self.page(scope, wrong=True)
        self.entered.set()
        response = HTMLResponse(onward(clean(scope, query)), headers=NO_STORE)
        response.set_cookie(cookie_name(scope), self.cookie(scope), path="/", httponly=True, samesite="strict")
        return response

    def page(self, scope: Any, foreign: bool = False, wrong: bool = False) -> Response:
        """What a visitor without the cookie sees. Whoever followed a link on another site may well have it, and the link here sends it."""
        place = clean(scope, ()) if PAGE.fullmatch(scope["path"]) else "/"
        if foreign:
            body = f'<p>A link on another page led here. If you followed it yourself, <a href="{escape(place)}">open it</a>.</p>'
            response = pages.page("message.html", 403, title="From another page", body=body)
        else:
            response = pages.page(
                "message.html",
                403,
                title="These labs are private",
                body=(WRONG if wrong else "") + HOW.replace("ironlaw labs", self.program),
            )
        response.headers.update({**NO_STORE, "connection": "close"})
        return response

    def cookie(self, scope: Any) -> str:
        """Follows from the token, but does not reveal it."""
        return hmac.new(self.token.encode(), f"cookie of {cookie_name(scope)}".encode(), hashlib.sha256).hexdigest()


def cookie_name(scope: Any) -> str:
    """Browsers do not tell ports apart in cookies: two servers on one machine need two names."""
    return f"ironlaw-{(scope.get('server') or ('', 0))[1]}"


def is_visit(scope: Any) -> bool:
    """Whether somebody opens a page, rather than a page asking for something, in a frame say."""
    if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
        return False
    how, what = values(scope, b"sec-fetch-mode"), values(scope, b"sec-fetch-dest")
    asks_for_page = (how or ["navigate"]) == ["navigate"] and (what or ["document"]) == ["document"]
    return asks_for_page and (bool(how) or bool(PAGE.fullmatch(scope["path"])))


def from_our_page(scope: Any) -> bool:
    """What the browser says of the page that started the request; a browser that is too old says nothing. `none`: the person did."""
    return all(value in ("same-origin", "none") for value in values(scope, b"sec-fetch-site"))


def clean(scope: Any, query: Any) -> str:
    """The address without the token; one slash at its start, or it would be another server's."""
    rest = urlencode([(key, value) for key, value in query if key != "token"])
    return quote("/" + scope["path"].lstrip("/")) + (f"?{rest}" if rest else "")


def onward(place: str) -> str:
    """A page that goes on by itself. A redirect would not do: after a link or a file, a browser would leave the cookie out of that."""
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>ironlaw</title><meta http-equiv="refresh" '
        f'content="0;url={escape(place)}"><p><a href="{escape(place)}">Open the labs</a></p></html>'
    )


def same(one: str, other: str) -> bool:
    """Takes the same time wherever the two differ."""
    return hmac.compare_digest(one.encode("utf-8", "surrogateescape"), other.encode())


def values(scope: Any, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]
