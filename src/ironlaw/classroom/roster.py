"""A course system's list of students, as it exports its gradebook, and which hand-in is whose.

The columns say which system it is. A hand-in belongs to a student where the name that the system gave its file, or else the name in its
ledger, fits one student and no other. Nothing is guessed.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ironlaw.classroom.hand_in_file import HandIn
from ironlaw.errors import BadValue

LARGEST = 20_000_000  # bytes
SHORTEST = 3  # characters of an id that may be looked for in a file's name
POINTS = "Points Possible"  # the second line of Canvas' export


@dataclass(frozen=True)
class System:
    """`columns`: those that identify a student, which an import needs back; `ids`: of those, what is one student's alone."""

    name: str
    columns: tuple[str, ...]
    ids: tuple[str, ...]
    first: str = ""
    last: str = ""
    whole: str = ""  # "Lovelace, Ada"


SYSTEMS = (
    System("Canvas", ("Student", "ID", "SIS User ID", "SIS Login ID", "Section"), ("ID", "SIS User ID", "SIS Login ID"), whole="Student"),
    System("Blackboard", ("Last Name", "First Name", "Username", "Student ID"), ("Username", "Student ID"), "First Name", "Last Name"),
    System("Moodle", ("First name", "Last name", "Username", "ID number", "Email address"), ("Username", "ID number", "Email address"),
           "First name", "Last name"),
    System("Moodle", ("First name", "Surname", "Username", "ID number", "Email address"), ("Username", "ID number", "Email address"),
           "First name", "Surname"),
)  # fmt: skip
NEEDED = {"Canvas": ("Student", "ID"), "Blackboard": ("Username",), "Moodle": ("First name", "Email address")}


@dataclass(frozen=True)
class Roster:
    system: System
    columns: tuple[str, ...]  # of the system's, those that this export has
    students: tuple[dict[str, str], ...]
    others: tuple[str, ...]  # the export's other columns: assignments


def read(path: Path) -> Roster:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
        text = content.decode("utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except OSError as error:
        raise BadValue(f"cannot read {path} ({error.strerror or error}); name the gradebook that your course system exported") from None
    except UnicodeDecodeError:
        raise BadValue(f"{path} is not UTF-8 text; export the gradebook as CSV again") from None
    if len(content) > LARGEST:
        raise BadValue(f"{path} has more than {LARGEST / 1e6:.0f} MB; name the gradebook that your course system exported")
    line = text.partition("\n")[0]
    try:
        rows = list(csv.reader(io.StringIO(text), delimiter="\t" if line.count("\t") > line.count(",") else ","))
    except csv.Error as error:
        raise BadValue(f"{path} can't be read as CSV ({error}); export the gradebook again") from None
    head = [cell.strip() for cell in rows[0]] if rows else []
    system = next((one for one in SYSTEMS if all(n in head for n in NEEDED[one.name]) and (not one.last or one.last in head)), None)
    if system is None:
        known = "; ".join(f"{name}: {', '.join(columns)}" for name, columns in NEEDED.items())
        raise BadValue(
            f"{path} does not have the columns of a gradebook that ironlaw knows ({known}); export it with its columns as they are"
        )
    students = [dict(zip(head, (cell.strip() for cell in row), strict=False)) for row in rows[1:] if any(cell.strip() for cell in row)]
    students = [
        one for one in students if POINTS.casefold() not in one.get("Student", "").casefold() and any(one.get(i) for i in system.ids)
    ]
    if not students:
        raise BadValue(f"{path} lists no students; export the gradebook again")
    columns = tuple(name for name in system.columns if name in head)
    return Roster(system, columns, tuple(students), tuple(name for name in head if name and name not in system.columns))


def match(roster: Roster, hand_ins: Sequence[HandIn]) -> tuple[dict[int, HandIn], list[tuple[HandIn, str]]]:
    """Student's place in the roster -> the hand-in; and those that are nobody's, each with the reason."""
    by_id: dict[str, set[int]] = {}
    by_names: dict[str, set[int]] = {}
    for place, student in enumerate(roster.students):
        for name in roster.system.ids:
            if student.get(name):
                by_id.setdefault(_plain(student[name]), set()).add(place)
        for name in _names(roster.system, student):
            by_names.setdefault(name, set()).add(place)
    found: dict[int, list[HandIn]] = {}
    left: list[tuple[HandIn, str]] = []
    for hand_in in hand_ins:
        by_file, by_name = _by_file(hand_in.file, by_id, by_names), _by_name(hand_in.name, by_id, by_names)
        fitting = by_file if len(by_file) == 1 else by_name
        if len(by_file) == 1 and len(by_name) == 1 and by_file != by_name:
            left.append((hand_in, "its file is one student's, and the name in it another's"))
        elif len(fitting) != 1:
            left.append(
                (hand_in, "several students fit" if len(fitting) > 1 or len(by_file) > 1 else "no student fits its file or its name")
            )
        else:
            found.setdefault(fitting.pop(), []).append(hand_in)
    for place in [place for place, several in found.items() if len(several) > 1]:
        left += [(one, "several ledgers fit the same student") for one in found.pop(place)]
    return {place: one for place, [one] in found.items()}, left


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _names(system: System, one: dict[str, str]) -> set[str]:
    first, last = one.get(system.first, ""), one.get(system.last, "")
    if system.whole:
        last, _, first = (part.strip() for part in one.get(system.whole, "").partition(","))
    return {_plain(f"{first} {last}"), _plain(f"{last}, {first}"), _plain(f"{last}{first}".replace(" ", ""))} if first and last else set()


def _by_name(name: str, ids: Mapping[str, set[int]], names: Mapping[str, set[int]]) -> set[int]:
    plain = _plain(name)
    return set(ids.get(plain, set()) | names.get(plain, set())) if plain else set()


def _by_file(file: str, ids: Mapping[str, set[int]], names: Mapping[str, set[int]]) -> set[int]:
    """Course systems put the student's name or id between underlines: `Ada Lovelace_123_…`, `lovelaceada_55_…`, `Week3_ada_attempt_…`."""
    parts = {_plain(part) for part in (*re.split(r"[_/]", file), *re.split(r"[_/]|\.json$", file))} - {""}
    fitting = [names.get(part, set()) | (ids.get(part, set()) if len(part) >= SHORTEST else set()) for part in parts]
    return set().union(*fitting)
