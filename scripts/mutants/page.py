"""docs/mutants.md: the scores, and why survivors may live, by class of change (reasons.toml)."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from changes import Mutant

LEAST = 92.0
HEAD = f"""# Mutants

Written by `make mutants`, which changes the engine, the backends and the calibration in small ways, one at a time, and runs the tests
that run the changed line. At least {LEAST:.0f}% must be noticed in every file; a test that hangs has noticed.
Where some of a file's mutants have not been tried yet, its score is of those that have: a sample drawn by their hashes (`--sample`), or all
but those that take longest to try (tables and defaults, which need a fresh import), among which survivors are likelier.
"""
CODE = """
Of the code at commit {commit}. A mutant whose statement has not changed since it was tried is not tried again.
"""
FOLDERS = """
## By folder

| folder | mutants | killed | survived | timeout | score |
|---|--:|--:|--:|--:|--:|"""
SURVIVORS = """
## Why survivors may live

By class of change (`scripts/mutants/reasons.toml`); one that no class explains is a test that is missing.

| survivors | reason |
|--:|---|"""


@dataclass(frozen=True)
class Reason:
    """A class of changes that no test can or need notice."""

    why: str
    changes: tuple[re.Pattern[str], ...]
    file: str = ""

    def explains(self, mutant: Mutant) -> bool:
        return self.file in mutant.file and any(pattern.search(mutant.marked) for pattern in self.changes)


def read_reasons(path: Path) -> list[Reason]:
    rows = tomllib.loads(path.read_text(encoding="utf-8"))["reason"]
    return [Reason(row["why"], tuple(re.compile(text, re.DOTALL) for text in row["changes"]), row.get("file", "")) for row in rows]


def reason_of(mutant: Mutant, reasons: list[Reason]) -> str:
    return next((reason.why for reason in reasons if reason.explains(mutant)), "")


@dataclass(frozen=True)
class Score:
    """What became of the mutants of a file, or of a folder."""

    file: str
    mutants: int
    killed: int
    survived: int
    timeout: int

    @property
    def tried(self) -> int:
        return self.killed + self.survived + self.timeout

    @property
    def percent(self) -> float:
        return 100.0 * (self.killed + self.timeout) / self.tried if self.tried else 0.0

    def row(self) -> str:
        verdict = f"{self.percent:.1f}%" if self.tried else "not tried"
        verdict += f" of {self.tried}" if 0 < self.tried < self.mutants else ""
        return f"| {self.file} | {self.mutants} | {self.killed} | {self.survived} | {self.timeout} | {verdict} |"


def scores(mutants: list[Mutant], fates: dict[str, str]) -> list[Score]:
    rows = []
    for file in sorted({mutant.file for mutant in mutants}):
        outcome = [fates.get(mutant.key, "") for mutant in mutants if mutant.file == file]
        rows.append(Score(file, len(outcome), *(outcome.count(fate) for fate in ("killed", "survived", "timeout"))))
    return rows


def folders(rows: list[Score]) -> list[Score]:
    """The same for each folder, and for all of them."""
    parts = {
        folder: [row for row in rows if str(Path(row.file).parent) == folder] for folder in sorted({str(Path(r.file).parent) for r in rows})
    }
    return [
        Score(folder, *(sum(getattr(row, name) for row in part) for name in ("mutants", "killed", "survived", "timeout")))
        for folder, part in (parts | {"all": rows}).items()
    ]


def page(mutants: list[Mutant], fates: dict[str, str], reasons: list[Reason], commit: str) -> str:
    survivors = [mutant for mutant in mutants if fates.get(mutant.key) == "survived"]
    classes = Counter(reason_of(mutant, reasons) for mutant in survivors)
    unexplained = classes.pop("", 0)
    text = [HEAD + CODE.format(commit=commit), "| file | mutants | killed | survived | timeout | score |", "|---|--:|--:|--:|--:|--:|"]
    rows = scores(mutants, fates)
    text += [row.row() for row in rows]
    text += [FOLDERS, *(row.row() for row in folders(rows)), SURVIVORS]
    text += [f"| {count} | {why} |" for why, count in classes.most_common()]
    if unexplained:
        text += ["", f"## Not explained: {unexplained}", "", "| where | change |", "|---|---|"]
        text += [f"| {mutant.file}:{mutant.line} | {_code(mutant.marked)} |" for mutant in survivors if not reason_of(mutant, reasons)]
    return "\n".join(text) + "\n"


def _code(text: str) -> str:
    return "<br>".join("`" + line.replace("|", "\\|").replace("`", "'") + "`" for line in text.splitlines())
