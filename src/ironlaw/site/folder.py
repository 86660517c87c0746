"""A site in its folder: written beside, then moved in file by file. Only what the folder's list names is replaced or removed.

At every moment each file is whole, of the earlier build or of this one, and the list names those of both. So whatever a build that was
killed has left, the next one puts right.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from ironlaw.errors import BadValue
from ironlaw.site.listing import MARK, NAME, WORKER, is_site, listed, listing
from ironlaw.studies.folder_lock import is_held, locked

BESIDE = ".ironlaw-site-"
LEFT = re.compile(rf"{re.escape(BESIDE)}[a-z0-9_]{{8}}")  # by a build that is running or was killed
SHOWN = 3  # names in a message


def check(out: Path) -> None:
    """BadValue unless `out` is new, empty or a site."""
    with _explained(out):
        if out.exists() and (not out.is_dir() or not (is_site(out) or all(LEFT.fullmatch(path.name) for path in out.iterdir()))):
            raise BadValue(f"{out} already exists and is not a site that ironlaw built; name an empty folder or a new one")
        listed(out)


def update(out: Path, content: Mapping[str, bytes]) -> None:
    """Make `out` the site of this content, which has its list. Where that would replace anything that is not the site's own: BadValue,
    and nothing has changed."""
    if odd := [name for name in content if not NAME.fullmatch(name)]:
        raise ValueError(f"the next build would not recognise {odd[0]!r} as a site's file")
    with _explained(out):
        is_new = not out.exists()
        out.mkdir(parents=True, exist_ok=True)
        try:
            with _beside(out) as place:
                earlier = listed(out)
                _refuse_others(out, content, earlier)
                _move_in(out, content, earlier, place)
        finally:
            if is_new:
                with suppress(OSError):  # it is not empty: something came of it
                    out.rmdir()


def _move_in(out: Path, content: Mapping[str, bytes], earlier: frozenset[str], place: Path) -> None:
    names = sorted(content.keys() - {MARK}, key=_turn)
    both = listing(json.loads(content[MARK]), earlier.union(names))
    for number, data in enumerate([*(content[name] for name in names), both, content[MARK]]):
        (place / str(number)).write_bytes(data)
    os.replace(place / str(len(names)), out / MARK)
    for number, name in enumerate(names):
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(place / str(number), out / name)
    for name in sorted(earlier.difference(names)):
        _remove(out, name)
    os.replace(place / str(len(names) + 1), out / MARK)


def _turn(name: str) -> tuple[bool, bool, int, str]:
    """What a page asks for comes before it, a page before those that link to it, and the list for offline use once all of it is there."""
    is_page = name.endswith(".html")
    return name == WORKER, is_page, -name.count("/") if is_page else 0, name


def _remove(out: Path, name: str) -> None:
    """A file of the site, and the folders that it leaves empty."""
    if (out / name).is_file():
        (out / name).unlink()
    for folder in _folders(name):
        try:
            (out / folder).rmdir()
        except FileNotFoundError:
            continue  # an earlier build came as far as this
        except OSError:
            return


def _folders(name: str) -> list[PurePosixPath]:
    """The folders that a file of the site is in, the innermost first."""
    return list(PurePosixPath(name).parents)[:-1]


def _refuse_others(out: Path, content: Mapping[str, bytes], earlier: frozenset[str]) -> None:
    folders = {folder for name in earlier.union(content) for folder in _folders(name)}
    others = [str(folder) for folder in folders if (out / folder).is_symlink() or ((out / folder).exists() and not (out / folder).is_dir())]
    if not others:  # else a link would lead out of the folder
        ours = earlier | {MARK}
        others = [name for name, data in content.items() if not _may_write(out / name, data, name in ours)]
    if others:
        more = f" and {len(others) - SHOWN:,} more" if len(others) > SHOWN else ""
        raise BadValue(
            f"the site would replace what is not its own in {out}: {', '.join(sorted(others)[:SHOWN])}{more}; "
            "move that away, or name another folder. Nothing was changed"
        )


def _may_write(path: Path, data: bytes, is_ours: bool) -> bool:
    if not os.path.lexists(path):
        return True
    return not path.is_symlink() and path.is_file() and (is_ours or path.read_bytes() == data)


@contextmanager
def _beside(out: Path) -> Iterator[Path]:
    """A folder for what is being written, inside `out` and so in its file system. One build at a time; what killed ones left is swept."""
    place = Path(tempfile.mkdtemp(dir=out, prefix=BESIDE))
    try:
        with locked(place):
            for left in [path for path in out.iterdir() if path != place and LEFT.fullmatch(path.name) and not path.is_symlink()]:
                if is_held(left):
                    raise BadValue(f"another build is writing to {out}; wait until it ends, or name another folder")
                shutil.rmtree(left, ignore_errors=True)
            yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


@contextmanager
def _explained(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise BadValue(f"cannot write the site to {out} ({reason}); correct that and build again, or name another folder") from None
