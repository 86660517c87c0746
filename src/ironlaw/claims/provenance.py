"""What kind of thing stands beside a claim: a measurement, a count, or somebody's own page, model or estimate."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ironlaw.claims.expressions import names
from ironlaw.claims.source import Source
from ironlaw.registry.publications import published

MEASURED, OURS, COUNTED = MEASUREMENTS = ("measured", "ours", "counted")
# kind -> what a column is called
COLUMNS = {
    MEASURED: "Measured", OURS: "Our experiment", COUNTED: "Counted", "stated": "As its maker states it",
    "computed": "Another model’s figure", "estimated": "Published estimate", "fitted": "Fitted to measurements",
}  # fmt: skip
TRAINED = "small networks that we trained and tested on handwritten digits"
# functions that only look a figure up: their arguments -> its kind and source
READERS: Mapping[str, Callable[[str], tuple[str, str]]] = {
    "published": lambda slug: (published(slug).figures, published(slug).citation),
    "groups": lambda slug: (COUNTED, published({"credit": "credit_scores"}.get(slug, slug)).citation),
    "row": lambda slug: (MEASURED, slug),
    "at_bits": lambda net: (OURS, TRAINED), "attacked": lambda net: (OURS, TRAINED), "trained": lambda net: (OURS, TRAINED),
    "private_run": lambda net: (OURS, TRAINED),
}  # fmt: skip
ARITHMETIC = {"min", "max", "abs", "round", "sum", "len", "inf", "decay"}


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a figure read from a table: its `kind` of COLUMNS, and its place."""

    kind: str
    source: str


def read_from(expression: str) -> Origin | None:
    """Where an expression reads its figure; None where the engine computes it."""
    used = names(expression)
    if not used & READERS.keys() or used - READERS.keys() - ARITHMETIC:
        return None
    calls = [node for node in ast.walk(ast.parse(f"({expression.strip()})", mode="eval")) if isinstance(node, ast.Call)]
    read = dict.fromkeys(
        READERS[call.func.id](str(call.args[0].value) if isinstance(call.args[0], ast.Constant) else "")
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id in READERS and call.args
    )
    return Origin(next(iter(read))[0], "; ".join(source for _, source in read))


def kind(source: Source) -> str:
    """The kind of the rows that a claim's readings come from."""
    return published(source.published).figures if source.published else MEASURED
