"""marimo's page, made ours: no service worker, no unused fonts, a link home, and text at once instead of an empty page.

The rest of marimo's chrome is hidden by the labs' theme. A Content-Security-Policy of its own lets the page reach this
server and nothing else, whatever marimo or a widget would like to load.
"""

from __future__ import annotations

import re
from functools import cache
from html import escape
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ironlaw.errors import MissingExtra
from ironlaw.server import pages
from ironlaw.server.catalogue import Lab
from ironlaw.server.guard import Headers

# marimo's own page has inline scripts, and a widget's module comes as text
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob: data:; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' ws://{host} data: blob:; worker-src 'self' blob:; "
    "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
)
SERVICE_WORKER = re.compile(r"<script\b[^>]*>(?:(?!</script>).)*serviceWorker(?:(?!</script>).)*</script>", re.DOTALL)
UNUSED = re.compile(r"""\s*<link\b[^>]*\brel="(?:preload|apple-touch-icon|manifest|icon)"[^>]*\shref="/marimo/[^>]*>""")
PRELOADS = re.compile(r"""<(?:script type="module"|link rel="(?:modulepreload|stylesheet)")[^>]*\s(?:src|href)="\./([^"]+)\"""")
EARLY = '<head><meta name="color-scheme" content="light dark">'  # before anything is painted: no white page in the dark
ROOT = '<div id="root"></div>'


def marimo_files() -> tuple[Path, str]:
    """The folder of marimo's own files, and the address where all labs find them; without importing marimo."""
    spec = find_spec("marimo")
    if spec is None or spec.origin is None:
        raise MissingExtra("the labs need marimo; install it with: pip install marimo")
    return Path(spec.origin).parent / "_static", f"/marimo/{version('marimo')}"


@cache
def ahead(assets: str) -> str:
    """Lets a browser fetch marimo's files while the start page is read, so that a lab opens from its cache."""
    folder, _ = marimo_files()
    names = PRELOADS.findall((folder / "index.html").read_text("utf-8"))
    return f'<script async src="{pages.static()}/ahead.js" data-assets="{assets}" data-files="{" ".join(names)}"></script>\n'


class Rewritten:
    """Wraps marimo's app: changes its page and passes everything else through."""

    def __init__(self, app: Any, lab: Lab) -> None:
        self.app, self.lab = app, lab
        self.inner = app.routes[0].app  # the app of this one lab, with its session manager

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
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
            text = rewrite(body.decode(), self.lab).encode() if start["status"] == 200 else bytes(body)
            host = next((value for key, value in scope["headers"] if key == b"host"), b"").decode("latin-1")
            await send({**start, "headers": headers(start["headers"], len(text), host)})
            await send({"type": "http.response.body", "body": text})

        await self.app({**scope, "headers": request_headers}, receive, collect)


def rewrite(html: str, lab: Lab) -> str:
    html = UNUSED.sub("", SERVICE_WORKER.sub("", html)).replace("<head>", EARLY, 1)
    if ROOT not in html:
        return html
    texts = {"name": lab.name, "title": lab.title, "teaches": lab.teaches, "minutes": str(lab.minutes)}
    return html.replace(ROOT, pages.fill("opening.html", **{slot: escape(text) for slot, text in texts.items()}), 1)


def headers(original: Headers, length: int, host: str) -> Headers:
    """The page's own headers; never cached, so that going back shows what the ledger holds."""
    mine = {
        b"content-length": str(length).encode(),
        b"content-security-policy": POLICY.format(host=host).encode(),
        b"cache-control": b"no-store",
        b"referrer-policy": b"same-origin",
    }
    return [*((key, value) for key, value in original if key.lower() not in {*mine, b"etag"}), *mine.items()]
