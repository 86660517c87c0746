"""HTML from templates with `{{ slots }}`: every slot is filled, and every text that is not ours is escaped."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import cache
from html import escape
from pathlib import Path

from ironlaw import errors
from ironlaw.version import __version__
from ironlaw.widget.assets import CSS

STATIC = Path(__file__).parent / "static"
SLOT = re.compile(r"\{\{ (\w+) \}\}")


def digest(files: Iterable[Path]) -> str:
    """Changes with any of the files."""
    return hashlib.sha256(b"".join(path.name.encode() + path.read_bytes() for path in sorted(files))).hexdigest()[:12]


def digest_of(*texts: str) -> str:
    """Changes with any of the texts."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12]


@cache
def static() -> str:
    """Where our files are served: the address changes when one of them does."""
    return f"/static/{digest(path for path in STATIC.rglob('*') if path.is_file())}"


@cache
def theme() -> str:
    """Where the labs' theme and the typeface of every page are served."""
    return f"/theme/{digest(path for path in CSS.rglob('*') if path.is_file())}"


@cache
def template(name: str) -> str:
    return (Path(__file__).parent / name).read_text("utf-8")


def fill(template_name: str, /, **slots: str) -> str:
    """The template with its slots filled; in one pass, so that a text that looks like a slot is left alone.

    `{{ law }}` and, with a title, `{{ head }}` are shared by several pages.
    """
    values = {"static": static(), "theme": theme(), "version": __version__, "law": template("law.html"), **slots}
    if "title" in slots:
        values["head"] = SLOT.sub(lambda slot: values[slot[1]], template("head.html"))
    return SLOT.sub(lambda slot: values[slot[1]], template(template_name))


def sentence(reason: str) -> str:
    """An error's message as HTML: a sentence, with what stands in backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(errors.sentence(reason)))
