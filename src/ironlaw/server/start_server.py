"""Starts the server: a free loopback port, its secret, one line when it listens, the browser, one line when it stops.

Slow steps do not hold it up: the ledger is opened before the line if that takes no longer than a second, the
labs are imported in the background after it.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import os
import socket
import sys
import threading
import time
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Any

from ironlaw import command
from ironlaw.errors import BadValue, IronlawError, MissingExtra
from ironlaw.server import secret

PORT = command.PORT
TRIES = 50
LEDGER_S = 1.0
NOBODY_S = 5.0  # without a visitor, get ready anyway
PAUSE_S = 0.3
SWITCH_S = 0.001  # an answer that is ready waits no longer than this for a thread that computes
ARRIVAL_S = 15.0  # a browser that was opened has found its way by then
OPEN = "warning: no token: every user and every program on this machine can read and change what you do in the labs"
LOST = "no browser has connected yet; paste the address above into one (it may not be allowed to read {place})"
LOOPBACK = {"127.0.0.1": "127.0.0.1", "localhost": "127.0.0.1", "::1": "::1"}


def serve(
    port: int = PORT, open_browser: bool = True, host: str = "127.0.0.1", lab: str = "", folder: Path | None = None,
    token: str | None = None, pages: int | None = None,
) -> None:  # fmt: skip
    """Serve gallery and labs until Ctrl-C. A port that is taken gives way to the next free one; 0 takes any; `lab` is opened.

    `folder` holds the labs, if it is not the one of this package. `token` must be in the address that is opened first; None
    chooses one, and an empty one asks for none. `pages`: how many labs may be open at once.
    """
    try:
        import uvicorn
    except ImportError as error:
        raise MissingExtra(f"the page needs {error.name}; install it with: pip install starlette uvicorn") from None
    from ironlaw.pages.lab_catalogue import LABS
    from ironlaw.server import log_lines, request_limits
    from ironlaw.server.app import create_app

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets=sockets)
            if self.started:
                say(f"ironlaw labs: {url}")
                self.fresh = asyncio.create_task(secret.keep_fresh(actual, token))
                threading.Thread(target=warm, args=(app,), daemon=True).start()
                if open_browser and has_display():
                    # the call may return late, or never
                    threading.Thread(target=show_page, args=(actual, url, app.state.door), daemon=True).start()

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            await super().shutdown(sockets=sockets)
            app.state.keeper.close()  # so that a stopped server leaves one file, without a log
            app.state.labs.close()
            secret.forget(actual)  # here: after a signal, nothing behind `run` is reached

    sys.setswitchinterval(SWITCH_S)
    sock = listen(host, port)
    actual = sock.getsockname()[1]
    if port not in (0, actual):
        say(f"port {port} is taken; using {actual}")
    name = f"[{LOOPBACK[host]}]" if ":" in host else host
    token = "" if token == "" else secret.token(actual, token)
    url = f"http://{name}:{actual}" + (f"/lab/{lab}/" if lab else "/") + (f"?token={token}" if token else "")
    if not token:
        say(OPEN)
    most = request_limits.allow_descriptors(pages or request_limits.PAGES)
    if pages and most < pages:
        say(f"this system allows ironlaw too few open files for {pages} labs at once; {most} may be open (ulimit -n raises it)")

    def stop() -> None:
        server.should_exit = True

    app = create_app(stop, folder or LABS, token, most)
    open_ledger_of(app)
    server = Server(uvicorn.Config(app, **options(most)))
    log_lines.say_each_once()
    with sock, suppress(KeyboardInterrupt):
        server.run(sockets=[sock])
    say("ironlaw labs: stopped")


def serve_behind_proxy(sock: socket.socket, secret: str, base: str) -> None:
    """Serve the labs on a socket that is open already, for the proxy that knows the secret, until nobody has done anything for a while."""
    import uvicorn

    from ironlaw.server import idle, log_lines, request_limits
    from ironlaw.server.app import create_app
    from ironlaw.server.behind_proxy import Proxy

    seconds, proxy = idle.idle_seconds(), Proxy(secret, base)

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets=sockets)
            self.watch = asyncio.create_task(proxy.clock.watch(seconds, stop))
            threading.Thread(target=warm, args=(app,), daemon=True).start()

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            await super().shutdown(sockets=sockets)
            app.state.keeper.close()
            app.state.labs.close()

    def stop() -> None:
        server.should_exit = True

    sys.setswitchinterval(SWITCH_S)
    most = request_limits.allow_descriptors(request_limits.PAGES)
    app = create_app(stop, most_pages=most, proxy=proxy)
    open_ledger_of(app)
    server = Server(uvicorn.Config(app, **options(most)))
    log_lines.say_each_once()
    with suppress(KeyboardInterrupt):
        server.run(sockets=[sock])


def options(most: int) -> dict[str, Any]:
    """What uvicorn is told, for so many open labs."""
    from ironlaw.server import request_limits
    from ironlaw.server.patient_socket import PatientSocket

    config: dict[str, Any] = {"log_level": "warning", "access_log": False, "proxy_headers": False, "server_header": False}
    config |= {"http": request_limits.Patient, "ws": PatientSocket, "ws_max_size": request_limits.SOCKET_MESSAGE, "ws_max_queue": 8}
    config |= {"limit_concurrency": request_limits.connections(most), "timeout_graceful_shutdown": 2}
    config["ws_per_message_deflate"] = False  # nothing leaves this machine: packing and unpacking would only cost time
    return config


def open_ledger_of(app: Any) -> None:
    """Opens the ledger ahead, or the first page would wait for it; a database that does not answer holds up nothing."""
    ledger = threading.Thread(target=app.state.keeper.records, daemon=True)
    ledger.start()
    ledger.join(LEDGER_S)


def warm(app: Any) -> None:
    """Prepares what the first visitor would otherwise wait for, in the order of need."""
    app.state.first_visit.wait(NOBODY_S)  # imports share the CPU with requests, and the start page goes first
    time.sleep(PAUSE_S)
    app.state.labs.warm()
    from ironlaw.pages.explore.explore_page import page
    from ironlaw.widget import direct_answers

    page([])
    gc.collect()
    direct_answers.spare_collector()


def listen(host: str, port: int) -> socket.socket:
    """A listening loopback socket at `port` or the first free one after it."""
    if host not in LOOPBACK:
        raise BadValue(f"host {host!r} is not this machine; the page is served on loopback only: give {', '.join(LOOPBACK)}")
    if not 0 <= port <= 65535:
        raise BadValue(f"port {port} is not a valid port; give one from 1 to 65535, or 0 for any free one")
    last = port if port == 0 else min(port + TRIES, 65535)
    for candidate in range(port, last + 1):
        sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        if os.name == "posix":  # elsewhere this would let two servers share a port
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((LOOPBACK[host], candidate))
            sock.listen(128)
        except OSError as error:
            sock.close()
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise BadValue(f"cannot listen on {host} port {candidate}: {error.strerror}; give another host or port") from None
            continue
        return sock
    raise BadValue(f"no free port from {port} to {last}; give another with --port, or 0 for any")


def has_display() -> bool:
    """Whether there is a display; without one, `webbrowser` may start a text browser in this terminal."""
    return sys.platform in ("win32", "darwin") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def show_page(port: int, url: str, door: Any) -> None:
    """Opens a browser without the secret on its command line: it is sent to a file that only this user can read."""
    if not door.token:
        with suppress(webbrowser.Error):
            webbrowser.open(url)
        return
    try:
        place = secret.redirect_file(port, url)
    except (OSError, IronlawError):
        return  # the address is in the terminal
    with suppress(webbrowser.Error):
        if webbrowser.open(place.as_uri()) and not door.entered.wait(ARRIVAL_S):
            say(LOST.format(place=place))


def say(text: str) -> None:
    print(text, flush=True)
