"""Python for a browser: Pyodide, a pinned release of it, from a file or from npm's registry; checked, and kept for the next time."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import tarfile
import tempfile
import urllib.request
import zipfile
from pathlib import Path

from ironlaw import home
from ironlaw.errors import BadValue

VERSION = "314.0.7"
ADDRESS = f"https://registry.npmjs.org/pyodide/-/pyodide-{VERSION}.tgz"
SHA256 = "66b7949e5a0cba2250b586d7e368bf12fb482800748d182c4618254b685ffaa0"
FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
UNUSED = re.compile(
    r"(multiprocessing|_pyrepl|unittest|xmlrpc|wsgiref|pydoc_data|ensurepip|venv|idlelib|turtledemo|curses|dbm|sqlite3|lib2to3|xml/dom"
    r"|encodings/(?!__init__|aliases|ascii|latin_1|utf_8|utf_16|cp437|idna|raw_unicode_escape|unicode_escape|punycode))/?"
    r"|(pdb|doctest|pydoc|imaplib|mailbox|smtplib|ftplib|poplib|optparse|pickletools|cgi|nntplib|turtle|tkinter|trace|profile|cProfile"
    r"|pstats|timeit|bdb|webbrowser|socketserver|antigravity|this|zipapp|plistlib|netrc|sched|shelve|rlcompleter|pyclbr)\.py"
)
TIMEOUT_S = 60
SOURCE = "https://github.com/pyodide/pyodide"


def files(given: Path | None = None) -> dict[str, bytes]:
    """The runtime's files by name. `given`: the release as npm packs it, for a machine that can't download it."""
    try:
        with tarfile.open(fileobj=io.BytesIO(_archive(given))) as archive:
            members = {name: archive.extractfile(f"package/{name}") for name in FILES}
            found = {name: member.read() for name, member in members.items() if member is not None}
    except (tarfile.TarError, KeyError) as error:
        raise BadValue(f"the runtime lacks a file ({error}); give Pyodide {VERSION} as npm packs it") from None
    lock = json.loads(found["pyodide-lock.json"])
    found["python_stdlib.zip"] = _without(found["python_stdlib.zip"])
    found["pyodide-lock.json"] = json.dumps({**lock, "packages": {}}).encode()  # none of its packages is used
    return found


def _without(archive: bytes) -> bytes:
    """The standard library without what nothing here imports: a seventh of the whole site."""
    smaller = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as whole, zipfile.ZipFile(smaller, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for info in whole.infolist():
            if not UNUSED.match(info.filename):
                packed.writestr(info, whole.read(info), zipfile.ZIP_DEFLATED)
    return smaller.getvalue()


def _archive(given: Path | None) -> bytes:
    if given is not None:
        return _checked(_read(given), str(given))
    kept = home.folder() / "runtime" / f"pyodide-{VERSION}.tgz"
    if kept.is_file():
        data = kept.read_bytes()
        if hashlib.sha256(data).hexdigest() == SHA256:
            return data
    data = download()
    keep(data, home.path("runtime", kept.name))
    return data


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadValue(f"cannot read {path} ({error.strerror}); give the file that {ADDRESS} is") from None


def download() -> bytes:
    """The release, as npm packs it."""
    try:
        with urllib.request.urlopen(ADDRESS, timeout=TIMEOUT_S) as answer:
            return _checked(answer.read(), ADDRESS)
    except OSError as error:
        raise BadValue(
            f"cannot download {ADDRESS} ({error}); fetch that file on a machine that can, and give it: ironlaw site OUT --runtime FILE"
        ) from None


def _checked(data: bytes, where: str) -> bytes:
    digest = hashlib.sha256(data).hexdigest()
    if digest != SHA256:
        raise BadValue(f"{where} is not Pyodide {VERSION}: its SHA-256 is {digest}, expected {SHA256}; fetch {ADDRESS} again")
    return data


def keep(data: bytes, path: Path) -> None:
    """Whole or not at all."""
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
        file.write(data)
    os.replace(file.name, path)
