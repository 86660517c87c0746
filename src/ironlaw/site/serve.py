"""The built site on this machine, to try it: a plain file server, as any host is one."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from ironlaw.errors import BadValue
from ironlaw.site.listing import NOT_FOUND

TYPES = {".mjs": "text/javascript", ".js": "text/javascript", ".wasm": "application/wasm", ".json": "application/json"}


class Files(SimpleHTTPRequestHandler):
    extensions_map = {**SimpleHTTPRequestHandler.extensions_map, **TYPES}  # noqa: RUF012 - as the base class has it

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What is not there has the site's own page, as hosts show it."""
        page = Path(self.directory) / NOT_FOUND
        if code != HTTPStatus.NOT_FOUND or not page.is_file():
            return super().send_error(code, message, explain)
        body = page.read_bytes()
        self.send_response(code)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


def server(folder: Path, port: int) -> ThreadingHTTPServer:
    try:
        return ThreadingHTTPServer(("127.0.0.1", port), partial(Files, directory=str(folder)))
    except (OSError, OverflowError) as error:
        raise BadValue(f"cannot listen on port {port} ({error}); choose another: --port 0 takes any that is free") from None


def serve(folder: Path, port: int) -> None:
    """Serves the folder until it is interrupted."""
    with server(folder, port) as running:
        print(f"http://127.0.0.1:{running.server_port}/ (Ctrl+C ends it)", flush=True)
        try:
            running.serve_forever()
        except KeyboardInterrupt:
            print()
