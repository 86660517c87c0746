"""registry/changes.toml -> the words for each change of a program."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from ironlaw.engine.advice.action import GROUPS, ChangeWords
from ironlaw.errors import BadRegistry
from ironlaw.registry.loader import HERE, read

FIELDS = ("title", "how", "loses", "takes")


@cache
def change_words() -> dict[str, ChangeWords]:
    """The words of each change, by its id."""
    return load(HERE / "changes.toml")


def load(path: Path) -> dict[str, ChangeWords]:
    words = {}
    for change, table in read(path).items():
        if change not in GROUPS or not set(table) <= set(FIELDS) or not all(isinstance(text, str) for text in table.values()):
            raise BadRegistry(f"{path.name} [{change}]: name it as one of {', '.join(GROUPS)}, with texts for {', '.join(FIELDS)}")
        words[change] = ChangeWords(**table)
    return words
