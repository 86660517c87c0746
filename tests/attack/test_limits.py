"""One who holds connections, or sends without end, keeps nobody else out and fills nothing."""

import http.client
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import soak
from labs_entry import header

HELD = 400
IMPATIENT = """
from ironlaw.server import request_limits as limits
from ironlaw.server import serve, start_server
start_server.warm = lambda app: None  # what is prepared for a learner is none of the attacker's doing, and took most of the time
limits.HEADERS_S = 1.5
serve(port=0, open_browser=False)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[soak.Server]:
    with soak.serving(IMPATIENT, IRONLAW_HOME=str(tmp_path_factory.mktemp("home")), IRONLAW_LEDGER="") as running:
        running.get("/")
        yield running


def half_open(server: soak.Server, beginning: bytes) -> socket.socket:
    held = socket.create_connection(("127.0.0.1", urlsplit(server.url).port), timeout=180)
    held.sendall(beginning)
    return held


@pytest.mark.parametrize("beginning", [b"", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "])
def test_half_open_connections_make_room_and_are_closed_in_time(server: soak.Server, beginning: bytes):
    before = server.held()["descriptors"]
    held = [half_open(server, beginning) for _ in range(HELD)]
    soon, steady = time.monotonic() + 180, 0
    while steady < 10 and time.monotonic() < soon:  # they are accepted, and let go, a little later than they were opened
        steady = steady + 1 if server.held()["descriptors"] < before + 300 else 0
        time.sleep(0.05)
    assert steady == 10  # uvicorn alone held all of them
    assert b"<h1>ironlaw</h1>" in server.get("/")
    end = time.monotonic() + 180
    while server.held()["descriptors"] > before + 20 and time.monotonic() < end:
        time.sleep(0.1)
    assert server.held()["descriptors"] <= before + 20
    for connection in held:
        connection.close()


def test_a_second_request_has_no_more_time_than_the_first(server: soak.Server):
    port = urlsplit(server.url).port
    whole = f"GET /favicon.ico HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: {header(server.url)['Cookie']}\r\n\r\n".encode()
    with half_open(server, whole) as held:
        assert held.recv(4096).startswith(b"HTTP/1.1 308")
        held.sendall(b"GET / HT")
        with pytest.raises(ConnectionResetError):  # uvicorn alone would wait for the rest for ever
            while held.recv(4096):
                pass
            raise ConnectionResetError


@pytest.mark.parametrize("let_in", [True, False])
def test_a_chunked_body_without_end_is_cut_off(server: soak.Server, let_in: bool):
    """A stranger's is not read at all; for the rest of a page's requests two mebibytes are enough."""
    at = urlsplit(server.url)
    connection = http.client.HTTPConnection("127.0.0.1", at.port, timeout=180)
    connection.putrequest("POST", "/do/name", skip_accept_encoding=True)
    for name, value in {"Origin": server.url, "Transfer-Encoding": "chunked", **(header(server.url) if let_in else {})}.items():
        connection.putheader(name, value)
    connection.putheader("Content-Type", "application/x-www-form-urlencoded")
    connection.endheaders()
    sent, chunk = 0, b"a" * 65536
    try:
        while sent < 64 * 2**20:
            connection.send(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
            sent += len(chunk)
    except OSError:
        pass
    assert sent < 16 * 2**20  # what the two ends had in their buffers
    assert b"<h1>ironlaw</h1>" in server.get("/")


def test_a_body_that_says_it_is_too_large_is_refused_at_once(server: soak.Server):
    at = urlsplit(server.url)
    for path, length in (("/do/name", 3 * 2**20), ("/do/import", 201 * 2**20), ("/do/name", 10**30)):
        connection = http.client.HTTPConnection("127.0.0.1", at.port, timeout=180)
        connection.putrequest("POST", path)
        for name, value in {"Origin": server.url, "Content-Length": str(length), **header(server.url)}.items():
            connection.putheader(name, value)
        connection.endheaders()
        assert connection.getresponse().status in (400, 413)


def test_nothing_is_left_of_it(server: soak.Server, tmp_path: Path):
    assert server.held()["MiB"] < 400
