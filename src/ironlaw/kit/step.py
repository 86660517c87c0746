"""One part of an act on the page: a section that the rail can jump to."""

from __future__ import annotations

from html import escape

# the seven parts of an act, in order: id, what the rail calls it
PARTS = (
    ("message", "Message"),
    ("lock", "Predict"),
    ("instrument", "Explore"),
    ("reveal", "Reveal"),
    ("claims", "Claims"),
    ("reflect", "Reflect"),
    ("peek", "Math"),
)

DONE = '<span aria-hidden="true">✓ </span>'

WIDE = ("instrument", "claims", "measure")  # break out of the reading column


def unfold(label: str) -> str:
    """Shown on a narrow screen where what it belongs to is folded (pages/static/fold.js). `label` is inline HTML."""
    return f'<button type="button" class="il-unfold">{label}</button>'


def anchor(act: str, part: str) -> str:
    return f"{act}-{part}"


def step(act: str, part: str, body: str, title: str = "", id: str = "", beyond: bool = False) -> str:
    """`body` in a section of its own; a title is read out and seen, its absence only where the body has one.

    `id` where an act has a part twice: two sections of a page can't share one. `beyond` the core: it stays open where its act is folded.
    """
    head = f'<h3 class="il-part">{escape(title)}</h3>' if title else ""
    wide = (" il-wide" if part in WIDE else "") + (" il-beyond" if beyond else "")
    return f'<section class="il-step il-step-{part}{wide}" id="{id or anchor(act, part)}">{head}{body}</section>'


def closed(act: str, title: str, reason: str) -> str:
    """An act that is not open yet: a quiet outline with the reason, and nothing of what is in it."""
    body = f'<h2 class="il-act-title">{title}</h2><p>{reason}</p>'
    return f'<section class="il-step il-locked" id="{anchor(act, "message")}">{body}</section>'
