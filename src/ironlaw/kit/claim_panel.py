"""Claims of an act: what is claimed, what the engine computes, and what was measured, each with its source, and why they differ.

What was not measured has no column, and what is somebody's own page, model or estimate is called that.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from html import escape

from ironlaw.claims import Claim, claim, shown
from ironlaw.claims.expressions import names
from ironlaw.claims.provenance import COLUMNS
from ironlaw.kit.prose import EQUALS, NARROW, UNIT, dress, whole_names
from ironlaw.widget.glossary_words import mark

VERDICTS = {"holds": "Holds", "refuted": "Does not hold", "depends": "Depends"}
LOCAL_COLUMN = "Measured here"
OTHER_CASE = "Measured, another case"  # a reading that stands beside the claim and does not judge it
OFTEN_SAID = "Often said or assumed; the wording is ours"
NOT_MEASURED = "Not measured."
MOST = 3  # claims of an act
PUBLISHED = {"published", "replayed"}  # an expression may divide by what they give, the published figure that judges it
BREAKS = re.compile(r"(?<=\w)([/_])(?=\w)")


@dataclass(frozen=True, slots=True)
class LocalFigure:
    """The learner's own machine's figure for a claim. `source`: what was run, with what, and when."""

    value: float
    unit: str
    source: str


def measured_first(chosen: Iterable[str]) -> list[Claim]:
    """The claims of an act in the order in which they are shown: first those that something measured judges."""
    return sorted(map(claim, chosen), key=lambda entry: not entry.is_measured)[:MOST]


def any_measured(chosen: Iterable[str]) -> bool:
    return any(entry.is_measured for entry in measured_first(chosen))


def panel(chosen: Iterable[str], local: Mapping[str, LocalFigure] | None = None) -> str:
    """One line a claim; each opens on its sources and on why. `local`: what was measured here."""
    rows = [row(entry, local.get(entry.id) if local else None) for entry in measured_first(chosen)]
    return f'<div class="il-claims">{"".join(rows)}</div>'


@lru_cache(maxsize=1024)  # a claim says the same each time a lab is opened
def row(entry: Claim, local: LocalFigure | None = None) -> str:
    labelled = list(_figures(entry, local))
    figures = "".join(
        f'<span class="il-figure-of"><span class="il-label">{label}</span> <span class="il-value">{value}</span></span> '
        for label, value, _ in labelled
    )
    sources = "".join(f"<div><dt>{label}</dt><dd>{_breakable(source)}</dd></div>" for label, _, source in labelled)
    judged = entry.judgement
    verdict = f'<strong class="il-verdict il-{judged.verdict}">{VERDICTS[judged.verdict]}</strong>'
    head = f'<span class="il-says">“{UNIT.sub(NARROW, escape(entry.says))}”</span> <span class="il-of">{figures}</span> {verdict}'
    why = mark("".join(f"<p>{_glued(text)}</p>" for text in (judged.sentence, entry.why) if text))
    return f'<details class="il-claim"><summary>{head}</summary><div class="il-why">{why}<dl>{sources}</dl></div></details>'


def _figures(entry: Claim, local: LocalFigure | None) -> Iterator[tuple[str, str, str]]:
    """What the column is called, the figure, and where it comes from."""
    yield "Claim", escape(entry.claimed), _said_by(entry)
    read, origin = entry.measured, entry.origin
    judges = read is not None and not read.differs
    same = read is not None and judges and math.isclose(read.value, entry.computed, rel_tol=1e-3)
    divides = "/" in entry.expression and names(entry.expression) & PUBLISHED
    if origin is None and not (same and divides):  # else it would show the same division twice
        yield "Model", dress(entry.model), "ironlaw, computed now from the registry"
    elif origin is not None and not (read is not None and judges and read.kind == origin.kind):
        yield COLUMNS[origin.kind], dress(entry.model), origin.source
    if read is not None:
        beside = f" It is shown for comparison and does not decide the verdict. {read.differs}" if read.differs else ""
        column = OTHER_CASE if read.differs else COLUMNS[read.kind]
        yield column, dress(entry.figure(read.value)), f"{read.source}.{beside}"
    if local is not None:
        yield LOCAL_COLUMN, dress(shown(local.value, local.unit)), local.source


def _said_by(entry: Claim) -> str:
    """Where the wording is ours, that is said: nobody can look it up."""
    return f"{OFTEN_SAID}, {entry.date}" if "ours" in entry.who else f"{entry.who}; {entry.source}, {entry.date}"


def _breakable(text: str) -> str:
    """With places where a long name such as `h200_sxm/models_more` may be broken."""
    return BREAKS.sub(r"\1<wbr>", _glued(text))


def _glued(text: str) -> str:
    return whole_names(UNIT.sub(NARROW, EQUALS.sub("\u00a0\\1\u00a0", escape(text))))


def measured(name: str, what: str = "") -> str:
    """A claim's reading for a receipt, as inline HTML: the figure, what it is of, and on hover where it comes from."""
    reading = claim(name).measured
    if reading is None:
        return NOT_MEASURED
    return f'{dress(shown(reading.value, reading.unit), reading.source)} <span class="il-quiet">{escape(what)}</span>'
