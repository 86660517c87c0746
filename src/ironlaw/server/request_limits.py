"""How many pages and connections there may be, how much one request may bring, and how long a connection may take to say what it wants.

uvicorn has no time limit for the headers of a first request, and holds any number of connections. Here a connection that has not
sent a whole request in time is closed; where too many are about to, the one that has kept us waiting longest makes room. There are enough
connections for the pages that may be open, so that a page too many is told so by its lab; a connection too many gets 503 and a sentence.
Behind the door, so for those who are let in: a body is counted while it is read, whatever its Content-Length says.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADERS_S = 10.0  # for the headers of a request, from the first byte or the connection's start
STALL_S = 30.0  # in which a client must take some of what it asked for
PAGES = 250  # labs that may be open at once, unless `ironlaw labs --pages` says otherwise
PER_PAGE, BESIDE = 4, 64  # connections: a page's two sockets and what it fetches; the start page, strangers
MOST_WAITING = 256  # connections without a whole request
FILES = 64  # descriptors for everything else
BODY = 2 * 2**20  # bytes, of what a page sends
UPLOADS = {"/do/import": 20 * 2**20}  # a whole course is under one
SOCKET_MESSAGE = 2**20  # bytes of one WebSocket message


class Patient(H11Protocol):
    """uvicorn's HTTP/1.1, with a limit on how long a connection may wait and on how many there are."""

    stall: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self.limit_concurrency and len(self.connections) > self.limit_concurrency + BESIDE:
            self.give_up()  # from `limit_concurrency` on uvicorn answers 503
        elif len(WAITING) >= MOST_WAITING:
            next(iter(WAITING)).give_up()
        self.wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:  # part of a request, the first or a later one
            self.wait()
        else:
            self.stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self.stop_waiting()
        self.stop_watching()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self.watch(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        self.stop_watching()
        super().resume_writing()

    def watch(self, size: int) -> None:
        """Give up on a client that has taken no byte when it is looked at again."""
        self.stop_watching()

        def look() -> None:
            left = self.transport.get_write_buffer_size()
            self.watch(left) if left < size else self.give_up()

        self.stall = self.loop.call_later(STALL_S, look)

    def stop_watching(self) -> None:
        if self.stall is not None:
            self.stall.cancel()

    def wait(self) -> None:
        if self not in WAITING and not self.transport.is_closing():
            WAITING[self] = self.loop.call_later(HEADERS_S, self.give_up)

    def stop_waiting(self) -> None:
        if (timer := WAITING.pop(self, None)) is not None:
            timer.cancel()

    def give_up(self) -> None:
        self.stop_waiting()
        self.transport.abort()


WAITING: dict[Patient, asyncio.TimerHandle] = {}  # connections without a whole request, the oldest first


def connections(pages: int) -> int:
    """How many connections we allow for so many open pages."""
    return PER_PAGE * pages + BESIDE


def allow_descriptors(pages: int) -> int:
    """Lets this process have as many descriptors as that takes, where the system does; returns for how many pages they are enough."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return pages
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections(pages) + BESIDE + FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        new = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (new, hard))
            soft = new
        except (OSError, ValueError):
            pass
    return pages if soft == resource.RLIM_INFINITY else max(1, min(pages, (soft - 2 * BESIDE - FILES) // PER_PAGE))


class TooLarge(Exception):
    """The body is larger than it may be."""


class Bodies:
    """Refuses a body that is too large with 413: at once if it says so itself, else as soon as it has become so."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit, received, started = UPLOADS.get(scope["path"], BODY), 0, False
        given = dict(scope["headers"])
        announced, reading = given.get(b"content-length", b"0"), b"transfer-encoding" in given or b"content-length" in given
        if not announced.isdigit() or len(announced) > 18 or int(announced) > limit:
            await too_large(send, limit)
            return

        async def counting() -> Any:
            nonlocal received, reading
            message = await receive()
            received += len(message.get("body", b""))
            reading = reading and message.get("more_body", False)
            if received > limit:
                raise TooLarge
            return message

        async def sending(message: Any) -> None:
            nonlocal started
            started = True
            if reading and message["type"] == "http.response.start":  # an answer before the body's end: nobody waits for the rest
                message = {**message, "headers": [*message.get("headers", ()), (b"connection", b"close")]}
            await send(message)

        try:
            await self.app(scope, counting, sending)
        except TooLarge:
            if not started:
                await too_large(send, limit)


async def too_large(send: Any, limit: int) -> None:
    body = f"413: more than {limit >> 20} MiB\n".encode()
    headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(body)).encode()), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": body})
