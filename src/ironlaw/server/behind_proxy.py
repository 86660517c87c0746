"""The labs behind a Jupyter server, which has checked who is asking: its requests carry a secret that only it and this process know.

The Jupyter server's proxy starts this process, connects by a socket in a folder that only its user can enter, and puts the secret on every
request (`ironlaw.server.jupyter_entry`). A request without it is refused, whoever sends it. So there is no mode that lets everybody in.

A browser knows the hub by one name and we by none, so the Host can be any; the Origin must agree with it. What another page starts is
refused, except that somebody may follow a link to one of our pages, from a course's page say: opening one changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ironlaw.pages import base_path
from ironlaw.server.door import from_our_page, is_visit, same, values
from ironlaw.server.guard import READING, refuse, with_headers
from ironlaw.server.idle import Clock

HEADER = b"x-ironlaw-proxy"
HOST = re.compile(r"[A-Za-z0-9.-]+(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]+\](:[0-9]{1,5})?")  # it becomes part of a policy
PAGE = re.compile(r"/|/explore|/glossary|/certificate|/lab/[A-Za-z0-9_-]+/?")
OPEN_IT = "open the labs from JupyterLab's launcher"


@dataclass(frozen=True)
class Proxy:
    """What we know of the proxy in front of us: its secret, and the path under which browsers reach us through it."""

    secret: str
    base: str = ""
    clock: Clock = field(default_factory=Clock)


class ProxyGuard:
    """The guard behind a proxy, in place of the door and its own guard."""

    def __init__(self, app: Any, secret: str) -> None:
        if len(secret) < 32:
            raise ValueError("the proxy's secret is too short to be one")
        self.app, self.secret = app, secret

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        reason = self.refusal(scope)
        if reason is None:
            await self.app(scope, receive, with_headers(send))
        else:
            await refuse(scope, send, reason)

    def refusal(self, scope: Any) -> str | None:
        given = values(scope, HEADER)
        if len(given) != 1 or not same(given[0], self.secret):
            return f"this request did not come by the Jupyter server's proxy; {OPEN_IT}"
        hosts = values(scope, b"host")
        if len(hosts) != 1 or not HOST.fullmatch(hosts[0]):
            return f"Host {', '.join(hosts)[:100] or '(none)'!r} is not a host's name; {OPEN_IT}"
        return wrong_page(scope, hosts[0].lower())


def wrong_page(scope: Any, host: str) -> str | None:
    """Why the page that started this request is not one of ours, or None."""
    origins = values(scope, b"origin")
    if not origins and scope.get("method") not in READING:
        return f"a request that can change something must say which page it comes from (Origin); {OPEN_IT}"
    for origin in origins:
        scheme, _, place = origin.lower().partition("://")
        if scheme not in ("http", "https") or place != host:
            return f"Origin {origin[:100]!r} is another page than {host}, and only the labs' own pages may ask; {OPEN_IT}"
    if not from_our_page(scope) and not (is_visit(scope) and PAGE.fullmatch(scope["path"])):
        return f"another page started this request, and only the labs' own pages may ask; {OPEN_IT}"
    return None


class UnderBase:
    """Gives every address that leaves the base under which browsers reach us. The proxy has taken it off the requests."""

    def __init__(self, app: Any, base: str) -> None:
        self.app, self.base = app, base_path.checked(base)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await self.app(scope, receive, self.answering(scope["path"], send))
        elif scope["type"] == "websocket":
            await self.app(scope, receive, self.telling(send))
        else:
            await self.app(scope, receive, send)

    def answering(self, path: str, send: Any) -> Callable[[Any], Any]:
        start: dict[str, Any] = {}
        body = bytearray()

        async def sending(message: Any) -> None:
            if message["type"] == "http.response.start":
                headers = [(key, self.moved(key, value, path)) for key, value in message["headers"]]
                message = {**message, "headers": headers}
                if any(key == b"content-type" and value.startswith(b"text/html") for key, value in headers):
                    start.update(message)
                    return
            elif start:
                body.extend(message.get("body", b""))
                if message.get("more_body"):
                    return
                html = base_path.page(body.decode(), self.base).encode()
                given = [(key, value) for key, value in start["headers"] if key != b"content-length"]
                length = [(key, str(len(html)).encode()) for key, value in start["headers"] if key == b"content-length" and body]
                await send({**start, "headers": [*given, *length]})
                message = {**message, "body": html if body else b""}
                start.clear()
            await send(message)

        return sending

    def moved(self, key: bytes, value: bytes, path: str) -> bytes:
        return base_path.location(value.decode("latin-1"), path).encode("latin-1") if key == b"location" else value

    def telling(self, send: Any) -> Callable[[Any], Any]:
        async def sending(message: Any) -> None:
            if message["type"] == "websocket.send" and message.get("text"):
                message = {**message, "text": base_path.placed(message["text"], self.base)}
            await send(message)

        return sending


class Attentive:
    """Notes when somebody last did something: a request, or a message on a socket. A page that asks whether we are there does nothing."""

    def __init__(self, app: Any, clock: Clock) -> None:
        self.app, self.clock = app, clock

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "websocket":
            await self.attend(scope, receive, send)
            return
        if scope["type"] == "http" and not scope["path"].endswith("/health"):
            self.clock.touch()
        await self.app(scope, receive, send)

    async def attend(self, scope: Any, receive: Any, send: Any) -> None:
        self.clock.touch()

        async def receiving() -> Any:
            message = await receive()
            if message["type"] == "websocket.receive":
                self.clock.touch()
            return message

        async def sending(message: Any) -> None:
            await send(message)
            if message["type"] == "websocket.accept":
                self.clock.listeners.add(send)

        try:
            await self.app(scope, receiving, sending)
        finally:
            self.clock.listeners.discard(send)
