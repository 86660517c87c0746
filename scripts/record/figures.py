"""The public figures, recorded: machines, models, claims, every comparison with a measurement, the review's cards, the generated pages."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
from pathlib import Path
from typing import Any

from book import Book
from commands import ask, run

SEEDS = 12  # variants of a card


def record(book: Book, root: Path) -> None:
    for line in ("validate", "validate --rows", "claims", "claims --check", "hardware", "hardware check", "workload"):
        ask(book, f"figures/{line}", [*line.split(), "--json"])
    for command, rows, name in (("claims", "claims", "id"), ("hardware", "machines", "slug"), ("workload", "workloads", "slug")):
        for row in json.loads(run([command, "--json"])[1])[rows]:
            ask(book, f"figures/{command} {row[name]}", [command, row[name], "--json"])
    _cards(book)
    _pages(book, root)
    _api(book)


def _cards(book: Book) -> None:
    from ironlaw.recall.templates import templates
    from ironlaw.recall.variants import variant

    for name, template in templates().items():
        for seed in range(SEEDS):
            fields = {field.name: getattr(one, field.name) for one in [variant(template, seed)] for field in dataclasses.fields(one)}
            fields["template"] = name
            book.keep(f"figures/card {name} {seed}", {key: _plain(value) for key, value in fields.items()})


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return value if isinstance(value, (str, int, float, bool)) or value is None else str(value)


def _pages(book: Book, root: Path) -> None:
    """What scripts/docs.py would write now, but for the commands' help, which has its own group; and the errata."""
    spec = importlib.util.spec_from_file_location("docs_script", root / "scripts/docs.py")
    assert spec is not None and spec.loader is not None
    docs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(docs)
    for name, write in docs.PAGES.items():
        if not name.endswith(("cli.md", "grammar.json")):
            book.keep(f"figures/page {name}", {"text": write()})
    book.keep("figures/page docs/errata.md", {"text": (root / "docs/errata.md").read_text(encoding="utf-8")})


def _api(book: Book) -> None:
    import ironlaw

    for name in dir(ironlaw):
        if not name.startswith("_"):
            book.keep(f"figures/api {name}", {"kind": type(getattr(ironlaw, name)).__name__})
