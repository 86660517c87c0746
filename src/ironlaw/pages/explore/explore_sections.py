"""The reference under the pictures: every operator in a table that sorts, and the registry's figures with their sources."""

from __future__ import annotations

import re
from html import escape
from typing import Any
from urllib.parse import urlsplit

from ironlaw.engine.device.predict import Prediction
from ironlaw.formats import intensity_unit, operation
from ironlaw.kit.prose import amount
from ironlaw.pages.explore_answers import figures, grouped
from ironlaw.widget.quantities import exact, format_quantity

FIRST = 10  # rows until somebody asks for all
ADDRESS = re.compile(r"(https?://[^\s,;)]+)")
TOGETHER = 6  # the column that sorts at first
BESIDE = {
    "calibrated": "Measured, and used instead of the rates, bandwidth and launch cost above",
    "transferred": "Used with the figures above: what other machines taught us",
}


def columns(fmt: str) -> tuple[dict[str, Any], ...]:
    return (
        {"label": "operator", "long": True}, {"label": "kind"}, {"label": "arithmetic", "unit": operation(fmt)},
        {"label": "bytes", "unit": "B"}, {"label": "intensity", "unit": intensity_unit(fmt)}, {"label": "time each", "unit": "s"},
        {"label": "together", "unit": "s"}, {"label": "of device", "unit": "%"}, {"label": "bottleneck", "term": True},
    )  # fmt: skip


def sections(p: Prediction) -> list[dict[str, Any]]:
    return [_operators(p), _figures(p)]


def _operators(p: Prediction) -> dict[str, Any]:
    groups, busy = grouped(p.ops), float(p.busy_s)
    rows = [
        [
            _name(group), group["kind"], group["flops"], group["bytes"], group["intensity"] or 0.0, group["seconds"], group["total_s"],
            100 * group["total_s"] / busy if busy else 0.0, group["term"],
        ]
        for group in groups
    ]  # fmt: skip
    alike = " Operators that cost the same share a row." if len(groups) < len(p.ops) else ""
    return {
        "id": "operators",
        "title": "Where the device spends its time",
        "note": f"The device is busy for {format_quantity(busy, 's')} of {format_quantity(float(p.seconds), 's')}.{alike}"
        " Times are on the device, without launches.",
        "table": {
            "label": "Operators", "columns": columns(p.graph.dtype), "rows": rows, "sort": [TOGETHER, -1], "first": FIRST,
            "plain": True, "kind": None,
        },
    }  # fmt: skip


def _name(group: dict[str, Any]) -> str:
    return f"{group['name']} and {group['count'] - 1} like it" if group["count"] > 1 else str(group["name"])


def _figures(p: Prediction) -> dict[str, Any]:
    head = "".join(f'<th scope="col">{name}</th>' for name in ("figure", "value", "kind", "source", "date"))
    body = "".join(
        f'<tr><th scope="row">{escape(one["label"])}</th><td>{_value(one)}</td>'
        f"<td>{'<span class=il-tag>estimate</span>' if one['estimate'] else 'maker’s'}</td>"
        f'<td class="il-source">{_linked(one["source"])}{_why(one["why"])}</td><td>{escape(one["date"])}</td></tr>'
        for one in figures(p)
    )
    rests = "".join(f"<li>{_linked(source)}</li>" for source in p.sources) if p.basis in BESIDE else ""
    after = f"<p>{BESIDE[p.basis]}:</p><ul>{rests}</ul>" if rests else ""
    return {
        "id": "figures",
        "title": "Figures used, and where they come from",
        "folded": True,
        "html": f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{after}",
    }


def _value(figure: dict[str, Any]) -> str:
    return amount(figure["value"], figure["unit"], exact=exact(figure["value"], figure["unit"]))


def _why(reason: str) -> str:
    return f' <span class="il-quiet">{escape(reason)}</span>' if reason else ""


def _linked(source: str) -> str:
    """Text with its addresses as links; nothing is fetched until one is followed."""
    parts = ADDRESS.split(source)
    return "".join(
        f'<a href="{escape(part, quote=True)}" rel="noopener noreferrer">{escape(urlsplit(part).hostname or part)}</a>'
        if i % 2
        else escape(part)
        for i, part in enumerate(parts)
    )
