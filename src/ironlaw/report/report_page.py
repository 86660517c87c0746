"""The report as one HTML file. It contains the widget's JavaScript and CSS, the figures and the tables, and loads nothing.

The figures are drawn by the labs' widget; only its files are taken, so nothing of the kit is imported.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from ironlaw.engine.device.predict import Prediction
from ironlaw.errors import BadValue
from ironlaw.files import output, replace_text
from ironlaw.report.analysis import Analysis
from ironlaw.report.markup import data, paragraph, text
from ironlaw.report.sections import (
    breakeven_section,
    capacity_section,
    costs_section,
    details,
    fusion_section,
    language_section,
    sources_section,
    summary,
    trace_section,
    variants_section,
    verdict_section,
)
from ironlaw.widget import assets
from ironlaw.widget.figure import Figure
from ironlaw.widget.glossary_words import explanations, mark, marked

TABLES = ("table",)  # rows of figures are looked up, not read
FILM = '<div class="il-home"><div class="il-piece" data-film></div></div>'  # host and device, as they run
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:; font-src data:"


@cache
def script(*own: str) -> str:
    """The widget's drawing, what puts figures into their places, and a page's own files."""
    parts = ((files("ironlaw.report") / name).read_text(encoding="utf-8") for name in ("figures.js", *own))
    return '(() => {\n"use strict";\n' + "\n".join((assets.script((*assets.DRAWING, *assets.MOVING, *assets.GLOSSARY)), *parts)) + "\n})();"


@cache
def style() -> str:
    own = (files("ironlaw.report") / "report.css").read_text(encoding="utf-8")
    return f"{assets.typeface()}\n{assets.style((*assets.DRAWING_STYLES, *assets.GLOSSARY))}\n{own}"


def place_of(place: str | Path, inputs: Iterable[str | Path] = ()) -> Path:
    """Where a report may be written: not over `inputs`, nor over a file that is not a page."""
    return output(place, "the report", inputs, lambda head: head.lstrip().lower().startswith((b"<!doctype html", b"<html")))


def write(analysis: Analysis, place: str | Path, inputs: Iterable[str | Path] = ()) -> Path:
    """Whole or not at all."""
    return put(html(analysis), place, inputs)


def put(page: str, place: str | Path, inputs: Iterable[str | Path] = ()) -> Path:
    target = place_of(place, inputs)
    try:
        replace_text(target, page)
    except OSError as error:
        raise BadValue(f"the report can't be written to {place}: {error.strerror or error}; give a file in a folder that exists") from None
    return Path(place)


def html(analysis: Analysis) -> str:
    """The whole file. `analysis.predictions` holds at least one prediction."""
    figures: dict[str, Figure] = {}
    grids: dict[str, Any] = {}
    sections = _sections(analysis, figures, grids)
    figures[verdict_section.PICTURE] = verdict_section.picture(analysis)
    first = f'<section id="verdict">{mark(verdict_section.section(analysis, figure_place(verdict_section.PICTURE)), TABLES)}</section>'
    body = first + folded(sections)
    carried = {
        "figures": {name: figure.to_dict() for name, figure in figures.items()},
        "details": {details.key(p): {name: f.to_dict() for name, f in details.figures(p).items()} for p in analysis.by_phase},
        "films": {name: film.to_dict() for name, film in details.films(analysis.by_phase).items()},
        "operators": details.operators(analysis),
        "grids": grids,
        "terms": explanations(marked(body)),
    }
    name = analysis.graph.name
    head = f'<p class="kicker">ironlaw analyze {text(analysis.target)}</p><h1>{text(name)}</h1>'
    needs = "Pictures and long tables need JavaScript; the summary and the sources do not."
    return frame(f"{name}: where the time goes", head, "", body, carried, script("report.js"), needs)


def frame(title: str, head: str, links: str, body: str, carried: dict[str, Any], code: str, needs: str) -> str:
    """A page that is whole in itself: `carried` is what its scripts draw, `needs` what is missing without them."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f"<title>{text(title)}</title>\n<style>\n{style()}\n</style>\n</head>\n<body>\n"
        f'<a class="skip" href="#{"summary" if links else "verdict"}">Skip to the summary</a>\n<header>{head}</header>\n'
        + (f'<nav aria-label="Sections"><ul>{links}</ul></nav>\n' if links else "")
        + f"<main>\n<noscript><p>{text(needs)}</p></noscript>\n"
        f'{body}</main>\n<script type="application/json" id="data">{data(carried)}</script>\n'
        f"<script>\n{code}\n</script>\n</body>\n</html>\n"
    )


def laid_out(sections: list[tuple[str, str, str]]) -> tuple[str, str]:
    """(links, body) of sections (id, title, HTML)."""
    links = "".join(f'<li><a href="#{name}">{text(title)}</a></li>' for name, title, _ in sections)
    return links, "".join(
        f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">{text(title)}</h2>{mark(inner, TABLES)}</section>'
        for name, title, inner in sections
    )


def folded(sections: list[tuple[str, str, str]]) -> str:
    """Sections (id, title, HTML) under headings that open them."""
    return "".join(
        f'<section id="{name}" aria-labelledby="{name}-title"><details><summary><h2 id="{name}-title">{text(title)}</h2></summary>'
        f"{mark(inner, TABLES)}</details></section>"
        for name, title, inner in sections
    )


def _sections(analysis: Analysis, figures: dict[str, Figure], grids: dict[str, Any]) -> list[tuple[str, str, str]]:
    """(id, title, HTML) in order; figures and tables they refer to go into `figures` and `grids`."""
    of_modes = summary.modes(analysis) if verdict_section.leaves_out(analysis) else {}
    figures |= of_modes
    sections = [
        ("captured", "What was captured", summary.captured(analysis)),
        ("summary", "What it takes", summary.summary(analysis)),
    ]
    if of_modes:
        sections.append(("modes", "Eager, compiled, graphs", "".join(figure_place(name) for name in of_modes)))
    if analysis.language is not None:
        sections.insert(0, ("language", "As a language model", language_section.section(analysis.language)))
    if len(analysis.machines) > 1:
        words = summary.devices(analysis)
        if len({p.plan.mode for p in analysis.predictions}) > 1:
            words += "<h3>Machines and modes</h3>" + variants_section.machines_and_modes(analysis.predictions, analysis.graph)
        sections.append(("devices", "Several machines", words))
    if len(analysis.variants) > 1:
        sections.append(("variants", "Batches and weights", variants_section.batches_and_weights(analysis.variants)))
    if analysis.costs is not None:
        sections.append(("costs", "What it costs", costs_section.section(analysis.costs)))
    sections.append(
        ("details", "Where the time goes", _picker(analysis.by_phase) + FILM + "".join(_detail(name) for name in ("roofline", "timeline")))
    )
    sections.append(("operators", "Every operator", _follows() + "<div data-operators></div>"))
    unsized = "".join(paragraph(f"{why[0].upper()}{why[1:]}.", "il-quiet") for why in analysis.unsized)
    holds = capacity_section.section(analysis.capacities) + unsized
    sections.append(("memory", "Memory over time", _follows() + _detail("live") + holds))
    words, tables = fusion_section.section(analysis)
    grids |= tables
    sections.append(("fusion", "What compiling fuses", words))
    words, picture = breakeven_section.section(analysis)
    if picture is not None:
        figures["saving"] = picture
    sections.append(("breakeven", "When compiling pays", words + (figure_place("saving") if picture else "")))
    if analysis.joined is not None:
        words, grids["trace"] = trace_section.section(analysis.joined)
        sections.append(("trace", "Predicted beside measured", words))
    sections.append(("sources", "Sources", sources_section.section(analysis)))
    return sections


def figure_place(name: str) -> str:
    return f'<div class="il-home" data-figure-of="{text(name)}"></div>'


def _detail(name: str) -> str:
    return f'<div class="il-home" data-detail="{name}"></div>'


def _picker(predictions: tuple[Prediction, ...]) -> str:
    """Which machine and mode (and phase of a language model, where there are two) the pictures and the table show."""
    phases = len(set(map(details.phase, predictions))) > 1

    def option(p: Prediction) -> str:
        words = ", ".join(filter(None, (p.hardware.name, p.plan.mode, details.phase(p) if phases else "")))
        return f'<option value="{text(details.key(p))}">{text(words)}</option>'

    options = "".join(map(option, predictions))
    return f'<p class="picker"><label for="shown">Machine and mode</label> <select id="shown">{options}</select></p>'


def _follows() -> str:
    return '<p class="il-quiet" data-shown></p>'
