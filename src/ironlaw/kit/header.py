"""The head of a lab: what it is about, how long it takes, which devices, what to read first. Never an answer."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ironlaw.kit.context import DATA, Context
from ironlaw.kit.prose import html, inline


def header(name: str, title: str, sentence: str, minutes: int, contexts: Sequence[Context], read_first: str) -> str:
    """`name` is `Lab 01`. Texts are Markdown. Chips carry names only: figures stay off the page until a prediction is committed."""
    chips = "".join(f'<li class="il-chip il-{c.regime}">{escape(c.label)}</li>' for c in contexts)
    kind = "Data" if any(c.regime == DATA for c in contexts) else "Devices"
    return (
        f'<header class="il-header"><p class="il-kicker">{escape(name)} · about {minutes} minutes</p>'
        f'<h1>{inline(title)}</h1><p class="il-lede">{inline(sentence)}</p>'
        f'<ul class="il-chips" aria-label="{kind}">{chips}</ul>'
        f'<details class="il-read"><summary>Read first</summary>{html(read_first)}</details></header>'
    )
