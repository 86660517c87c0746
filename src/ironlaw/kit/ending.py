"""The end of a lab, which leads on: a receipt, the button that saves, what to take away, the next lab and the review's cards."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from ironlaw import lab_names
from ironlaw.kit import lab_words as texts
from ironlaw.kit.prose import html, inline
from ironlaw.recall.card_templates import templates

LABS = Path(__file__).parent.parent / "labs"
COLUMNS = ("", "You predicted", "The engine computes", "Measured")
NOT_MEASURED = '<span class="il-quiet">not measured</span>'


def end(body: str) -> str:
    return f'<section class="il-step il-end" id="end">{body}</section>'


def receipt(slug: str, rows: Sequence[tuple[str, str, str, str]], save: str) -> str:
    """`rows`: title, then inline HTML; `save`: HTML of the save button.

    Where no act has a measurement of what was predicted, there is no column for it.
    """
    columns = COLUMNS if any(measured for *_, measured in rows) else COLUMNS[:-1]
    head = "".join(f'<th scope="col">{name}</th>' for name in columns)
    body = "".join(
        f'<tr><th scope="row">{inline(title)}</th>'
        + "".join(_cell(name, cell) for name, cell in zip(columns[1:], cells, strict=False))
        + "</tr>"
        for title, *cells in rows
    )
    return (
        f"<h2>Your receipt</h2>"
        f'<table class="il-table il-receipt-table"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{save}'
        f'<nav class="il-onward" aria-label="Where to go next">{onward(slug)}</nav>'
    )


def _cell(name: str, cell: str) -> str:
    return f'<td data-label="{name}">{cell}</td>' if cell else f"<td>{NOT_MEASURED}</td>"


def lessons(points: str, connections: str) -> str:
    """Markdown lists."""
    return (
        f'<section class="il-takeaways" id="takeaways"><h2>Key takeaways</h2>{html(points)}</section>'
        f'<section class="il-connections"><h2>Connections</h2>{html(connections)}</section>'
    )


def onward(slug: str) -> str:
    """The next lab, the review's cards that follow from this one, the map, and the file of all that was done."""
    after = next_lab(slug)
    cards = sum(card.lab == slug for card in templates().values())
    links = []
    if after:
        links.append(f'<a class="il-button il-primary" href="/lab/{after[0]}/">Next: {lab_names.name(after[0])}, {escape(after[1])}</a>')
    if cards:
        primary = "" if after else " il-primary"
        links.append(f'<a class="il-button{primary}" href="/lab/review/#cards">Review its {cards} cards</a>')
    export = '<a class="il-button" href="/export" download>Download your ledger</a>'
    return "".join([*links, '<a class="il-button" href="/">The map of the course</a>', export])


def next_lab(slug: str) -> tuple[str, str] | None:
    """Slug and title of the lab after this one in the course; none after the last."""
    labs = sorted((path.parent.name for path in LABS.glob("lab_*/questions.toml")), key=lab_names.order)
    if slug not in labs[:-1]:
        return None
    after = labs[labs.index(slug) + 1]
    return after, texts.load(LABS / after / "words.md")["title"]
