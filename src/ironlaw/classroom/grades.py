"""What `ironlaw class check` writes: a line for each learner, and the grades as the course system imports them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ironlaw.classroom.assignment import Assignment
from ironlaw.classroom.class_tables import MARK, Cell, safe
from ironlaw.classroom.done import Standing
from ironlaw.classroom.hand_in_file import DIGEST, LARGEST, HandIn
from ironlaw.classroom.hand_ins import HandIns
from ironlaw.classroom.roster import POINTS, Roster
from ironlaw.errors import IronlawError
from ironlaw.ledger.export_text import parse
from ironlaw.recall.certificate_check import differences
from ironlaw.recall.certificate_facts import SCHEMA

DONE = "done.csv"


def file_of(roster: Roster) -> str:
    return f"grades-{roster.system.name.lower()}.csv"


def text(rows: Iterable[Sequence[Cell]], mark: str = MARK) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerows([safe(cell) for cell in row] for row in rows)
    return mark + out.getvalue()


def grades(roster: Roster, found: Mapping[int, Standing], title: str, points: float) -> str:
    """The students in the roster's order, with the columns that identify them. Who has handed in nothing has no grade, not zero."""
    column = next((name for name in roster.others if name == title or name.startswith((f"{title} (", f"{title} ["))), title)
    rows: list[list[Cell]] = [[*roster.columns, column]]
    if roster.system.name == "Canvas":
        rows.append([f"    {POINTS}", *[""] * (len(roster.columns) - 1), points])
    for place, student in enumerate(roster.students):
        one = found.get(place)
        rows.append([*(student.get(name, "") for name in roster.columns), points * one.share if one else ""])
    return text(rows, mark="")  # a mark would become part of the first column's name


def done(standings: Sequence[Standing], assignment: Assignment, nobody: Mapping[str, str], certified: Mapping[str, str]) -> str:
    """A line for each ledger: when each act was done, and what became of its certificate."""
    keys = [(one.slug, act) for one in assignment.asked for act in one.acts]
    head = [
        "file",
        "learner",
        "acts_done",
        "acts_asked",
        *(f"{slug}_act{act}" for slug, act in keys),
        "late",
        "verified",
        "certificate",
        "not_graded",
    ]
    rows: list[list[Cell]] = [list(head)]
    for one in standings:
        late = " ".join(f"{slug}_act{act}" for slug, act in sorted(one.late))
        file = one.hand_in.file
        times = [one.times.get(key, "") for key in keys]
        rows.append(
            [file, one.hand_in.name, one.done, one.asked, *times, late, one.hand_in.verified, certified.get(file, ""), nobody.get(file, "")]
        )
    return text(rows)


def certificates(folder: Path, hand_ins: HandIns) -> Iterator[tuple[str, str, list[str]]]:
    """Each certificate that was handed in: its file, the ledger's file that vouches for it, if any, and what does not follow from it."""
    by_hash: dict[bytes, HandIn] = {}
    for ledger in hand_ins.ledgers:
        for at in range(0, len(ledger.trail), DIGEST):
            by_hash[ledger.trail[at : at + DIGEST]] = ledger
    for refusal in hand_ins.refused:
        if refusal.kind == "foreign" and (data := _json(folder / refusal.file)) is not None and data.get("schema") == SCHEMA:
            owner = by_hash.get(_head(data))
            export = _json(folder / owner.file) if owner else None
            if owner is None or export is None:
                yield refusal.file, "", ["no ledger that was handed in has the last event that it names"]
                continue
            try:
                yield refusal.file, owner.file, differences(data, export)
            except IronlawError as error:
                yield refusal.file, owner.file, [str(error)]


def _head(data: Mapping[str, object]) -> bytes:
    chain = data.get("chain")
    try:
        return bytes.fromhex(str(chain["head"]))[:DIGEST] if isinstance(chain, dict) else b""
    except (ValueError, KeyError):
        return b""


def _json(path: Path) -> dict[str, object] | None:
    try:
        with path.open("rb") as file:
            data = parse(file.read(LARGEST + 1).decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError, json.JSONDecodeError):
        return None
    return data if isinstance(data, dict) else None
