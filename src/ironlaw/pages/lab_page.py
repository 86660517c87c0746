"""A lab's page before its cells are drawn: the head of the lab, as it will stand there, and a place for each cell."""

from __future__ import annotations

from html import escape

from ironlaw.pages.lab_catalogue import Lab
from ironlaw.pages.page_templates import fill, static


def page(lab: Lab, scripts: str, first: str = "") -> str:
    """`scripts` draw the cells; `first` is what comes before everything else."""
    from ironlaw.kit import runner  # here: the start page does not wait for what labs need

    title = f"{lab.name} · {lab.title}"
    texts = {"title": title, "heading": lab.title, "name": lab.name, "teaches": lab.teaches, "minutes": str(lab.minutes), "slug": lab.slug}
    cells = "".join(f'<div class="il-cell" id="cell-{escape(name)}"></div>' for name in runner.names(runner.script(lab.folder)))
    html = fill("lab.html", first=first, scripts=scripts, cells=cells, **{slot: escape(text) for slot, text in texts.items()})
    return html.replace(f'<link rel="stylesheet" href="{static()}/page.css">', "", 1)  # a lab has a look of its own
