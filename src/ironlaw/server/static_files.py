"""Files that never change at their address: ours, and the labs' theme. A browser requests each once.

They are read once and cached, then served without a thread or another look at the disk; the address contains the version, so all labs
share them and no browser requests one twice. The cache goes by the file and not by the name that was asked for: `assets//x.js` and
`assets/x.js` are one. What is longest unused makes room.
"""

from __future__ import annotations

import hashlib
import mimetypes
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".woff2": "font/woff2"}
KEEP = (b"cache-control", b"public, max-age=31536000, immutable")
MOST = 64 * 2**20  # bytes of files that one folder's cache holds

File = tuple[list[tuple[bytes, bytes]], bytes]


class Immutable:
    """`/<anything>/<name>` -> the file `name` in `folder`, or the text of that name. Pure ASGI; its address has a digest in it."""

    def __init__(self, folder: Path | None = None, texts: Mapping[str, str] | None = None, most: int = MOST) -> None:
        self.folder, self.most = folder and folder.resolve(), most
        self.texts = {name: response(name, text.encode()) for name, text in (texts or {}).items()}
        self.cache: OrderedDict[str, File] = OrderedDict()  # by the file's own name, the longest unused first
        self.size = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        name = scope["path"].removeprefix(scope.get("root_path", "")).lstrip("/")
        file = self.find(name)
        status, headers, body = (404, [(b"content-type", b"text/plain")], b"404: no such file\n") if file is None else (200, *file)
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1000})
            return
        if scope["method"] not in ("GET", "HEAD"):
            status, headers, body = 405, [(b"allow", b"GET, HEAD")], b""
        elif status == 200 and dict(headers)[b"etag"] in dict(scope["headers"]).get(b"if-none-match", b""):
            status, body = 304, b""
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})

    def find(self, name: str) -> File | None:
        if name in self.texts:
            return self.texts[name]
        if name in self.cache:
            self.cache.move_to_end(name)
            return self.cache[name]
        return self.read(name)

    def read(self, name: str) -> File | None:
        """The file from the disk, or from the cache if it was asked for by another name."""
        if self.folder is None:
            return None
        try:
            path = (self.folder / name).resolve()
            if not path.is_relative_to(self.folder) or not path.is_file():
                return None
            own = path.relative_to(self.folder).as_posix()
            if own in self.cache:
                return self.find(own)
            file = response(path.name, path.read_bytes())
        except (OSError, ValueError):  # a name that no file can have: too long, or with a NUL in it
            return None
        self.size += len(file[1])
        self.cache[own] = file
        while self.size > self.most and len(self.cache) > 1:
            self.size -= len(self.cache.popitem(last=False)[1][1])
        return file


def response(name: str, body: bytes) -> File:
    """The headers of a file and its content."""
    kind = TYPES.get(Path(name).suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    etag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'.encode()
    return [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode()), (b"etag", etag), KEEP], body
