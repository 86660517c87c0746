"""Claim · Model · Measured: the claim, the engine's figure and the measured one, each with its source, and why they differ."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from html import escape

from ironlaw.claims import Claim, claim, shown
from ironlaw.kit.prose import NARROW, UNIT, dress
from ironlaw.widget.glossary_words import mark

VERDICTS = {"holds": "Holds", "refuted": "Does not hold", "depends": "Depends"}
COLUMNS = ("Claim", "Model", "Measured")
LOCAL_COLUMN = "Measured here"
OTHER_CASE = "Measured, another case"  # a reading that stands beside the claim and does not judge it
CLOSED = "Kept closed: {count} more. It answers the scaling challenge, and opens once you have committed a number there."
OFTEN_SAID = "Often said or assumed; written down for this course"
NOT_MEASURED = "Not measured."
FIRST = 3  # claims in sight; the rest are folded
BREAKS = re.compile(r"(?<=\w)([/_])(?=\w)")


@dataclass(frozen=True, slots=True)
class LocalFigure:
    """The learner's own machine's figure for a claim. `source`: what was run, with what, and when."""

    value: float
    unit: str
    source: str


def panel(names: Iterable[str], local: Mapping[str, LocalFigure] | None = None, closed: int = 0) -> str:
    """One line a claim, three of them in sight; each opens on its sources and on why.

    `local`: what was measured here. `closed`: how many more would give a challenge away.
    """
    rows = [row(claim(name), (local.get(name),) if local else ()) for name in names]
    first, rest = "".join(rows[:FIRST]), rows[FIRST:]
    word = "claim" if len(rest) == 1 else "claims"
    folded = f'<details class="il-more-claims"><summary>{len(rest)} more {word}</summary>{"".join(rest)}</details>' if rest else ""
    sealed = f'<p class="il-quiet">{CLOSED.format(count=closed)}</p>' if closed else ""
    return f'<div class="il-claims">{first}{folded}{sealed}</div>'


@lru_cache(maxsize=1024)  # a claim says the same each time a lab is opened
def row(entry: Claim, local: tuple[LocalFigure | None, ...] = ()) -> str:
    cells = (
        (escape(entry.claimed), _said_by(entry)),
        (dress(entry.model), "ironlaw, computed now from the registry"),
        _measured(entry),
        *((dress(shown(own.value, own.unit)) if own else "–", own.source if own else "") for own in local),
    )
    *first, last = COLUMNS
    last = OTHER_CASE if entry.measured and entry.measured.differs else last
    labelled = tuple(zip((*first, last, LOCAL_COLUMN), cells, strict=False))
    figures = "".join(
        f'<span class="il-figure-of"><span class="il-label">{label}</span> <span class="il-value">{value}</span></span> '
        for label, (value, _) in labelled
    )
    sources = "".join(f"<div><dt>{label}</dt><dd>{_breakable(source)}</dd></div>" for label, (_, source) in labelled if source)
    judged = entry.judgement
    verdict = f'<strong class="il-verdict il-{judged.verdict}">{VERDICTS[judged.verdict]}</strong>'
    head = f'<span class="il-says">“{UNIT.sub(NARROW, escape(entry.says))}”</span> <span class="il-of">{figures}</span> {verdict}'
    why = mark(f"<p>{escape(judged.sentence)}</p><p>{escape(entry.why)}</p>")
    return f'<details class="il-claim"><summary>{head}</summary><div class="il-why">{why}<dl>{sources}</dl></div></details>'


def _said_by(entry: Claim) -> str:
    """Where the wording is ours, that is said: nobody can look it up."""
    return f"{OFTEN_SAID}, {entry.date}" if "ours" in entry.who or "draft" in entry.source else f"{entry.who}; {entry.source}, {entry.date}"


def _breakable(text: str) -> str:
    """With places where a long name such as `h200_sxm/models_more` may be broken."""
    return BREAKS.sub(r"\1<wbr>", escape(text))


def measured(name: str, what: str = "") -> str:
    """A claim's reading for a receipt, as inline HTML: the figure, what it is of, and on hover where it comes from."""
    reading = claim(name).measured
    if reading is None:
        return NOT_MEASURED
    return f'{dress(shown(reading.value, reading.unit), reading.source)} <span class="il-quiet">{escape(what)}</span>'


def _measured(entry: Claim) -> tuple[str, str]:
    """The reading to quote, and where all of them come from."""
    measured = entry.measured
    if measured is None:
        return "–", NOT_MEASURED
    beside = f" Shown beside, and judges nothing. {measured.differs}" if measured.differs else ""
    return dress(shown(measured.value, measured.unit)), f"{measured.source}.{beside}"
