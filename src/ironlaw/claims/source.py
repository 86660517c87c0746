"""Which rows speak about a claim, and how; FORMAT.md has the grammar."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, eq=False)
class Source:
    """Which rows speak about a claim, and how. `differs`: why they do not judge it, where their premises are others."""

    where: str
    rows: Mapping[str, Mapping[str, Any]]  # role -> what its rows must have
    figure: str
    clocks: tuple[str, ...] = ()
    across: bool = False  # roles may come from different files of a machine
    keep: str = ""  # an expression over the roles; where it is false the rows are left out
    premises: Mapping[str, Any] = field(default_factory=dict)  # what the file's method says and its rows don't
    names: Mapping[str, str] = field(default_factory=dict)  # a parameter -> what other sources call it; empty: it repeats another
    relation: str = ""  # of a reading to the claimed value, where it is not the claim's: a bound is `at least`
    differs: str = ""
    published: str = ""  # a table of registry/published that the rows are in, instead of evidence
