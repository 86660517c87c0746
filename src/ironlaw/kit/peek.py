"""The math peek: it stands open, and can be folded. The equations in LaTeX, every symbol defined, one worked number."""

from __future__ import annotations

from html import escape

from ironlaw.kit.prose import html


def peek(title: str, body: str) -> str:
    """`body` is Markdown with LaTeX between dollars."""
    return f'<details class="il-peek" open><summary>{escape(title)}</summary><div class="il-prose">{html(body)}</div></details>'
