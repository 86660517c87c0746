"""The files that were handed in. Each one is a ledger whose chain holds, or is named with the reason why it is not counted."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from ironlaw.classroom.hand_in_file import HandIn, Name, Refusal, read
from ironlaw.classroom.learner_work import printable
from ironlaw.classroom.reading import read_all
from ironlaw.classroom.several_files import notes, one_each
from ironlaw.classroom.unknown_names import limited
from ironlaw.errors import BadValue

__all__ = ["HandIn", "HandIns", "Refusal", "collect"]
MOST = 10_000  # files; a class has hundreds
IDLE_MINUTES = 10.0
SYSTEM = "__MACOSX"  # the folder that macOS packs into its archives


@dataclass(frozen=True)
class HandIns:
    """What a folder holds: one ledger per learner, the files that are not counted, and what is worth a look in those that are."""

    ledgers: tuple[HandIn, ...]
    refused: tuple[Refusal, ...] = ()
    notes: tuple[Refusal, ...] = ()
    hidden: tuple[str, ...] = ()  # files and folders of the system, such as .DS_Store
    idle_s: float = 60 * IDLE_MINUTES


def collect(folder: Path, skip: Path | None = None, idle_minutes: float = IDLE_MINUTES) -> HandIns:
    """All files of the folder and the folders in it, but for `skip`, where the report goes. Nothing about one file stops the others.

    `idle_minutes`: a longer gap between two events is not counted as work.
    """
    paths, links, hidden = listing(folder, skip)
    if not paths and not links:
        raise BadValue(f"there are no files in {folder}; put the files there that the learners handed in, and run it again")
    named, idle_s = dict(_named(folder, [*paths, *links])), 60.0 * idle_minutes
    results = read_all([(path, name) for name, path in named.items()], idle_s)
    here = {printable(name): path for name, path in named.items()}
    left = tuple(name for name, _ in _named(folder, hidden))
    hand_ins = together(results, lambda one, known: read(here[one.file], one.file, idle_s, known), left, idle_s)
    if not hand_ins.ledgers:
        refused = hand_ins.refused
        listed = "; ".join(f"{refusal.file}: {refusal.words()}" for refusal in refused[:5])
        more = f"; and {len(refused) - 5:,} more" if len(refused) > 5 else ""
        raise BadValue(f"none of the {len(refused):,} files in {folder} is a ledger that can be counted. {listed}{more}")
    return hand_ins


def together(
    results: Iterable[HandIn | Refusal],
    again: Callable[[HandIn, frozenset[Name]], HandIn | Refusal],
    hidden: tuple[str, ...] = (),
    idle_s: float = 60 * IDLE_MINUTES,
) -> HandIns:
    """One ledger for each learner. `again` reads one once more, with fewer names (unknown_names.limited)."""
    results = list(results)
    ledgers, doubled = one_each(result for result in results if isinstance(result, HandIn))
    ledgers, unknown, lost = limited(ledgers, again)
    refused = sorted([*(result for result in results if isinstance(result, Refusal)), *doubled, *lost], key=lambda refusal: refusal.file)
    return HandIns(tuple(ledgers), tuple(refused), (*notes(ledgers), *unknown), hidden, idle_s)


def _named(folder: Path, paths: Iterable[Path]) -> list[tuple[str, Path]]:
    return [(path.relative_to(folder).as_posix(), path) for path in paths]


def listing(folder: Path, skip: Path | None) -> tuple[list[Path], list[Path], list[Path]]:
    """Files, links to folders, which are not followed, and what is hidden, which is not read."""
    try:
        is_folder = stat.S_ISDIR(folder.stat().st_mode)
        if is_folder:
            os.scandir(folder).close()
    except FileNotFoundError:
        raise BadValue(f"there is no folder {folder}; name the one that holds the files that were handed in") from None
    except (OSError, ValueError) as error:
        raise BadValue(f"{folder} can't be read ({getattr(error, 'strerror', None) or error}); name a folder that you may read") from None
    if not is_folder:
        raise BadValue(f"{folder} is a file; name the folder that holds the files that were handed in")
    avoid = skip.resolve() if skip else None
    paths: list[Path] = []
    links: list[Path] = []
    hidden: list[Path] = []
    for at, folders, names in os.walk(folder):
        here = Path(at)
        inner = [here / name for name in sorted(folders) if (here / name).resolve() != avoid]
        hidden += [path for path in inner if path.name == SYSTEM or path.name.startswith(".")]
        links += [path for path in inner if path.is_symlink() and path not in hidden]
        folders[:] = [path.name for path in inner if path not in hidden and path not in links]
        hidden += [here / name for name in sorted(names) if name.startswith(".")]
        paths += [here / name for name in sorted(names) if not name.startswith(".")]
        if len(paths) + len(links) > MOST:
            raise BadValue(f"{folder} holds more than {MOST:,} files; name the folder with those that were handed in, and nothing else")
    return paths, links, hidden
