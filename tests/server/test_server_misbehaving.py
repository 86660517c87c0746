"""Connections that break the rules or stop reading: the terminal says so once and plainly, and nothing is held for them."""

import asyncio
import contextlib
import os
import re
import socket
import subprocess
import sys
import threading
from urllib.parse import urlsplit

import pytest
import uvicorn
from labs_entry import ENVIRONMENT, header

from ironlaw.server import log_lines, request_limits
from ironlaw.server.patient_socket import PatientSocket

OPENING = (
    "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: {origin}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\n{more}\r\n"
)
KEY = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"


def connected(port: int, content: bytes, answers: bool = True) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=180) as one:
        one.sendall(content)
        return one.recv(4096) if answers else b""


def test_strangers_and_broken_clients_do_not_fill_the_terminal(tmp_path):
    code = "from ironlaw.server import serve; serve(port=0, open_browser=False)"
    environment = {**os.environ, **ENVIRONMENT, "IRONLAW_HOME": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    server = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    try:
        url = re.search(r"http://127\.0\.0\.1:\d+", server.stdout.readline())[0]
        port = urlsplit(url).port
        let_in = f"Cookie: {header(url)['Cookie']}\r\n"
        for _ in range(3):
            for origin in ("http://evil.example", url):  # a foreign page, and another user without the cookie
                opening = OPENING.format(path="/direct", port=port, origin=origin, more=KEY)
                assert connected(port, opening.encode()).startswith(b"HTTP/1.1 403")
            connected(port, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", answers=False)  # how https:// begins
            connected(port, OPENING.format(path="/direct", port=port, origin=url, more="").encode())  # without a key
            for frame in (b"\xff\xff\xff\xff\xff\xff", b"\x81\x81\0\0\0\0\xff"):  # not a frame at all, and one whose text is not UTF-8
                with socket.create_connection(("127.0.0.1", port), timeout=180) as one:
                    one.sendall(OPENING.format(path="/direct", port=port, origin=url, more=KEY + let_in).encode())
                    assert one.recv(4096).startswith(b"HTTP/1.1 101")
                    one.sendall(frame)
                    while one.recv(4096):
                        pass
    finally:
        server.terminate()
        rest = server.stdout.read()
        server.wait(180)
    lines = [line for line in rest.splitlines() if "stopped" not in line]
    assert len(lines) == 2 and all("said once" in line for line in lines), rest
    assert "is not HTTP" in rest and "is not UTF-8" in rest


@contextlib.contextmanager
def served(app, **options):
    """uvicorn with our protocols, and its port."""
    sock = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_config=None, lifespan="off", **options)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[sock])))
    thread.start()
    try:
        yield sock.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(180)


def deaf(port: int, asking: bytes) -> socket.socket:
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    one.connect(("127.0.0.1", port))
    one.sendall(asking)
    return one


def flood(kind: str, ended: threading.Event):
    """Sends far more than any buffer holds; `ended` once nobody waits any more."""

    async def app(scope, receive, send):
        try:
            if kind == "ws":
                await send({"type": "websocket.accept"})
                while True:
                    await send({"type": "websocket.send", "text": "x" * 2**20})
            await send({"type": "http.response.start", "status": 200, "headers": []})
            for _ in range(64):
                await send({"type": "http.response.body", "body": b"x" * 2**20, "more_body": True})
        except OSError:
            pass
        finally:
            ended.set()

    return app


def test_a_page_that_reads_nothing_is_let_go_of(caplog: pytest.LogCaptureFixture):
    log_lines.say_each_once()
    ended = threading.Event()
    options = {"ws": PatientSocket, "ws_ping_interval": 0.2, "ws_ping_timeout": 0.2, "timeout_graceful_shutdown": 1}
    with served(flood("ws", ended), **options) as port:
        asking = OPENING.format(path="/", port=port, origin="http://x", more=KEY).encode()
        with deaf(port, asking):  # uvicorn alone would wait for as long as this stays open
            assert ended.wait(60)
        ended.clear()
        with deaf(port, asking):
            assert ended.wait(60)
    said = [record.getMessage() for record in caplog.records if record.levelname in ("WARNING", "ERROR")]
    assert said == [log_lines.DEAF + log_lines.ONCE]


def test_a_request_whose_answer_nobody_reads_is_let_go_of(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(request_limits, "STALL_S", 0.3)
    ended = threading.Event()
    with served(flood("http", ended), http=request_limits.Patient, timeout_graceful_shutdown=1) as port:
        asking = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
        with deaf(port, asking):
            assert ended.wait(60)
