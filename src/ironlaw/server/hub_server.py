"""The process that a Jupyter server's proxy starts: `python -P -m ironlaw.server.hub_server SOCKET`.

It holds the socket and starts the labs when somebody connects; they end when nobody does anything for a while, and this waits for the next
one. The proxy would never start a process again that has ended, so this one, which is small, stays.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from types import FrameType

SECRET, BASE = "IRONLAW_PROXY_SECRET", "IRONLAW_PROXY_BASE"
PATIENCE_S = 2.0  # between two starts, where the first failed


def main(arguments: list[str]) -> int:
    if len(arguments) == 2 and arguments[0] == "--on":
        return labs(int(arguments[1]))
    if len(arguments) != 1 or not os.environ.get(SECRET):
        print("ironlaw: this is started by jupyter-server-proxy; to open the labs yourself, run: ironlaw labs", file=sys.stderr)
        return 2
    with listen(arguments[0]) as sock:
        return wait_and_start(sock)


def listen(path: str) -> socket.socket:
    """For this user alone, also where others can enter the folder."""
    with suppress(FileNotFoundError):
        os.unlink(path)
    sock = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)
    try:
        sock.bind(path)
    finally:
        os.umask(before)
    sock.listen(128)
    return sock


def wait_and_start(sock: socket.socket) -> int:
    """Runs until a signal ends it. Whoever connects while the labs start or end waits in the socket's queue."""
    running: subprocess.Popen[bytes] | None = None

    def end(number: int, frame: FrameType | None) -> None:
        if running is not None:
            running.terminate()
            with suppress(subprocess.TimeoutExpired):
                running.wait(10)
        sys.exit(0)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    while True:
        select.select([sock], [], [])
        start = time.monotonic()
        command = [sys.executable, "-P", "-m", "ironlaw.server.hub_server", "--on", str(sock.fileno())]
        running = subprocess.Popen(command, pass_fds=[sock.fileno()])
        if running.wait() != 0:
            time.sleep(max(0.0, PATIENCE_S - (time.monotonic() - start)))


def labs(descriptor: int) -> int:
    """The labs themselves, on a socket that somebody else has opened."""
    from ironlaw.errors import IronlawError
    from ironlaw.server.start_server import serve_behind_proxy

    secret = os.environ.pop(SECRET, "")  # what a lab starts need not know it
    try:
        serve_behind_proxy(socket.socket(fileno=descriptor), secret, os.environ.get(BASE, ""))
    except IronlawError as error:
        print(f"ironlaw: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
