"""The head of a lab: its title, one sentence and its minutes, and what to read first behind a fold. Never an answer."""

from __future__ import annotations

from html import escape

from ironlaw.kit.prose import html, inline


def header(name: str, title: str, sentence: str, minutes: int, read_first: str) -> str:
    """`name` is `Lab 01`. Texts are Markdown."""
    return (
        f'<header class="il-header"><div class="il-kicker"><p><span>{escape(name)} · </span>about {minutes} minutes</p>'
        f'<details class="il-read"><summary>Read first</summary><div>{html(read_first)}</div></details></div>'
        f'<h1>{inline(title)}</h1><p class="il-lede">{inline(sentence)}</p></header>'
    )
