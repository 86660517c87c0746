"""Our pages under another address than a host's root: `/user/ada/ironlaw` in place of nothing.

Pages and what a lab's socket sends name addresses from the root on. They get the base here, at the border, and scripts find it in the page
(`data-root`). An address that begins with two slashes is another host's, and none of ours does.
"""

from __future__ import annotations

import re

from ironlaw.errors import BadValue

ADDRESS = re.compile(r'((?:href|src|action|data-traits)(?:=\\?"|":"))/(?!/)')
BASE = re.compile(r"(/[A-Za-z0-9._~%@+,=:-]+)*")  # what needs no escape in HTML, JSON or a header


def checked(base: str) -> str:
    """The base without a slash at its end."""
    trimmed = base.rstrip("/")
    if not BASE.fullmatch(trimmed):
        raise BadValue(f"{base!r} is not a path to serve the labs under; give one such as /user/ada/ironlaw")
    return trimmed


def placed(text: str, base: str) -> str:
    """HTML, or JSON with HTML in it, whose addresses begin at `base`."""
    return ADDRESS.sub(rf"\1{base}/", text)


def page(html: str, base: str) -> str:
    """A whole page, which says where the labs begin."""
    return placed(html, base).replace('<html lang="en">', f'<html lang="en" data-root="{base}/">', 1)


def location(target: str, path: str) -> str:
    """Where a redirect leads, relative to the `path` that was asked for: a proxy may or may not put the base before one that begins at the
    root."""
    return f"{'../' * (path.count('/') - 1) or './'}{target.removeprefix('/')}" if target.startswith("/") else target
