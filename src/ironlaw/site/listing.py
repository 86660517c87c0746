"""Which files of a folder are the site's: the list that a build leaves there. What it does not name belongs to somebody else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from ironlaw.errors import BadValue

MARK = "ironlaw-site.json"  # the list
WORKER = "sw.js"
NO_JEKYLL = ".nojekyll"  # for GitHub; no browser asks for it
NOT_FOUND = "404.html"  # what a host shows in place of a page that is not there; it may answer with that status to its own address too
NAME = re.compile(rf"(\w[\w.@+~ -]*/)*(\w[\w.@+~ -]*|{re.escape(NO_JEKYLL)})", re.ASCII)  # never out of the folder, nor into a hidden one
OFFLINE = re.compile(r"const FILES = (\[.*?\]);")  # in the service worker
NEXT = "delete the old site yourself, or name an empty or a new folder"


def listing(about: Mapping[str, object], names: Iterable[str]) -> bytes:
    return json.dumps({**about, "files": sorted(names)}, indent=0).encode()


def is_site(out: Path) -> bool:
    return (out / MARK).is_file() and not (out / MARK).is_symlink()


def listed(out: Path) -> frozenset[str]:
    """The files of the site in this folder, without the list itself; none where there is no site."""
    if not is_site(out):
        return frozenset()
    try:
        about = json.loads((out / MARK).read_text("utf-8"))
        names = about["files"] if "files" in about else _kept_offline(out)
    except (ValueError, TypeError, RecursionError, FileNotFoundError):
        names = None
    if not isinstance(names, list):
        raise BadValue(f"{out / MARK} does not say which files are the site's; {NEXT}")
    for name in names:
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise BadValue(f"{out / MARK} lists {name!r}, which is not the name of a site's file; {NEXT}")
    return frozenset(names) - {MARK}


def _kept_offline(out: Path) -> list[str]:
    """Sites built before there was such a list have one for offline use; it names a page by its folder."""
    match = OFFLINE.search((out / WORKER).read_text("utf-8"))
    if not match:
        raise ValueError(WORKER)
    names = [str(name).removeprefix("./") for name in json.loads(match[1])]
    return [WORKER, NO_JEKYLL, *(f"{name}index.html" if name.endswith("/") or not name else name for name in names)]
