"""The incoming message: somebody with a concrete problem."""

from __future__ import annotations

from html import escape

from ironlaw.kit.prose import Markup, html

SEALED = Markup('<span class="il-sealed">figure sealed until you commit</span>')


def message(sender: str, body: str) -> str:
    """`body` is Markdown."""
    head = f'<header class="il-from"><span class="il-avatar" aria-hidden="true">{escape(sender[:1])}</span>{escape(sender)}</header>'
    return f'<figure class="il-message">{head}<blockquote class="il-body">{html(body)}</blockquote></figure>'
