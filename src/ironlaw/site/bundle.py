"""What of ironlaw runs in the browser, and the libraries it needs there, as one archive."""

from __future__ import annotations

import importlib.metadata
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import ironlaw
from ironlaw.errors import MissingExtra

LIBRARIES = ("markdown", "fsrs", "latex2mathml", "typing_extensions")
# rooms and files that nothing in a browser asks for; a test opens every page with what is left
LEFT_OUT = (
    "cli", "server", "classroom", "manual", "report", "widget/js", "widget/css", "registry/corpus", "registry/outcomes",
    "ledger/migrations", "pages/static", "measure/suites", "measure/kernels", "measure/models", "measure/machine", "site/js",
    "site/build_site.py", "site/bundle.py", "site/folder.py", "site/listing.py", "site/runtime.py", "site/serve.py", "site/shells.py",
    "measure/squeeze", "measure/attacked", "registry/trained/digits.npz", "registry/trained/digits_hardened.npz",
)  # fmt: skip
KEPT = ("report/__init__.py", "report/accuracy.py", "report/analyze.py")  # of those
LEFT_OUT_OF_LIBRARIES = ("fsrs/optimizer.py", "markdown/test_tools.py", "markdown/__main__.py")
SINCE = (1980, 1, 1, 0, 0, 0)  # every file's date, so that the same files are the same archive


def archive() -> bytes:
    """The archive; the same files give the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for name, path in sorted(_files()):
            info = zipfile.ZipInfo(name, SINCE)
            info.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(info, path.read_bytes())
    return buffer.getvalue()


def _files() -> Iterator[tuple[str, Path]]:
    root = Path(ironlaw.__file__).parent
    for path in root.rglob("*"):
        name = path.relative_to(root).as_posix()
        left_out = any(name == out or name.startswith(f"{out}/") for out in LEFT_OUT) and name not in KEPT
        if path.is_file() and path.suffix != ".pyc" and not left_out:
            yield f"ironlaw/{name}", path
    for library in LIBRARIES:
        yield from _library(library)


def _library(name: str) -> Iterator[tuple[str, Path]]:
    try:
        parts = importlib.metadata.files(name) or ()
    except importlib.metadata.PackageNotFoundError:
        raise MissingExtra(f"the site needs {name}; install it with: pip install {name}") from None
    for part in parts:
        place = part.as_posix()
        code = part.suffix in (".py", ".txt") and place.startswith((f"{name}/", f"{name}.py")) and place not in LEFT_OUT_OF_LIBRARIES
        if code or part.name == "METADATA":  # some ask for their own version
            yield place, Path(str(part.locate()))


def licences() -> Iterator[tuple[str, str]]:
    """Name and text of each library's licence."""
    for name in LIBRARIES:
        about = importlib.metadata.distribution(name)
        texts = [part.read_text() for part in about.files or () if "LICENSE" in part.name.upper()]
        yield f"{about.metadata['Name']} {about.version}", "\n".join(texts)
