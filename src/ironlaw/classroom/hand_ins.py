"""The files that were handed in. Each one is a ledger whose chain holds, or is named with the reason why it is not counted."""

from __future__ import annotations

import json
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ironlaw.errors import BadExport, BadValue, EditedExport
from ironlaw.ledger import Event, export_format
from ironlaw.ledger.events import payload_fault
from ironlaw.ledger.export_text import parse

LARGEST = 50_000_000  # bytes; a whole course is under one million
MOST = 10_000  # files; a class has hundreds
LONGEST_NAME = 80  # characters, as a learner may enter
SIGNATURES = (
    (b"SQLite format 3\x00", "the ledger's database, not an export; have it exported with `ironlaw ledger export FILE`"),
    (b"PK\x03\x04", "a ZIP archive; unpack it into the folder"),
    (b"\x1f\x8b", "a gzip archive; unpack it into the folder"),
    (b"%PDF", "a PDF; the file that the lab's last page saves is needed"),
)
UTF16 = (b"\xff\xfe", b"\xfe\xff")  # what `>` writes in Windows PowerShell


@dataclass(frozen=True)
class HandIn:
    """One learner's ledger. `events` are those that a reader may use, of all epochs, in the order of the ledger."""

    file: str
    learner: str
    name: str
    events: tuple[Event, ...]
    exported: str
    head: str  # the last hash of its chain; empty where there is no chain, so that nothing could be verified

    @property
    def verified(self) -> bool:
        return bool(self.head)


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class HandIns:
    """What a folder holds: one ledger per learner, the files that are not counted, and what is worth a look in those that are."""

    ledgers: tuple[HandIn, ...]
    refused: tuple[Refusal, ...] = ()
    notes: tuple[Refusal, ...] = ()
    hidden: int = 0  # files of the system, such as .DS_Store


def collect(folder: Path, skip: Path | None = None) -> HandIns:
    """All files of the folder and the folders in it, but for `skip`, where the report goes. Nothing about one file stops the others."""
    paths, hidden = _files(folder, skip)
    if not paths:
        raise BadValue(f"there are no files in {folder}; put the files there that the learners handed in, and run it again")
    results = [read(path, path.relative_to(folder).as_posix()) for path in paths]
    ledgers, doubled = _one_each([result for result in results if isinstance(result, HandIn)])
    refused = sorted([*(result for result in results if isinstance(result, Refusal)), *doubled], key=lambda refusal: refusal.file)
    if not ledgers:
        listed = "; ".join(f"{refusal.file}: {refusal.words()}" for refusal in refused[:5])
        more = f"; and {len(refused) - 5:,} more" if len(refused) > 5 else ""
        raise BadValue(f"none of the {len(refused):,} files in {folder} is a ledger that can be counted. {listed}{more}")
    return HandIns(tuple(ledgers), tuple(refused), tuple(_notes(ledgers)), hidden)


def _files(folder: Path, skip: Path | None) -> tuple[list[Path], int]:
    """Links to folders are not followed. Hidden files are counted, not read."""
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
    paths, hidden = [], 0
    for at, folders, names in os.walk(folder):
        here = Path(at)
        folders[:] = sorted(f for f in folders if f != "__MACOSX" and not f.startswith(".") and (here / f).resolve() != avoid)
        hidden += sum(name.startswith(".") for name in names)
        paths += [here / name for name in sorted(names) if not name.startswith(".")]
        if len(paths) > MOST:
            raise BadValue(f"{folder} holds more than {MOST:,} files; name the folder with those that were handed in, and nothing else")
    return paths, hidden


def read(path: Path, file: str) -> HandIn | Refusal:
    """One file, whatever it is."""
    file = printable(file)
    try:
        mode, size = path.stat().st_mode, path.stat().st_size
        if not stat.S_ISREG(mode):
            return Refusal(file, "unreadable", "it is not a regular file")
        if size == 0:
            return Refusal(file, "empty", "it is empty; ask for it again")
        if size > LARGEST:
            return Refusal(file, "too large", f"it has {size / 1e6:,.0f} MB, and no ledger has more than {LARGEST / 1e6:,.0f}")
        content = path.read_bytes()
    except OSError as error:
        return Refusal(file, "unreadable", f"it can't be read ({error.strerror or error})")
    parsed = _parse(content)
    if isinstance(parsed, tuple):
        return Refusal(file, *parsed)
    return _ledger(parsed, file)


def _parse(content: bytes) -> Any:
    """The JSON in it; a kind and a reason where there is none."""
    for signature, what in SIGNATURES:
        if content.startswith(signature):
            return "foreign", f"it is {what}"
    utf16 = content.startswith(UTF16)
    if b"\x00" in content and not utf16:
        return "binary", "it is not text; ask for the file that the lab's last page saves"
    try:
        text = content.decode("utf-16" if utf16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        return "encoding", f"it is not UTF-8 (byte {error.start + 1:,}): an editor saved it otherwise; ask for the original file"
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
    except ValueError as error:  # a number of thousands of digits
        return "damaged", f"it can't be read as JSON ({str(error)[:100]}); ask for the original file"


def _ledger(data: Any, file: str) -> HandIn | Refusal:
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
        return Refusal(file, "edited", printable(error.reason, 300), _name(data, ()))
    except (BadExport, RecursionError) as error:
        reason = str(error).partition("; nothing was imported")[0].removesuffix(f"; {export_format.NEXT}")
        return Refusal(file, "invalid", f"{printable(reason, 300)}: ironlaw never writes that, so it was edited or damaged")
    usable = tuple(event for event in events if not payload_fault(event.kind, event.payload))
    name = _name(data, usable)
    head = data["chain"]["head"] if form == export_format.FORMAT else ""
    return HandIn(file, data["learner"]["id"], name, usable, export_format.parse_time(data["exported"], file), head)


def _name(data: Any, events: Iterable[Event]) -> str:
    """As the learner entered it last. The events are in the chain; the head of the file is not."""
    names = [str(event.payload["name"]) for event in events if event.kind == "named"]
    return printable(names[-1] if names else str(data["learner"]["name"] or ""), LONGEST_NAME)


def _one_each(ledgers: Iterable[HandIn]) -> tuple[list[HandIn], list[Refusal]]:
    """Of several files of one learner the longest counts, of equally long ones the newest; one with a chain before one without."""
    by_learner: dict[str, list[HandIn]] = {}
    for ledger in ledgers:
        by_learner.setdefault(ledger.learner, []).append(ledger)
    kept, doubled = [], []
    for several in by_learner.values():
        several.sort(key=lambda one: (one.verified, len(one.events), one.exported), reverse=True)
        best = several[0]
        kept.append(best)
        ids = {event.id for event in best.events}
        for other in several[1:]:
            own = sum(event.id not in ids for event in other.events)
            fewer = len(best.events) - len(other.events)
            same = "the same events" if not own and not fewer else f"{fewer:,} events fewer" if not own else f"{own:,} events of its own"
            reason = f"another file of the same learner, with {same}; {{other}} counts"
            doubled.append(Refusal(other.file, "doubled", reason, other.name, best.file))
    return sorted(kept, key=lambda one: one.file), doubled


def _notes(ledgers: Sequence[HandIn]) -> Iterable[Refusal]:
    """What does not keep a ledger from counting, but is worth a look."""
    owner = {ledger.learner: ledger.file for ledger in ledgers}
    names: dict[str, list[str]] = {}
    for ledger in ledgers:
        names.setdefault(ledger.name.casefold(), []).append(ledger.file)
    for ledger in ledgers:
        if not ledger.verified:
            reason = "it has no chain of hashes (an old version or a rescue wrote it): it counts, unverified"
            yield Refusal(ledger.file, "unverified", reason, ledger.name)
        foreign = Counter(event.learner for event in ledger.events if event.learner != ledger.learner and event.learner in owner)
        for learner, many in sorted(foreign.items()):
            reason = f"{many:,} of its {len(ledger.events):,} events are those of {{other}}: one was imported into the other"
            yield Refusal(ledger.file, "shared", reason, ledger.name, owner[learner])
        for other in names[ledger.name.casefold()] if ledger.name else ():
            if other != ledger.file:
                reason = "{other} has the same name and another ledger; both count: one person on two devices, perhaps"
                yield Refusal(ledger.file, "same name", reason, ledger.name, other)


def printable(text: str, longest: int = 200) -> str:
    """Without characters that would move, hide or break a line."""
    return "".join(c if c.isprintable() else " " for c in text[:longest]).strip()
