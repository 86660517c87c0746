"""Bodies that are too large, however they come, and what a system lets a server have open."""

import asyncio
import sys
from types import SimpleNamespace

import pytest

from ironlaw.server import request_limits
from ironlaw.server.request_limits import BODY, Bodies, allow_descriptors, connections

HALF = b"x" * (BODY // 2 + 1)


def answered(messages, headers=(), begins=False, path="/do/save"):
    """What is sent where an app reads a body of these messages to its end; `begins`: it answers before."""
    sent, waiting = [], iter(messages)

    async def app(scope, receive, send):
        if begins:
            await send({"type": "http.response.start", "status": 200})
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.body", "body": b"done"})

    async def receive():
        return next(waiting)

    async def send(message):
        sent.append(message)

    asyncio.run(Bodies(app)({"type": "http", "path": path, "headers": list(headers)}, receive, send))
    return sent


CHUNKED = [(b"transfer-encoding", b"chunked")]
TOO_LONG = [{"body": HALF, "more_body": True}, {"body": HALF, "more_body": False}]


def test_a_body_that_becomes_too_large_is_refused_as_soon_as_it_has():
    start, body = answered(TOO_LONG, CHUNKED)
    assert start["status"] == 413 and body["body"] == b"413: more than 2 MiB\n" and (b"connection", b"close") in start["headers"]
    assert answered(TOO_LONG, CHUNKED, path="/do/import")[0]["body"] == b"done"  # a course may be longer


def test_an_answer_that_has_begun_is_not_begun_again_and_nobody_waits_for_the_rest():
    (only,) = answered(TOO_LONG, CHUNKED, begins=True)
    assert only["status"] == 200 and only["headers"] == [(b"connection", b"close")]


@pytest.mark.parametrize("length", [str(BODY + 1), "-1", "1e9", "9" * 30])
def test_a_length_that_is_too_large_or_none_is_refused_unread(length):
    assert answered([], [(b"content-length", length.encode())])[0]["status"] == 413


class Limits(SimpleNamespace):
    RLIMIT_NOFILE, RLIM_INFINITY = 7, -1

    def getrlimit(self, which):
        assert which == self.RLIMIT_NOFILE
        return self.soft, self.hard

    def setrlimit(self, which, new):
        if self.refuses:
            raise ValueError
        self.soft = new[0]


@pytest.mark.parametrize(
    ("soft", "hard", "refuses", "pages", "then"),
    [
        (-1, -1, False, 50, -1), (10**6, 10**6, False, 50, 10**6),
        (256, -1, False, 50, connections(50) + request_limits.BESIDE + request_limits.FILES),
        (256, 300, False, (300 - 2 * 64 - 64) // 4, 300), (256, 10**6, True, (256 - 2 * 64 - 64) // 4, 256), (64, 64, False, 1, 64),
    ],
)  # fmt: skip
def test_as_many_descriptors_as_the_pages_take_where_the_system_lets_it(soft, hard, refuses, pages, then, monkeypatch):
    limits = Limits(soft=soft, hard=hard, refuses=refuses)
    monkeypatch.setitem(sys.modules, "resource", limits)
    assert allow_descriptors(50) == pages and limits.soft == then


def test_a_system_without_such_a_limit(monkeypatch):
    monkeypatch.setitem(sys.modules, "resource", None)
    assert allow_descriptors(50) == 50
