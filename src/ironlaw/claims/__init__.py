"""What is commonly claimed, who says so, what the engine computes, and what every matching row of evidence says about it.

A claim is a table in one of the TOML files beside this one; FORMAT.md is the grammar. Its verdict is computed:

    claim("flash_wall_24x").verdict               "depends"
    claim("flash_wall_24x").judgement.sentence    "Depends on the sequence length and …. It holds for …"
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ironlaw.errors import BadRegistry, unknown

if TYPE_CHECKING:
    from ironlaw.claims.check import problems
    from ironlaw.claims.expressions import compute
    from ironlaw.claims.judging import PLAIN_UNITS, RELATIONS, VERDICTS, Claim, Judgement, Measured
    from ironlaw.claims.names import NAMESPACE
    from ironlaw.claims.parsing import load
    from ironlaw.claims.reading import Reading, readings
    from ironlaw.claims.shorthand import attention, chain, row
    from ironlaw.claims.source import Source
    from ironlaw.claims.words import describe, shown

HERE = Path(__file__).parent
TABLE = re.compile(r"^\[(\w+)\]\s*(?:#.*)?$", re.MULTILINE)  # the head of a claim
__all__ = [
    "NAMESPACE", "PLAIN_UNITS", "RELATIONS", "VERDICTS", "Claim", "Judgement", "Measured", "Reading", "Source", "attention", "chain",
    "claim", "claims", "compute", "describe", "load", "problems", "readings", "row", "shown",
]  # fmt: skip
HOMES = {
    "check": ("problems",),
    "expressions": ("compute",),
    "judging": ("PLAIN_UNITS", "RELATIONS", "VERDICTS", "Claim", "Judgement", "Measured"),
    "names": ("NAMESPACE",),
    "parsing": ("load",),
    "reading": ("Reading", "readings"),
    "shorthand": ("attention", "chain", "row"),
    "source": ("Source",),
    "words": ("describe", "shown"),
}  # what each module gives this one, on first use: an expression needs no judge, and the glossary neither


def claim(name: str) -> Claim:
    """A claim by its id. Its file alone is read."""
    if name not in _files():
        raise unknown("claim", name, _files(), "a table in a file of claims/")
    return _of_file(_files()[name])[name]


def claims() -> Mapping[str, Claim]:
    """All claims, by id."""
    return {name: _of_file(path)[name] for name, path in _files().items()}


@cache
def _files() -> Mapping[str, Path]:
    """Claim -> the file that has it."""
    files: dict[str, Path] = {}
    for path in sorted(HERE.glob("*.toml")):
        for name in TABLE.findall(path.read_text()):
            if name in files:
                raise BadRegistry(f"{path.name} [{name}]: {files[name].name} has a claim of that id; give it another")
            files[name] = path
    return files


@cache
def _of_file(path: Path) -> Mapping[str, Claim]:
    from ironlaw.claims.parsing import load

    return {each.id: each for each in load(path)}


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        for home, names in HOMES.items():
            if name in names:
                globals()[name] = value = getattr(import_module(f"ironlaw.claims.{home}"), name)
                return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
