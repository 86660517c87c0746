"""One file that was handed in, whatever it is: a ledger, or the reason why it is none."""

from __future__ import annotations

import json
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ironlaw.classroom.learner_beliefs import ANSWERS
from ironlaw.classroom.learner_work import Work, printable, work
from ironlaw.classroom.sheets import sheet
from ironlaw.errors import BadExport, EditedExport
from ironlaw.ledger import Event, export_format
from ironlaw.ledger.event_kinds import KINDS
from ironlaw.ledger.export_text import parse

LARGEST = 20_000_000  # bytes; a whole course is under one million
LONGEST_NAME = 80  # characters, as a learner may enter
SIGNATURES = (
    (b"SQLite format 3\x00", "the ledger's database, not an export; have it exported with `ironlaw ledger export FILE`"),
    (b"%PDF", "a PDF; the file that the lab's last page saves is needed"),
    *(
        (begin, f"a {name} archive; unpack it into the folder")
        for begin, name in (
            (b"PK\x03\x04", "ZIP"), (b"PK\x05\x06", "ZIP"), (b"\x1f\x8b", "gzip"), (b"BZh", "bzip2"), (b"\xfd7zXZ\x00", "xz"),
            (b"7z\xbc\xaf\x27\x1c", "7z"), (b"Rar!", "RAR"), (b"\x28\xb5\x2f\xfd", "Zstandard"),
        )
    ),
)  # fmt: skip
TAR = (257, b"ustar")  # where and how a tar archive says that it is one
UTF16 = (b"\xff\xfe", b"\xfe\xff")  # what `>` writes in Windows PowerShell
DIGEST = 16  # bytes of each hash, and of each event's id, that are remembered
REVIEW = "review"  # it has cards instead of questions
Name = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HandIn:
    """One learner's ledger: what it says, and what is needed to tell it from others. The events themselves are not kept."""

    file: str
    learner: str
    name: str
    work: Work  # of the events that a reader may use, of all epochs
    exported: str
    head: str  # the last hash of its chain; empty where there is no chain, so that nothing could be verified
    ids: bytes  # of its events, one after the other
    others: dict[str, int]  # learner -> how many events are theirs
    predictions: dict[str, bytes]  # learner -> ids of their predictions
    unknown: frozenset[Name] = frozenset()  # labs, questions and steps that no lab here has
    trail: bytes = b""  # every hash of its chain, one after the other, shortened
    stated: str = ""  # the name in the head of the file, which no hash covers

    @property
    def verified(self) -> bool:
        return bool(self.head)

    def holds(self, other: HandIn) -> bool:
        """Whether this ledger is the other one, or continues from where the other one ends."""
        return not other.trail or other.trail[-DIGEST:] in set(parts(self.trail))


def parts(ids: bytes) -> Iterator[bytes]:
    return (ids[at : at + DIGEST] for at in range(0, len(ids), DIGEST))


@dataclass(frozen=True, slots=True)
class Refusal:
    """A file that is not counted, or is worth a look: a kind, and the reason. `{other}` in it stands for another file, `other`."""

    file: str
    kind: str
    reason: str
    name: str = ""  # of the learner, as the file has it
    other: str = ""

    def words(self, call: Callable[[str], str] = str) -> str:
        """The reason, with the other file under the name that `call` gives it."""
        return self.reason.replace("{other}", call(self.other)) if self.other else self.reason


def read(path: Path, file: str, idle_s: float, known: frozenset[Name] | None = None) -> HandIn | Refusal:
    """One file, whatever it is. `idle_s`: a longer gap is not counted as work. `known`: of the names that no lab here has, those that
    count; all of them where it is None."""
    file = printable(file)
    try:
        mode, size = path.lstat().st_mode, path.lstat().st_size
        if stat.S_ISLNK(mode):
            return Refusal(file, "link", "it is a link to another place, which is not followed; put the file itself there")
        if not stat.S_ISREG(mode):
            return Refusal(file, "unreadable", "it is not a regular file")
        if size == 0:
            return Refusal(file, "empty", "it is empty; ask for it again")
        if size > LARGEST:
            return Refusal(file, "too large", f"it has {size / 1e6:,.0f} MB, and no ledger has more than {LARGEST / 1e6:,.0f}")
        with open(path, "rb", opener=_itself) as opened:
            content = opened.read(LARGEST + 1)
    except OSError as error:
        return Refusal(file, "unreadable", f"it can't be read ({error.strerror or error})")
    parsed = _parse(content)
    if isinstance(parsed, tuple):
        return Refusal(file, *parsed)
    return ledger_of(parsed, file, idle_s, known)


def _itself(path: str, flags: int) -> int:
    """Opens the file itself, and neither what a link leads to that was put there meanwhile, nor a pipe that never ends."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def _parse(content: bytes) -> Any:
    """The JSON in it; a kind and a reason where there is none."""
    for signature, what in SIGNATURES:
        if content.startswith(signature):
            return "foreign", f"it is {what}"
    if content.startswith(TAR[1], TAR[0]):
        return "foreign", "it is a tar archive; unpack it into the folder"
    utf16 = content.startswith(UTF16)
    if b"\x00" in content and not utf16:
        return "binary", "it is not text; ask for the file that the lab's last page saves"
    try:
        text = content.decode("utf-16" if utf16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        return "encoding", f"it is not UTF-8 (byte {error.start + 1:,}): an editor saved it in another encoding; ask for the original file"
    if not text.strip():
        return "empty", "there are only blanks in it; ask for it again"
    try:
        return parse(text)
    except json.JSONDecodeError as error:
        if export_format.FORMAT[:-1] not in text[:1000]:
            return "foreign", "it is not a ledger: it is not JSON"
        if error.pos >= len(text.rstrip()) - 1 or error.msg.startswith("Unterminated string"):
            whole = text.count('"hash":')
            return "truncated", f"it ends in the middle, after {whole:,} whole events: the upload or the copy broke off; ask for it again"
        return "damaged", f"it is not JSON any more from line {error.lineno:,} on: it was edited or damaged; ask for the original file"
    except RecursionError:
        return "damaged", "it nests lists and objects deeper than any ledger does; ask for the original file"
    except ValueError as error:  # a key that is written twice, a number of thousands of digits
        return "damaged", f"it can't be read as JSON ({printable(str(error), 120)}); ask for the original file"


def ledger_of(data: Any, file: str, idle_s: float, known: frozenset[Name] | None = None) -> HandIn | Refusal:
    """An export's content, whoever gave it."""
    form = data.get("format") if isinstance(data, dict) else None
    if not isinstance(form, str) or not form.startswith(export_format.FORMAT[:-1]):
        return Refusal(file, "foreign", "it is JSON, but not a ledger; ask for the file that the lab's last page saves")
    if form not in (export_format.FORMAT, export_format.UNCHAINED):
        return Refusal(
            file, "newer", f"its format is {printable(form)!r}, which a newer ironlaw wrote; upgrade ironlaw here, then run it again"
        )
    try:
        events = export_format.unpack(data)
    except EditedExport as error:
        return Refusal(file, "edited", printable(error.reason, 300), _stated(data))
    except (BadExport, RecursionError) as error:
        reason = str(error).partition("; nothing was imported")[0].removesuffix(f"; {export_format.NEXT}")
        return Refusal(file, "invalid", f"{printable(reason, 300)}: ironlaw never writes that, so it was edited or damaged")
    usable = [event for event in events if (rule := KINDS.get(event.kind)) is None or rule.valid(event.payload)]
    names = [str(event.payload["name"]) for event in usable if event.kind == "named"]  # these are in the chain; the head of the file is not
    owner, chained = data["learner"]["id"], form == export_format.FORMAT
    others = Counter(event.learner for event in usable if event.learner != owner)
    predicted: dict[str, list[str]] = {}
    for event in usable:
        if event.kind == "prediction":
            predicted.setdefault(event.learner, []).append(event.id)
    strange = {event.id: here for event in usable if event.lab and (here := tuple(unknown(event)))}
    if known is not None:
        usable = [event for event in usable if known.issuperset(strange.get(event.id, ()))]
    name, exported = printable(names[-1] if names else "", LONGEST_NAME), export_format.parse_time(data["exported"], file)
    trail = bytes.fromhex("".join([item["hash"][: 2 * DIGEST] for item in data["events"]])) if chained else b""
    ids = _bytes([event.id for event in events])
    return HandIn(
        file, owner, name, work(usable, owner, idle_s), exported, data["chain"]["head"] if chained else "", ids, dict(others),
        {learner: _bytes(listed) for learner, listed in predicted.items()},
        frozenset(name for here in strange.values() for name in here), trail, _stated(data),
    )  # fmt: skip


def unknown(event: Event) -> Iterator[Name]:
    """The names of an event that no lab here has."""
    if not event.lab or event.lab == REVIEW:
        return
    here = sheet(event.lab)
    if not here.known:
        yield "lab", event.lab
    if event.kind in ANSWERS and event.question and event.question not in here.items:
        yield "question", event.lab, event.question
    if event.kind == "step" and event.payload["step"] not in here.places:
        yield "step", event.lab, str(event.payload["step"])


def _bytes(ids: list[str]) -> bytes:
    return bytes.fromhex("".join(ids).replace("-", ""))


def _stated(data: Any) -> str:
    """The name that the head of the file gives."""
    return printable(str(data["learner"]["name"] or ""), LONGEST_NAME)
