"""A user's own machines, boxes, hosts and prices: files in the grammar of the registry's, in ironlaw's home or named by their path.

    ~/.local/share/ironlaw/hardware/mychip.toml     `--on mychip` in every command, a context in the labs
    ./mychip.toml                                   `--on ./mychip.toml`, and by its slug for the rest of the process

A file may be added or changed at any time, so nothing here is kept. One that can't be used is named where it is asked for, and keeps
nothing else from working.
"""

from __future__ import annotations

from pathlib import Path

from ironlaw import home
from ironlaw.calibration import local_machine
from ironlaw.errors import BadRegistry, BadValue, IronlawError
from ironlaw.registry.loader import normal, read, slugs

ENDING = ".toml"
_named: dict[tuple[str, str], Path] = {}  # (kind, slug) -> a file that was named by its path


def folder(kind: str) -> Path:
    """Where a user's own files of a kind lie, whether or not there are any."""
    return home.folder() / kind


def own(kind: str) -> dict[str, Path]:
    """The user's own files by slug; of two with one slug the one that was named by its path."""
    files = {normal(path.stem): path for path in local_machine.own_files(kind)}
    return files | {slug: path for (of, slug), path in _named.items() if of == kind}


def is_path(name: str) -> bool:
    """Whether somebody means a file, not a name: `./mychip.toml`."""
    return name.strip().endswith(ENDING)


def named_by_path(kind: str, name: str) -> str:
    """The slug of a file that is named by its path; known by it from now on."""
    path = Path(name.strip()).expanduser()
    slug = normal(path.stem)
    if not path.is_file():
        raise BadValue(f"there is no file {path}; check the path, or name a machine (`ironlaw hardware` lists them)")
    if slug in local_machine.NAMES:
        raise BadValue(f"{path}: {slug!r} means the machine that was measured here; give the file another name")
    _named[kind, slug] = path.resolve()
    return slug


def checked(kind: str, slug: str) -> Path:
    """The user's own file of that slug. Its name must be free: the registry's figures stay what their sources say."""
    path = own(kind)[slug]
    if slug in slugs(kind):
        raise BadRegistry(f"{path} has the name of the registry's own {kind}/{slug}{ENDING}; give the file another name")
    return path


def find(kind: str, name: str) -> str | None:
    """The slug of the user's own file that somebody calls so, by its slug or an alias in it."""
    wanted, files = normal(name), own(kind)
    if wanted in files:
        return wanted
    for slug, path in files.items():
        try:
            aliases = read(path).get("aliases", [])
        except (OSError, BadRegistry):
            continue
        if isinstance(aliases, list) and wanted in map(normal, aliases):
            return slug
    return None


def how(kind: str, slug: str) -> str:
    """For an error about an unknown name: where a file of one's own goes."""
    try:
        place = str(folder(kind) / f"{slug}{ENDING}").replace(str(Path.home()), "~", 1)
    except (IronlawError, RuntimeError):  # no home is known
        place = f"$IRONLAW_HOME/{kind}/{slug}{ENDING}"
    return f"{place} with its figures and their sources (docs/own-machines.md), or the path of such a file, ./{slug}{ENDING}"
