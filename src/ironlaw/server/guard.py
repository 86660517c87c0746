"""Which requests are allowed. Pure ASGI, for HTTP and WebSocket alike.

A page elsewhere can send requests to a server on this machine (CSRF), and its own host name can be made to point here
(DNS rebinding). So the Host must be ours, and the Origin too if present; a request that can change something (a POST,
a WebSocket) must have one. A browser also says which page started a request (Sec-Fetch-Site): anything that another page
started is refused, a GET like the rest.
Another user of this machine does not come from a web page and can send any header, so the door (`ironlaw.server.door`) asks for a secret.
"""

from __future__ import annotations

from typing import Any

from ironlaw.server.door import Door, from_our_page, is_visit, values

Headers = list[tuple[bytes, bytes]]

SECURITY: Headers = [
    (
        b"content-security-policy",
        b"default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),  # with no-referrer a form of ours would send "Origin: null"
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
NAMES = ("127.0.0.1", "localhost", "[::1]")
READING = ("GET", "HEAD", "OPTIONS")
DEFAULT_PORT = {"http": 80, "ws": 80, "https": 443, "wss": 443}


class Guard:
    """Refuses strangers with 403, and puts the security headers on every answer."""

    def __init__(self, app: Any, door: Door) -> None:
        self.app, self.door = app, door

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        reason = wrong_host(scope)
        if reason is not None:
            await refuse(scope, send, reason)
            return
        answer = self.door.entry(scope)  # the secret in an address may come by way of a file, which is another page
        if answer is not None:
            await answer(scope, receive, with_headers(send))
            return
        reason = refusal(scope)
        if reason is None and self.door.admits(scope):
            await self.app(scope, receive, with_headers(send))
        elif is_visit(scope):
            await self.door.page(scope, foreign=reason is not None)(scope, receive, with_headers(send))
        else:
            await refuse(scope, send, reason or "these labs are private; open the address that `ironlaw labs` printed")


def ours(scope: Any) -> set[str]:
    """`127.0.0.1:2718`, `localhost:2718`, …: our names at the port that the request came in on."""
    port = (scope.get("server") or ("", None))[1]
    names = {f"{name}:{port}" for name in NAMES}
    if port == DEFAULT_PORT.get(scope.get("scheme", "http")):
        names |= set(NAMES)  # browsers leave a default port out
    return names


def refusal(scope: Any) -> str | None:
    """Why this request is not for us, or None."""
    return wrong_host(scope) or wrong_page(scope)


def wrong_host(scope: Any) -> str | None:
    hosts, allowed = values(scope, b"host"), ours(scope)
    if len(hosts) != 1 or hosts[0].lower() not in allowed:
        return f"Host {', '.join(hosts)[:100] or '(none)'!r} is not this server; open it as http://{min(allowed)}/"
    return None


def wrong_page(scope: Any) -> str | None:
    """Why the page that started this request is not one of ours, or None."""
    origins, allowed = values(scope, b"origin"), ours(scope)
    host = values(scope, b"host")[0].lower()  # one of ours; another of our names may be somebody else's server
    if not origins and scope.get("method") not in READING:
        return f"a request that can change something must say which page it comes from (Origin); open http://{min(allowed)}/"
    for origin in origins:
        scheme, _, place = origin.lower().partition("://")
        if scheme not in ("http", "https") or place != host:
            return f"Origin {origin[:100]!r} is another page, and only this server's own pages may ask; open http://{min(allowed)}/"
    if not from_our_page(scope):
        return f"another page started this request, and only this server's own pages may ask; open http://{min(allowed)}/"
    return None


def with_headers(send: Any) -> Any:
    """The same `send`, with the security headers on the start of a response."""

    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            present = {key.lower() for key, _ in message.get("headers", ())}
            message = {**message, "headers": [*message.get("headers", ()), *(h for h in SECURITY if h[0] not in present)]}
        await send(message)

    return sending


async def refuse(scope: Any, send: Any, reason: str) -> None:
    """403, and the connection is closed, so that a stranger holds none.

    A WebSocket gets it without the reason: no browser shows one, and for every refusal with a body uvicorn logs an error.
    """
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": reason[:120]})
        return
    body = f"403: {reason}\n".encode()
    headers: Headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode()), *SECURITY]
    headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": body})
