"""The built site on this machine, to try it: a plain file server, as any host is one."""

from __future__ import annotations

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from ironlaw.errors import BadValue

TYPES = {".mjs": "text/javascript", ".js": "text/javascript", ".wasm": "application/wasm", ".json": "application/json"}


class Files(SimpleHTTPRequestHandler):
    extensions_map = {**SimpleHTTPRequestHandler.extensions_map, **TYPES}  # noqa: RUF012 - as the base class has it

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


def server(folder: Path, port: int) -> ThreadingHTTPServer:
    try:
        return ThreadingHTTPServer(("127.0.0.1", port), partial(Files, directory=str(folder)))
    except (OSError, OverflowError) as error:
        raise BadValue(f"cannot listen on port {port} ({error}); choose another: --port 0 takes any that is free") from None


def serve(folder: Path, port: int) -> None:
    """Until it is interrupted."""
    with server(folder, port) as running:
        print(f"http://127.0.0.1:{running.server_port}/ (Ctrl+C ends it)", flush=True)
        try:
            running.serve_forever()
        except KeyboardInterrupt:
            print()
