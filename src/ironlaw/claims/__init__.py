"""What is commonly claimed, who says so, what the engine computes, and what every matching row of evidence says about it.

A claim is a table in one of the TOML files beside this one; FORMAT.md is the grammar. Its verdict is computed:

    claim("flash_wall_24x").verdict               "depends"
    claim("flash_wall_24x").judgement.sentence    "Depends on the sequence length and …: holds for …"
"""

from __future__ import annotations

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
    """A claim by its id."""
    if name not in claims():
        raise unknown("claim", name, claims(), "a table in a file of claims/")
    return claims()[name]


@cache
def claims() -> Mapping[str, Claim]:
    """All claims, by id."""
    from ironlaw.claims.parsing import load

    by_id: dict[str, Claim] = {}
    for path in sorted(HERE.glob("*.toml")):
        for new in load(path):
            if new.id in by_id:
                raise BadRegistry(f"{path.name} [{new.id}]: {by_id[new.id].file} has a claim of that id; give it another")
            by_id[new.id] = new
    return by_id


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        for home, names in HOMES.items():
            if name in names:
                globals()[name] = value = getattr(import_module(f"ironlaw.claims.{home}"), name)
                return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
