"""The folder of a study's results: parts as a run adds them, one file when it is done.

    study.json              which question, which version of it
    parts/part-000001.parquet   rows of a batch, written whole or not at all
    results.parquet         every row once; parts are then gone

A row that comes later replaces the one with its key: parts are newer than the file, and a part than those before it. They are removed in
that order too, so that a run which is killed meanwhile leaves nothing older to be read last.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ironlaw.errors import BadValue, MissingExtra
from ironlaw.files import HALF, replace_bytes, replace_text
from ironlaw.studies.folder_lock import NAME as LOCK
from ironlaw.studies.study_question import Question
from ironlaw.studies.study_questions import question
from ironlaw.studies.study_rows import Row, columns

SCHEMA = "ironlaw-study/1"
ABOUT, PARTS, RESULTS = "study.json", "parts", "results.parquet"
TRIES = 5  # to read a folder that a run is writing to


class Store:
    """Reads at any time; only the run that has the lock adds and merges."""

    def __init__(self, folder: Path, asked: Question) -> None:
        self.folder, self.question = folder, asked
        self.last = 0  # the number of the newest part, once it is known

    @property
    def file(self) -> Path:
        return self.folder / RESULTS

    def parts(self) -> list[Path]:
        return sorted((self.folder / PARTS).glob("part-*.parquet"))

    def rows(self) -> dict[str, Row]:
        """The rows by key, each once."""
        for left in reversed(range(TRIES)):
            try:
                return {row["key"]: row for path in self._files() for row in self._checked(path)}
            except FileNotFoundError:  # merged into the file between the listing and the reading
                if not left:
                    raise
        return {}

    def _checked(self, path: Path) -> list[Row]:
        """The rows of a file that has the study's own columns."""
        rows = _load(path)
        wanted = {"key", *columns(self.question)}
        if rows and (missing := sorted(wanted - rows[0].keys())):
            raise BadValue(f"{path} has no column {missing[0]!r}: a study did not write it; remove it, and run the study again")
        return rows

    def add(self, rows: Iterable[Row]) -> Path:
        newest = "" if self.last else next((path.stem for path in reversed(self.parts())), "")
        self.last = (int(newest.removeprefix("part-")) if newest else self.last) + 1
        return self._write(self.folder / PARTS / f"part-{self.last:06}.parquet", rows)

    def merge(self) -> Path:
        """One file of all rows."""
        parts = self.parts()
        if parts or not self.file.exists():
            self._write(self.file, self.rows().values())
        for path in parts:
            path.unlink()
        return self.file

    def _files(self) -> list[Path]:
        parts = self.parts()  # before the file: what is merged meanwhile is then missing here, and not overlooked
        return [*([self.file] if self.file.exists() else []), *parts]

    def _write(self, path: Path, rows: Iterable[Row]) -> Path:
        pa, parquet = _arrow()
        schema = pa.schema([(name, getattr(pa, _TYPES[kind])()) for name, kind in columns(self.question).items()])
        sink = pa.BufferOutputStream()
        parquet.write_table(pa.Table.from_pylist(list(rows), schema=schema), sink)
        return replace_bytes(path, memoryview(sink.getvalue()))


_TYPES = {"string": "string", "int64": "int64", "double": "float64", "bool": "bool_"}


def prepare(folder: Path, asked: Question) -> Store:
    """The store of a folder: a new one, or one with results of the same question."""
    _arrow()
    if (folder / ABOUT).exists():
        found = open_store(folder)
        if found.question.name != asked.name:
            raise BadValue(
                f"{folder} holds results of the question {found.question.name}, not {asked.name}; name another folder with --out"
            )
    elif folder.exists() and (not folder.is_dir() or any(path.name not in (LOCK, PARTS) for path in folder.iterdir())):
        raise BadValue(f"{folder} already exists and does not belong to a study; name another folder with --out")
    (folder / PARTS).mkdir(parents=True, exist_ok=True)
    return Store(folder, asked)


def claim(folder: Path, asked: Question) -> Store:
    """The same by the run that has the lock: it says what the folder holds, and removes what a killed run had begun to write."""
    store = prepare(folder, asked)
    if not (folder / ABOUT).exists():
        about = {"schema": SCHEMA, "question": asked.name, "version": asked.version}
        replace_text(folder / ABOUT, json.dumps(about, indent=2) + "\n")
    for place in (folder, folder / PARTS):
        for path in place.glob(f".*{HALF}"):
            path.unlink(missing_ok=True)
    return store


def open_store(folder: Path) -> Store:
    """What a run has left in a folder."""
    _arrow()
    try:
        about: Any = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        name, version = about["question"], about["version"]
    except (FileNotFoundError, NotADirectoryError):
        raise BadValue(f"{folder} is not a study's folder: it has no {ABOUT}; `ironlaw study FILE --out {folder}` makes one") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BadValue(f"{folder / ABOUT} can't be read; move the folder away and run the study again") from None
    asked = question(name)
    if version != asked.version:
        raise BadValue(
            f"{folder} has answers of version {version} of the question {name}, and this ironlaw answers with version {asked.version};"
            " name a new folder with --out"
        )
    return Store(folder, asked)


def _load(path: Path) -> list[Row]:
    pa, parquet = _arrow()
    try:
        rows: list[Row] = parquet.read_table(path, partitioning=None).to_pylist()
    except (pa.ArrowInvalid, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise BadValue(f"{path} is damaged ({error}); remove it, and run the study again to compute its points") from None
    return rows


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra("a study is stored as Parquet, which needs pyarrow: pip install 'ironlaw[study]'") from None
    return pyarrow, parquet
