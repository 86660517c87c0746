"""Examples in docstrings are code on the page, where Markdown would take `>>>` for a quotation in a quotation in a quotation."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Module, Object

FENCE = "```pycon\n"
EXAMPLE = re.compile(r"^>>> (?:.+\n?)+", re.MULTILINE)


def fence(text: str) -> str:
    """A docstring with its examples as blocks of code; one that has them stays as it is, since griffe may show an object twice."""
    return text if FENCE in text else EXAMPLE.sub(lambda match: f"{FENCE}{match[0].rstrip()}\n```\n", text)


class Examples(Extension):
    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fence(obj.docstring.value)

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        """The package at the top is not shown as an object."""
        self.on_object(obj=pkg)
