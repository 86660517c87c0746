"""marimo's page, made ours: no service worker, no unused fonts, a link home, and text at once instead of an empty page.

The rest of marimo's chrome is hidden by the labs' theme. A Content-Security-Policy of its own lets the page reach this
server and nothing else, whatever marimo or a widget would like to load. Scripts in the page run only if they were there when it was
sent: one that is smuggled in later, in a text of the ledger say, has no nonce.

marimo's server can do far more than a lab needs. Only what the pages use is reachable, and a path that a newer marimo adds is not.
"""

from __future__ import annotations

import logging
import re
import secrets
from html import escape
from typing import Any
from urllib.parse import parse_qsl, urlencode

from ironlaw.pages.catalogue import Lab
from ironlaw.pages.templates import fill, static
from ironlaw.server.guard import Headers
from ironlaw.server.marimo_files import later_files, marimo_files

LOG = logging.getLogger(__name__)

# marimo's own page has two inline scripts, and its styles are written by scripts
POLICY = (
    "default-src 'self'; script-src 'self' 'nonce-{nonce}'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' ws://{host} data: blob:; worker-src 'self' blob:; "
    "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
)
SERVICE_WORKER = re.compile(r"<script\b[^>]*>(?:(?!</script>).)*serviceWorker(?:(?!</script>).)*</script>", re.DOTALL)
UNUSED = re.compile(r"""\s*<link\b[^>]*\brel="(?:preload|apple-touch-icon|manifest|icon)"[^>]*\shref="/marimo/[^>]*>""")
EARLY = '<head><meta name="color-scheme" content="light dark">'  # before anything is painted: no white page in the dark
ROOT = '<div id="root"></div>'
SCRIPT = re.compile(r"<script\b")
# After /lab/<slug>/: the page, the widget's module, whether the server is there, the kernel's messages, and what the learner does.
NEEDED = {
    "GET": re.compile(r"|health|@file/[\w.-]+"),
    "HEAD": re.compile(r"|health"),
    "POST": re.compile(r"api/kernel/set_(model|ui_element)_value"),
    "websocket": re.compile(r"ws"),
}
# of a query: which file is run, and other roles than the reader's
NOT_OURS = frozenset({"file", "kiosk", "access_token"})


class Rewritten:
    """Wraps marimo's app: changes its page, passes on what the page needs, and nothing else."""

    def __init__(self, app: Any, lab: Lab) -> None:
        self.app, self.lab = app, lab
        self.inner = app.routes[0].app  # the app of this one lab, with its session manager

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if not needed(scope, self.lab.slug):
            await absent(scope, send)
            return
        scope = {**scope, "query_string": reader(scope["query_string"])}
        if scope.get("method") == "POST":
            await act(self.app, scope, receive, send)
            return
        if scope["type"] != "http" or scope["path"] != f"/lab/{self.lab.slug}/":
            await self.app(scope, receive, send)
            return
        request_headers = [(key, value) for key, value in scope["headers"] if key not in (b"if-none-match", b"accept-encoding")]
        start: dict[str, Any] = {}
        body = bytearray()

        async def collect(message: Any) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
            elif message["type"] == "http.response.body":
                body.extend(message.get("body", b""))
                if not message.get("more_body"):
                    await finish()

        async def finish() -> None:
            nonce = secrets.token_urlsafe(16)
            text = rewrite(body.decode(), self.lab, nonce).encode() if start["status"] == 200 else bytes(body)
            host = next((value for key, value in scope["headers"] if key == b"host"), b"").decode("latin-1")
            await send({**start, "headers": headers(start["headers"], len(text), host, nonce)})
            await send({"type": "http.response.body", "body": text})

        await self.app({**scope, "headers": request_headers}, receive, collect)


def needed(scope: Any, slug: str) -> bool:
    """Whether a lab's page asks for this."""
    pattern = NEEDED.get(scope.get("method", scope["type"]))
    place = f"/lab/{slug}/"
    return pattern is not None and scope["path"].startswith(place) and pattern.fullmatch(scope["path"].removeprefix(place)) is not None


def reader(query: bytes) -> bytes:
    """The query without what would make its sender another than the reader of this one lab."""
    pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)  # as Starlette reads it
    kept = [(key, value) for key, value in pairs if key not in NOT_OURS]
    return urlencode(kept).encode()


async def act(app: Any, scope: Any, receive: Any, send: Any) -> None:
    """What the learner does. marimo has 500 and a traceback for a body that it can't read and for a session that has ended: here 400."""
    started = False

    async def softened(message: Any) -> None:
        nonlocal started
        started = True
        await send({**message, "status": 400} if message.get("status", 0) >= 500 else message)

    try:
        await app(scope, receive, softened)
    except Exception as error:
        LOG.debug("marimo could not take %s", scope["path"], exc_info=error)
        if not started:
            await say(send, 400, "not understood")


async def absent(scope: Any, send: Any) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": "not part of a lab"})
    else:
        await say(send, 404, "not part of a lab")


async def say(send: Any, status: int, words: str) -> None:
    body = f"{status}: {words}\n".encode()
    plain: Headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": plain})
    await send({"type": "http.response.body", "body": body})


def rewrite(html: str, lab: Lab, nonce: str) -> str:
    """Everything in marimo's page is marimo's or ours, so its scripts get the nonce."""
    early = f'{EARLY}<script src="{static()}/early.js"></script>'
    late = "".join(f'<link rel="modulepreload" crossorigin href="{marimo_files()[1]}/{name}">' for name in later_files())
    html = UNUSED.sub("", SERVICE_WORKER.sub("", html)).replace("<head>", early, 1).replace("</head>", f"{late}</head>", 1)
    html = SCRIPT.sub(f'<script nonce="{nonce}"', html)
    if ROOT not in html:
        return html
    texts = {"name": lab.name, "title": lab.title, "teaches": lab.teaches, "minutes": str(lab.minutes)}
    return html.replace(ROOT, fill("opening.html", **{slot: escape(text) for slot, text in texts.items()}), 1)


def headers(original: Headers, length: int, host: str, nonce: str) -> Headers:
    """The page's own headers; never cached, so that going back shows what the ledger holds."""
    mine = {
        b"content-length": str(length).encode(),
        b"content-security-policy": POLICY.format(host=host, nonce=nonce).encode(),
        b"cache-control": b"no-store",
        b"referrer-policy": b"same-origin",
    }
    return [*((key, value) for key, value in original if key.lower() not in {*mine, b"etag"}), *mine.items()]
