"""What of ironlaw runs in the browser, and the libraries it needs there, as one archive.

It is a list of names and sizes, then what is in the files one after the other, gzipped as a whole: a thousand small files that are
alike take a quarter less than in a zip, which packs each alone. `js/packed.js` reads it.
"""

from __future__ import annotations

import gzip
import importlib.metadata
import json
import struct
from collections.abc import Iterator
from pathlib import Path

import ironlaw
from ironlaw import own_labs
from ironlaw.errors import MissingExtra

LIBRARIES = ("markdown", "fsrs", "latex2mathml", "typing_extensions")
# rooms and files that nothing in a browser asks for; a test opens every page with what is left
LEFT_OUT = (
    "cli", "server", "classroom", "manual", "report", "widget/js", "widget/css", "registry/corpus", "registry/outcomes",
    "ledger/migrations", "pages/static", "measure/suites", "measure/kernels", "measure/models", "measure/machine", "site/js",
    "site/build_site.py", "site/bundle.py", "site/folder.py", "site/listing.py", "site/runtime.py", "site/serve.py", "site/shells.py",
    "site/scorm.py", "site/course.html",
    "measure/squeeze", "measure/attacked", "registry/trained/digits.npz", "registry/trained/digits_hardened.npz",
    "registry/trained/digits_training.txt", "registry/trained/digits_readers.csv", "measure/adversarial", "measure/compression",
    "measure/dp_training", "tracing", "worker", "study", "outputs", "labs/_template", "__main__.py", "py.typed",
)  # fmt: skip
# evidence that curves are fitted to, and that no claim and no lab reads
FITTED = (
    "h200_sxm/own_operators", "h200_sxm/profiles", "h200_sxm/kinds", "h200_sxm/training", "h200_sxm/more", "h200_sxm/narrow",
    "h200_sxm/recurrent", "h200_sxm/scratch", "h200_sxm/large", "h200_sxm/written", "h200_sxm/writes", "h200_sxm/zoo_training",
    "h200_sxm/changes", "neoverse_n1_2core/machine",
)  # fmt: skip
KEPT = ("report/__init__.py", "report/accuracy.py", "tracing/capture_spectrum.py")  # of those
LEFT_OUT_OF_LIBRARIES = ("fsrs/optimizer.py", "markdown/test_tools.py", "markdown/__main__.py")
NAME = "ironlaw.pack"  # of the archive, in the site's folder


def archive() -> bytes:
    """The archive; the same files give the same bytes."""
    files = sorted(_files(), key=lambda file: (file[1].suffix, file[0]))  # what is alike lies together
    contents = [path.read_bytes() for _, path in files]
    head = json.dumps([[name, len(data)] for (name, _), data in zip(files, contents, strict=True)], separators=(",", ":")).encode()
    return gzip.compress(b"".join((struct.pack("<I", len(head)), head, *contents)), 9, mtime=0)


def _files() -> Iterator[tuple[str, Path]]:
    root = Path(ironlaw.__file__).parent
    out = (*LEFT_OUT, *(f"registry/evidence/{name}.json" for name in FITTED))
    for path in root.rglob("*"):
        name = path.relative_to(root).as_posix()
        left_out = any(name == each or name.startswith(f"{each}/") for each in out) and name not in KEPT
        if path.is_file() and path.suffix != ".pyc" and not left_out:
            yield f"ironlaw/{name}", path
    for library in LIBRARIES:
        yield from _library(library)
    yield from _own_labs()


def _own_labs() -> Iterator[tuple[str, Path]]:
    """An instructor's labs, by source: `own_labs.PACKED` is where they are looked for in the browser."""
    labs = [lab for lab in own_labs.found() if not lab.fault]
    for number, source in enumerate(dict.fromkeys(lab.folder.parent for lab in labs)):
        if (source / own_labs.BELIEFS).is_file():
            yield f"{own_labs.PACKED.name}/{number}/{own_labs.BELIEFS}", source / own_labs.BELIEFS
        for lab in (lab for lab in labs if lab.folder.parent == source):
            for path in lab.folder.rglob("*"):
                if path.is_file() and "__pycache__" not in path.parts:
                    yield f"{own_labs.PACKED.name}/{number}/{lab.slug}/{path.relative_to(lab.folder).as_posix()}", path


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
