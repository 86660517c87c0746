"""A machine that somebody measured, as one file: written by `ironlaw measure --export`, added elsewhere by `ironlaw hardware add`.

It holds the machine's figures in the registry's grammar and the rows they come from (evidence/FORMAT.md), with a hash over all of it.
Curves are not in it: whoever adds it fits them again, so that nothing has to be believed but times.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ironlaw import home
from ironlaw.backends import find
from ironlaw.backends.rows import Row
from ironlaw.calibration import local_machine
from ironlaw.calibration.local_fit import fit
from ironlaw.engine.device.lower_bound import least
from ironlaw.engine.device.machine import Hardware
from ironlaw.errors import BadRegistry, BadValue, UnknownName
from ironlaw.files import regular
from ironlaw.registry import evidence, own_files
from ironlaw.registry.loader import normal, slugs
from ironlaw.registry.machine_files import load
from ironlaw.version import __version__

FORMAT = "ironlaw-machine/1"
HOLDS = (
    "One machine as `ironlaw measure` found it: its figures, the times of operators at stated shapes, the versions of the software, and"
    " names of its processor and GPU. No host name, no user, no path, no code and no data of any model."
)
LARGEST = 2**26  # bytes of a file: a hundred thousand rows
LONGEST = 1e4  # seconds that a row may take
FASTER = 2.0  # times what the machine's own figures allow, from which a row contradicts them
CONTRADICTING = 0.05  # share of such rows that a file may have: figures of a busy machine are rough
AGAIN = "ask for it again: ironlaw measure --export FILE"
PART = "This machine: "  # before a machine's name in its own file
KINDS = ("op", "launch", "function")  # of rows: a model's rows name the model


@dataclass(frozen=True)
class Shared:
    """A file that was read and checked."""

    name: str
    figures: str  # TOML
    files: Mapping[str, dict[str, Any]]  # evidence by the name of its file
    rows: tuple[Row, ...]
    machine: Hardware


def exported() -> str:
    """This machine's file. Not measured yet, or so roughly that nobody could add it: an error with the next step."""
    if not local_machine.figures().exists():
        raise UnknownName(local_machine.FIRST)
    files = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in _evidence()}
    if local_machine.MACHINE not in files:
        raise BadValue(
            f"this machine has figures but no rows ({local_machine.evidence_folder() / local_machine.MACHINE} is missing), so there is"
            " nothing for others to check; run `ironlaw measure` first"
        )
    rows = [row for path in _evidence() for row in evidence.read(path).rows]
    against = contradiction(load(local_machine.figures()), rows, files[local_machine.MACHINE])
    if against:
        raise BadValue(
            f"this machine's measurement {against}, so that nobody could add it; run `ironlaw measure` again while nothing else runs here"
        )
    for content in files.values():
        content["rows"] = [row for row in content["rows"] if row.get("kind") in KINDS]
    figures = local_machine.figures().read_text(encoding="utf-8").replace(f'name = "{PART}', 'name = "', 1)
    content = {"format": FORMAT, "holds": HOLDS, "ironlaw": __version__, "figures": figures, "evidence": files}
    return json.dumps(content | {"sha256": digest(content)}, indent=1, allow_nan=False) + "\n"


def _evidence() -> list[Path]:
    """The evidence that a machine is predicted by, without its models'. A damaged file is named."""
    folder = local_machine.evidence_folder()
    there = [path for name in (local_machine.MACHINE, local_machine.OPERATORS) if (path := folder / name).exists()]
    for path in there:
        evidence.read(path)
    return there


def digest(content: Mapping[str, Any]) -> str:
    """The hash of everything in the file but the hash itself."""
    rest = {name: value for name, value in content.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def read(path: Path) -> Shared:
    """A file that somebody sent, checked as the registry's own are: format, hash, every figure and every row."""
    content = _content(path)
    figures, files = content.get("figures"), content.get("evidence")
    if not isinstance(figures, str) or not isinstance(files, dict) or local_machine.MACHINE not in files:
        raise BadValue(f"{path} lacks figures or evidence of the machine; {AGAIN}")
    strange = set(files) - {local_machine.MACHINE, local_machine.OPERATORS}
    if strange:
        raise BadValue(
            f"{path} holds evidence called {', '.join(sorted(map(repr, strange)))}, which this version does not know; update ironlaw"
        )
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / path.stem
        folder.mkdir()
        try:
            machine = load(_written(folder / "machine.toml", figures))
            rows = [row for name, data in files.items() for row in evidence.read(_written(folder / name, json.dumps(data))).rows]
        except BadRegistry as error:
            raise BadValue(f"{path} can't be added: {error}; {AGAIN}") from None
    _in_range(path, machine, rows, files[local_machine.MACHINE])
    return Shared(machine.name, figures, files, tuple(rows), machine)


def _content(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise BadValue(f"there is no file {path}; give the path of a file that `ironlaw measure --export FILE` wrote")
    if path.stat().st_size > LARGEST:
        raise BadValue(f"{path} has {path.stat().st_size:,} bytes, more than any measurement ({LARGEST:,}); {AGAIN}")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BadValue(f"{path} can't be read ({error}); {AGAIN}") from None
    written = content.get("format") if isinstance(content, dict) else None
    if not isinstance(content, dict) or written != FORMAT:
        known = f"its format is {written!r}, and this version reads {FORMAT}" if written else f"it does not say that it is {FORMAT}"
        raise BadValue(f"{path} is not a machine's file: {known}; update ironlaw, or {AGAIN}")
    if content.get("sha256") != digest(content):
        raise BadValue(f"{path} was changed or cut off after it was written, since its hash does not fit; {AGAIN}")
    return content


def _written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def _in_range(path: Path, machine: Hardware, rows: list[Row], about: Mapping[str, Any]) -> None:
    """Times that a machine with these figures can have."""
    for i, row in enumerate(rows, 1):
        for name in ("wall_s", "busy_s", "graph_s", "compile_s"):
            seconds = row.get(name)
            if row.kind not in KINDS or (seconds is not None and not 0 <= seconds <= LONGEST):
                what = (
                    f"{name} is {seconds!r}, not a time between 0 and {LONGEST:,.0f} s"
                    if row.kind in KINDS
                    else f"its kind is {row.kind!r}"
                )
                raise BadValue(f"{path}, row {i} ({row.op or row.name}): {what}; {AGAIN}")
    against = contradiction(machine, rows, about)
    if against:
        raise BadValue(f"{path} {against}. Measure that machine again while nothing else runs there")


def contradiction(machine: Hardware, rows: Sequence[Row], about: Mapping[str, Any]) -> str:
    """What of the rows the machine's own figures rule out; nothing where it may be."""
    library = find(machine.backend)
    if library is None:
        return ""
    cache = library.cache_bytes(about["machine"]) if any(about["machine"].get(name) for name in library.caches) else 0.0
    ops = [(row, op) for row in rows if (op := _op(library, row)) is not None]
    faster = [row for row, op in ops if (row.busy_s or row.wall_s or 0.0) * FASTER < float(least(op, machine, cache))]
    if len(faster) <= CONTRADICTING * len(ops):
        return ""
    return (
        f"contradicts itself: {len(faster)} of {len(ops)} operators, {faster[0].op} {dict(faster[0].params)} for one, took less than"
        " half of what its own peaks and bandwidth allow"
    )


def _op(library: Any, row: Row) -> Any:
    with suppress(KeyError, TypeError, ValueError, IndexError, AttributeError):  # an op of a later version
        return library.measured(row)
    return None


def add(shared: Shared, slug: str) -> tuple[Path, tuple[str, ...]]:
    """Store it among the user's own machines, in place of one of that name; its file, and the names of the curves that were fitted."""
    about = shared.files[local_machine.MACHINE]
    fitted = fit(shared.rows, about["machine"], shared.machine, (f"ironlaw hardware add, {slug}/{local_machine.MACHINE}",))
    folder = home.path("evidence", slug, local_machine.MACHINE).parent
    for name in (local_machine.MACHINE, local_machine.OPERATORS):
        if name in shared.files:
            home.replace_text(folder / name, json.dumps(shared.files[name]) + "\n")
        else:
            (folder / name).unlink(missing_ok=True)
    if fitted is None:
        local_machine.curves(slug).unlink(missing_ok=True)
    else:
        home.replace_text(home.path("calibration", f"{slug}.json"), json.dumps(fitted.to_json(), indent=1) + "\n")
    place = home.replace_text(home.path("hardware", f"{slug}.toml"), shared.figures)  # last: from now on it is a machine
    return place, tuple(sorted(fitted.curves)) if fitted else ()


def slug_for(shared: Shared, wanted: str = "") -> str:
    """The name under which it is known from now on, which must be free or its own."""
    from ironlaw.registry.machine_names import aliases

    slug = re.sub(r"[^a-z0-9]+", "_", normal(wanted or f"{shared.name} measured")).strip("_")
    if not slug:
        raise BadValue(f"{wanted!r} can't be a name; use letters and digits, such as ironlaw hardware add FILE my_gpu")
    if slug in slugs("hardware") or slug in aliases() or slug in local_machine.NAMES:
        raise BadValue(f"{slug} is a machine of the registry already; give another name: ironlaw hardware add FILE my_{slug}")
    place = own_files.folder("hardware") / f"{slug}.toml"
    if place.exists() and not local_machine.evidence_folder(slug).exists():
        raise BadValue(f"{place} is a machine of your own that nobody added; give another name, or move that file away")
    return slug


def place_for(text: str) -> Path:
    """Where an export goes."""
    path = Path(text).expanduser()
    regular(path, "the machine's file")
    if not path.absolute().parent.is_dir():
        raise BadValue(f"there is no folder {path.absolute().parent}; create it, or name another file")
    return path
