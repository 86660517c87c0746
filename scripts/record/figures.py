"""The public figures: machines, models, claims, every comparison with a measurement, the review's cards, the generated pages."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import seams
from book import Book
from commands import ask
from seams import run

SEEDS = 12  # variants of a card


def record(book: Book) -> None:
    for line in ("validate", "validate --rows", "claims", "claims --check", "hardware", "hardware check", "workload"):
        ask(book, f"figures/{line}", [*line.split(), "--json"])
    for command, rows, name in (("claims", "claims", "id"), ("hardware", "machines", "slug"), ("workload", "workloads", "slug")):
        for row in json.loads(run([command, "--json"])[1])[rows]:
            ask(book, f"figures/{command} {row[name]}", [command, row[name], "--json"])
    _cards(book)
    _pages(book)
    for name, kind in seams.public_names().items():
        book.keep(f"figures/api {name}", {"kind": kind})


def _cards(book: Book) -> None:
    for name, variant in seams.cards().items():
        for seed in range(SEEDS):
            fields = {**_plain(variant(seed)), "template": name}
            book.keep(f"figures/card {name} {seed}", fields)


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return value if isinstance(value, (str, int, float, bool)) or value is None else str(value)


def _pages(book: Book) -> None:
    """What scripts/docs.py would write now, but for the commands' help, which has its own group; and the errata."""
    for name, write in seams.pages().items():
        if not name.endswith(("cli.md", "grammar.json")):
            book.keep(f"figures/page {name}", {"text": write()})
    book.keep("figures/page docs/errata.md", {"text": (seams.ROOT / "docs/errata.md").read_text(encoding="utf-8")})
