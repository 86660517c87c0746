"""The math peek: it stands open, and can be folded. The equations in LaTeX, every symbol defined, one worked number."""

from __future__ import annotations

from html import escape

from ironlaw.kit.prose import html


def peek(title: str, body: str) -> str:
    """`body` is Markdown with LaTeX between dollars."""
    # a long equation scrolls sideways, by keyboard too
    prose = f'<div class="il-prose" tabindex="0" role="group" aria-label="{escape(title)}">{html(body)}</div>'
    return f'<details class="il-peek" open><summary>{escape(title)}</summary>{prose}</details>'
