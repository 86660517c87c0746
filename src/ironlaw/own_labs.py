"""Labs that live outside this package: an instructor's folder, or a package of theirs.

    IRONLAW_LABS=/srv/labs:~/my_lab                        folders, each a lab or full of labs
    IRONLAW_LABS=/srv/assignment.json                      the questions of an assignment (`ironlaw class assign`), as a lab
    [project.entry-points."ironlaw.labs"] mine = "mylabs"  a package, likewise; nothing of it is imported to find it

A folder is a lab if it has questions.toml; its name is the slug. `found` says what is wrong with a source, so that one that is broken is
named and the others open.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from ironlaw import home
from ironlaw.errors import BadValue
from ironlaw.files import replace_text

VARIABLE, GROUP = "IRONLAW_LABS", "ironlaw.labs"
SHEET = "questions.toml"
SLUG = re.compile(r"[a-z][a-z0-9_]{2,60}")
OURS = Path(__file__).parent / "labs"
PACKED = OURS.parent.parent / "own_labs"  # in a browser: what the site brought along, a folder for each source
BELIEFS = "misconceptions.toml"
WORDS = "words.md"
LARGEST = 1_000_000  # bytes of an assignment
# what makes a lab of an assignment's two files
CODE = {
    "cells.py": "from pathlib import Path\n\nfrom ironlaw.kit import asked\n\n\n"
    "def open(folder, ledger=None):\n    from ironlaw.kit import lab\n\n    return lab.open(folder, ledger)\n\n\n"
    "CELLS = asked.cells(Path(__file__).parent)\n",
    "check.py": 'from ironlaw.kit.asked import problems\n\n__all__ = ["problems"]\n',
    "lab.py": '"""The questions of an assignment. They open with `ironlaw labs`, in a site or in a course system."""\n',
}


class OwnLab(NamedTuple):
    """`fault`: why it can't be opened, before anything of it is read."""

    slug: str
    folder: Path
    fault: str = ""


def found() -> list[OwnLab]:
    """Every lab of every source, in the order of the sources. A slug that is taken already is a fault, not a replacement."""
    taken = {path.name: "ironlaw itself" for path in OURS.iterdir() if (path / SHEET).is_file()}
    labs: list[OwnLab] = []
    for lab, source in _listed():
        fault = lab.fault
        if not fault and not SLUG.fullmatch(lab.slug):
            fault = f"{lab.slug!r} is not a valid name for a lab; use lower-case letters, digits and underscores"
        if not fault and lab.slug in taken:
            fault = f"{source} has a lab {lab.slug}, and so has {taken[lab.slug]}; give one of them another name"
        if not fault:
            taken[lab.slug] = source
        labs.append(lab._replace(fault=fault))
    return labs


def add(source: Path) -> None:
    """One more source, before those that are there; for this process and those that it starts."""
    listed = [text for text in os.environ.get(VARIABLE, "").split(os.pathsep) if text and text != str(source)]
    os.environ[VARIABLE] = os.pathsep.join([str(source), *listed])


def folder_of(slug: str) -> Path | None:
    """Where the own lab of that slug is; None where there is none."""
    return next((lab.folder for lab in found() if lab.slug == slug and not lab.fault), None)


def faults_of(folder: Path) -> list[str]:
    """Why the lab in that folder is left out, before anything of it is read."""
    return [lab.fault for lab in found() if lab.fault and lab.folder == folder]


def importable(folder: Path) -> bool:
    """Whether the lab's modules are `ironlaw.labs.<slug>.…`, as those of ours are. From the first question on they can be imported so."""
    parent = folder.resolve().parent
    if not (folder / "__init__.py").is_file() or folder.resolve() not in {lab.folder.resolve() for lab in found() if not lab.fault}:
        return False
    labs = import_module("ironlaw.labs")
    if str(parent) not in labs.__path__:
        labs.__path__.append(str(parent))
    return True


def _listed() -> Iterator[tuple[OwnLab, str]]:
    if sys.platform == "emscripten":
        for place in sorted(PACKED.glob("*/")):
            yield from _in(place.name, place, "the site")
    for text in filter(None, (part.strip() for part in os.environ.get(VARIABLE, "").split(os.pathsep))):
        yield from _in(text, _folder(text), VARIABLE)
    for name, package in _packages():
        yield from _in(name, _package_folder(package), f"the package {package}")


def _in(name: str, folder: Path | str, source: str) -> Iterator[tuple[OwnLab, str]]:
    slug = re.sub(r"\W+", "_", Path(name).name).strip("_").lower() or "lab"
    if isinstance(folder, str):
        yield OwnLab(slug, Path(name), f"{source}: {folder}"), source
        return
    try:
        places = [folder] if (folder / SHEET).is_file() else sorted(path.parent for path in folder.glob(f"[!_.]*/{SHEET}"))
    except OSError as error:
        yield OwnLab(slug, folder, f"{source}: {folder} can't be read ({error.strerror})"), source
        return
    if not places:
        yield OwnLab(slug, folder, f"{source}: {folder} is not a lab and holds none; a lab is a folder with {SHEET}"), source
    for place in places:
        yield OwnLab(place.name, place), source


def _folder(text: str) -> Path | str:
    try:
        folder = Path(text).expanduser().absolute()
    except RuntimeError:
        return f"{text} names a home directory that is not known; give a path from the root on"
    if folder.is_file() and folder.suffix == ".json":
        return _unpacked(folder)
    return folder if folder.is_dir() else f"there is no folder {folder}; correct the path"


def _unpacked(file: Path) -> Path | str:
    """The folder with the lab of an assignment's questions: made once, and again when the questions change."""
    wrong = f"{file} is not an assignment with questions; name the file that `ironlaw class assign` wrote"
    try:
        with file.open("rb") as opened:
            questions: Any = json.loads(opened.read(LARGEST + 1))["questions"]
        slug, texts = questions["slug"], {name: questions[name] for name in (SHEET, WORDS)}
        if not SLUG.fullmatch(slug) or not all(isinstance(text, str) for text in texts.values()):
            return wrong
        texts |= CODE
        digest = hashlib.sha256(json.dumps([slug, texts]).encode()).hexdigest()[:16]
        place = home.path("assignments", digest, slug)
        for name, text in texts.items():
            if not (place / name).is_file() or (place / name).read_text("utf-8") != text:
                place.mkdir(exist_ok=True)
                replace_text(place / name, text)
    except OSError as error:
        return f"{error.filename or file} can't be read or written ({error.strerror or error}); correct that, or set IRONLAW_HOME"
    except BadValue as error:
        return str(error)
    except (ValueError, KeyError, TypeError, RecursionError):
        return wrong
    return place


@cache
def _packages() -> tuple[tuple[str, str], ...]:
    """Name and package of each entry point; what is installed does not change while we run."""
    if sys.platform == "emscripten":  # in a browser nothing is installed
        return ()
    from importlib.metadata import entry_points  # brings much that a page without such labs need not wait for

    return tuple(sorted((point.name, point.value.partition(":")[0]) for point in entry_points(group=GROUP)))


def _package_folder(package: str) -> Path | str:
    try:
        spec = find_spec(package)
    except Exception as error:  # a package above it is imported, and may do anything
        return f"it can't be imported ({type(error).__name__}: {error}); correct that, or uninstall it"
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0]) if places else "it is not there, or not a folder; install it again, or uninstall it"
