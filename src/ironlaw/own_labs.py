"""Labs that live outside this package: an instructor's folder, or a package of theirs.

    IRONLAW_LABS=/srv/labs:~/my_lab                        folders, each a lab or full of labs
    [project.entry-points."ironlaw.labs"] mine = "mylabs"  a package, likewise; nothing of it is imported to find it

A folder is a lab if it has questions.toml; its name is the slug. `found` says what is wrong with a source, so that one that is broken is
named and the others open.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

VARIABLE, GROUP = "IRONLAW_LABS", "ironlaw.labs"
SHEET = "questions.toml"
SLUG = re.compile(r"[a-z][a-z0-9_]{2,60}")
OURS = Path(__file__).parent / "labs"


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
    return folder if folder.is_dir() else f"there is no folder {folder}; correct the path"


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
