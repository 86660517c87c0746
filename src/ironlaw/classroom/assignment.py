"""An assignment: which labs, which acts of them, until when. An instructor writes it as TOML; the file for others is JSON.

title = "Week 3"
until = 2026-12-01T23:59:00+01:00    # with its offset from UTC; leave it out where there is no date

[[lab]]
name = "lab_07"                      # as `ironlaw labs` calls it

[[lab]]
name = "lab_11"
acts = [1]                           # Act I alone; both acts where it is not said

[[question]]                         # of the instructor's own: ironlaw.classroom.assigned_questions has the grammar
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from ironlaw import own_labs
from ironlaw.classroom.assigned_questions import Questions, from_data, total, written
from ironlaw.classroom.sheets import installed
from ironlaw.errors import BadValue
from ironlaw.files import read_toml
from ironlaw.ledger.events import utc

FORMAT = "ironlaw-assignment/1"
LONGEST_TITLE = 100
LARGEST = 1_000_000  # bytes
START = 'write one: title = "Week 3", then [[lab]] and name = "lab_07"'


@dataclass(frozen=True)
class Asked:
    """`own`: the assignment's own questions, of which each is an act, and none has a design."""

    slug: str
    acts: tuple[int, ...] = (1, 2)
    own: bool = False


@dataclass(frozen=True)
class Assignment:
    """`until`: UTC, as the ledger writes times; empty where there is no date."""

    title: str
    labs: tuple[Asked, ...]
    until: str = ""
    questions: Questions | None = None

    @property
    def asked(self) -> tuple[Asked, ...]:
        """The labs, then the questions."""
        return (*self.labs, *([Asked(self.questions.slug, tuple(total(self.questions)), True)] if self.questions else []))

    @property
    def acts(self) -> int:
        return sum(len(one.acts) for one in self.asked)

    def text(self) -> str:
        labs = [{"lab": one.slug, "acts": list(one.acts)} for one in self.labs]
        data: dict[str, Any] = {"format": FORMAT, "title": self.title, "until": self.until, "labs": labs}
        if self.questions:
            data["questions"] = self.questions.data()
        return json.dumps(data, ensure_ascii=False, indent=1) + "\n"


def from_toml(path: Path) -> Assignment:
    data = read_toml(path, "an assignment", START)
    if more := sorted(data.keys() - {"title", "until", "lab", "question"}):
        raise BadValue(f"{path.name}: unknown key {', '.join(more)}; an assignment takes title, until, [[lab]] and [[question]]")
    until = data.get("until", "")
    if until != "" and not (isinstance(until, datetime) and until.tzinfo):
        raise BadValue(f"{path.name}: until = {until} has to be a date and a time with its offset, such as 2026-12-01T23:59:00+01:00")
    listed = data.get("lab", [] if "question" in data else None)
    if not isinstance(listed, list) or not (listed or "question" in data) or not all(isinstance(one, dict) for one in listed):
        raise BadValue(f'{path.name}: no lab is asked for; write [[lab]] and name = "lab_07" under it')
    labs = tuple(_asked(one.get("name"), one.get("acts", [1, 2]), path.name, one.keys() - {"name", "acts"}) for one in listed)
    title = _title(data.get("title"), path.name)
    questions = written(data["question"], title, path.name) if "question" in data else None
    return _checked(Assignment(title, labs, utc(until) if until else "", questions), path.name)


def read(path: Path) -> Assignment:
    """The file that `ironlaw class assign` wrote, or the TOML itself."""
    if path.suffix == ".toml":
        return from_toml(path)
    try:
        with path.open("rb") as file:
            data = json.loads(file.read(LARGEST + 1))
        if data["format"] != FORMAT:
            raise ValueError(data["format"])
        labs = tuple(_asked(one["lab"], one["acts"], path.name, set()) for one in data["labs"])
        until = utc(datetime.fromisoformat(data["until"])) if data["until"] else ""
        questions = from_data(data["questions"]) if "questions" in data else None
        return _checked(Assignment(_title(data["title"], path.name), labs, until, questions), path.name)
    except OSError as error:
        raise BadValue(f"cannot read {path} ({error.strerror or error}); name the file that `ironlaw class assign` wrote") from None
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        raise BadValue(f"{path} is not an assignment ({FORMAT}); write one with `ironlaw class assign labs.toml`") from None


def adopt(path: Path) -> Assignment:
    """`read`, and its questions are a lab of this process from now on (ironlaw.own_labs)."""
    assignment = read(path)
    if assignment.questions:
        if path.suffix == ".toml":
            raise BadValue(f"{path} has questions of its own; write assignment.json with `ironlaw class assign {path}`, and name that")
        own_labs.add(path.absolute())
        installed.cache_clear()
        fault = next((lab.fault for lab in own_labs.found() if lab.slug == assignment.questions.slug and lab.fault), "")
        if fault:
            raise BadValue(fault)
    return assignment


def slugs() -> list[str]:
    return sorted(slug for slug in installed() if slug != "review" and not slug.startswith("asked_"))


def _title(title: Any, where: str) -> str:
    if not isinstance(title, str) or not title.strip() or len(title) > LONGEST_TITLE or not title.isprintable():
        raise BadValue(f'{where}: the title has to be one line of at most {LONGEST_TITLE} characters; write title = "Week 3"')
    return " ".join(title.split())


def _asked(name: Any, acts: Any, where: str, more: set[str]) -> Asked:
    if more:
        raise BadValue(f"{where}: unknown key {', '.join(sorted(more))}; a [[lab]] takes name and acts")
    found = [slug for slug in slugs() if slug == name or (isinstance(name, str) and slug.startswith(f"{name}_"))]
    if len(found) != 1 or name in ("lab", "lab_v2"):
        raise BadValue(f"{where}: there is no lab {name!r}; choose from {', '.join(slugs())}")
    if acts not in ([1], [2], [1, 2]):
        raise BadValue(f"{where}: {found[0]} has acts = {acts!r}; a lab has two: write [1], [2] or [1, 2]")
    return Asked(found[0], tuple(acts))


def _checked(assignment: Assignment, where: str) -> Assignment:
    names = [one.slug for one in assignment.labs]
    if twice := {name for name in names if names.count(name) > 1}:
        raise BadValue(f"{where}: {min(twice)} is asked for twice; keep one of them")
    return assignment
