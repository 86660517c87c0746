"""All that the recorder knows of ironlaw's inside: a step that moves one of these names changes this file, and old records stay valid."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent


def labs() -> dict[str, Any]:
    """Slug -> lab, in the order of the course."""
    from ironlaw.pages.lab_catalogue import catalogue

    return {lab.slug: lab for lab in catalogue()}


def page(lab: Any, ledger: Any) -> Any:
    """One page of a lab, not yet opened."""
    from ironlaw.kit.page import Page

    return Page(lab.folder, ledger)


def open_ledger(path: Path) -> Any:
    from ironlaw import ledger

    return ledger.open_ledger(path)


def run(argv: list[str]) -> tuple[int, str, str]:
    """A command in this process: exit code, standard output and standard error."""
    from ironlaw.cli import main

    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(argv)
    return code, out.getvalue(), err.getvalue()


def cards() -> Mapping[str, Callable[[int], Any]]:
    """A card of the review -> its variant for a seed."""
    from ironlaw.recall.card_templates import templates
    from ironlaw.recall.card_variants import variant

    return {name: lambda seed, template=template: variant(template, seed) for name, template in templates().items()}  # type: ignore[misc]


def pages() -> dict[str, Callable[[], str]]:
    """A file that scripts/docs.py writes -> what it would write now."""
    spec = importlib.util.spec_from_file_location("docs_script", ROOT / "scripts/docs.py")
    assert spec is not None and spec.loader is not None
    docs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(docs)
    return dict(docs.PAGES)


def public_names() -> dict[str, str]:
    """What `import ironlaw` offers, and of which type each is."""
    import ironlaw

    return {name: type(getattr(ironlaw, name)).__name__ for name in dir(ironlaw) if not name.startswith("_")}
