"""Claim · Model · Measured: the claim, the engine's figure and the measured one, each with its source, and why they differ."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape

from ironlaw.kit.prose import dress
from ironlaw.registry.claims import Claim, claim, shown

VERDICTS = {"holds": "Holds", "refuted": "Does not hold", "depends": "Depends"}
COLUMNS = ("Claim", "Model", "Measured")
LOCAL_COLUMN = "Measured here"
NOT_MEASURED = "Not measured."
BREAKS = re.compile(r"(?<=\w)([/_])(?=\w)")


@dataclass(frozen=True, slots=True)
class LocalFigure:
    """The learner's own machine's figure for a claim. `source`: what was run, with what, and when."""

    value: float
    unit: str
    source: str


def panel(names: Iterable[str], local: Mapping[str, LocalFigure] | None = None) -> str:
    """One row a claim; on a phone each cell stands alone under its label. `local` adds a column, once something was measured."""
    columns = (*COLUMNS, LOCAL_COLUMN) if local else COLUMNS
    head = "".join(f'<th scope="col">{name}</th>' for name in ("What is said", *columns, "Verdict, and why"))
    rows = "".join(row(claim(name), (local.get(name),) if local else ()) for name in names)
    return f'<div class="il-claims"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def row(entry: Claim, local: tuple[LocalFigure | None, ...] = ()) -> str:
    cells = (
        (escape(entry.claimed), f"{entry.who}; {entry.source}, {entry.date}"),
        (dress(entry.model), "ironlaw, computed now from the registry"),
        _measured(entry),
        *((dress(shown(own.value, own.unit)) if own else "–", own.source if own else "") for own in local),
    )
    figures = "".join(
        f'<td data-label="{label}"><span class="il-value">{value}</span><span class="il-source">{_breakable(source)}</span></td>'
        for label, (value, source) in zip((*COLUMNS, LOCAL_COLUMN), cells, strict=False)
    )
    judged = entry.judgement
    verdict = f'<strong class="il-verdict il-{judged.verdict}">{VERDICTS[judged.verdict]}</strong>'
    premise = f'<span class="il-why">{escape(judged.sentence)}</span>'
    head = f'<tr class="il-claim"><th scope="row">“{escape(entry.says)}”</th>'
    return f'{head}{figures}<td data-label="Verdict">{verdict}{premise}<span class="il-why">{escape(entry.why)}</span></td></tr>'


def _breakable(text: str) -> str:
    """With places where a long name such as `h200_sxm/models_more` may be broken."""
    return BREAKS.sub(r"\1<wbr>", escape(text))


def _measured(entry: Claim) -> tuple[str, str]:
    """The reading to quote, and where all of them come from."""
    measured = entry.measured
    if measured is None:
        return "–", NOT_MEASURED
    beside = f" Shown beside, and judges nothing. {measured.differs}" if measured.differs else ""
    return dress(shown(measured.value, measured.unit)), f"{measured.source}.{beside}"
