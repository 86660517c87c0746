"""Pages of the reference: one for each package that says what is public (`__all__`), and for the modules that a caller meets everywhere."""

from __future__ import annotations

import re
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
MODULES = ("errors", "units")
LABS = "ironlaw.labs."  # what the acts of a lab share is nobody else's
PUBLIC = re.compile(r"^__all__\b", re.MULTILINE)
PAGE = "# {name}\n\n::: {name}\n    options:\n      show_root_heading: false\n      show_root_toc_entry: false\n"


def pages() -> dict[str, str]:
    """file -> Markdown that mkdocstrings fills."""
    inits = [path for path in PACKAGE.rglob("__init__.py") if PUBLIC.search(path.read_text(encoding="utf-8"))]
    names = [".".join(path.parent.relative_to(PACKAGE.parent).parts) for path in inits]
    names = [name for name in names if not name.startswith(LABS)] + [f"{PACKAGE.name}.{name}" for name in MODULES]
    return {f"reference/{name}.md": PAGE.format(name=name) for name in sorted(names)}
