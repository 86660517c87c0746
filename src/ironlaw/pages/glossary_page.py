"""The glossary: a page with every term, and the script that explains the labs' marked words."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from ironlaw.pages.page_templates import fill
from ironlaw.widget import assets

if TYPE_CHECKING:
    from ironlaw.claims.glossary import Term

# fetched with the first word that is looked at: a page does not wait for it
START = (
    "(() => {{\n"
    "let terms = null;\n"
    'startGlossary(async (id) => (await (terms ??= fetch("{data}").then((answer) => answer.json())))[id]);\n'
    "}})();\n"
)


def script(data: str) -> str:
    """`data`: the address of what the words mean (`ironlaw.widget.glossary_words.explanations`)."""
    return f"{assets.script(assets.GLOSSARY)}\n{START.format(data=data)}"


def page() -> str:
    """Every term, by group."""
    from ironlaw.claims.glossary import GROUPS, terms

    by_group = {group: [term for term in terms().values() if term.group == group] for group in GROUPS}
    links = "".join(f'<li><a href="#{group}">{heading}</a></li>' for group, heading in GROUPS.items())
    body = "".join(
        f'<details class="group" id="{group}" open><summary><h2>{GROUPS[group]}</h2> <span class="unit">{len(listed)}</span></summary>'
        f'<dl class="terms">{"".join(map(_term, listed))}</dl></details>'
        for group, listed in by_group.items()
    )
    return fill("glossary.html", title="glossary", links=links, terms=body)


def _term(term: Term) -> str:
    also = f' <span class="unit">also {escape(", ".join(term.spellings[1:]))}</span>' if term.spellings[1:] else ""
    figure = term.figure
    return (
        f'<div id="term-{term.id}"><dt>{escape(term.name)}{also}</dt><dd>{escape(term.says)}'
        f'<p class="figure">{escape(figure.label)}: <b>{escape(figure.value)}</b></p><p class="hint">{escape(figure.source)}</p></dd></div>'
    )
