"""Words, expectations and rows: where a claim's no longer agree. `ironlaw claims --check` prints what this finds, and CI runs it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ironlaw.claims.expressions import compute, literals
from ironlaw.claims.judging import HOLDS, Claim, Judgement
from ironlaw.claims.premise_words import faults
from ironlaw.claims.reading import readings
from ironlaw.errors import BadRegistry
from ironlaw.slots import hard_coded_figures, numbers

OURS = "ironlaw"  # what this project says itself has to hold
POWER = re.compile(r"\b10([⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
BASES = {"B": (1.0, 2.0**10, 2.0**20, 2.0**30), "s": (1.0, 60.0, 3600.0, 86400.0)}  # what a unit may be written in beside powers of ten
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


def problems(claims: Iterable[Claim]) -> Iterator[str]:
    """Every problem, with its place and the next step."""
    for claim in claims:
        try:
            yield from (f"{claim.where}: {problem}" for problem in _of(claim))
        except BadRegistry as error:
            yield str(error)


def _of(claim: Claim) -> Iterator[str]:
    for source in claim.sources:
        if not readings(source):
            yield "measured matches no row; correct the filter, or take the table out"
    yield from _premises(claim)
    judgement = claim.judgement
    if judgement.verdict != claim.expected:
        yield (
            f"{_basis(judgement)} say {judgement.verdict}, the claim expects {claim.expected}; read `why` again, then correct `expected`. "
            f"{judgement.sentence}"
        )
    elif judgement.premise and set(claim.on) not in [set(keys) for keys in (judgement.premise.on, *judgement.premise.also)]:
        yield f"it depends on {', '.join(judgement.premise.on)}, not on {', '.join(claim.on)}; read `why` again, then correct `on`"
    if claim.who == OURS and judgement.verdict != HOLDS:
        yield f"it is our own claim and {judgement.verdict}; say what is true. {judgement.sentence}"
    yield from _words(claim)


def _premises(claim: Claim) -> Iterator[str]:
    """Premises that a reader would see as names of variables."""
    tables = [*claim.cases, *(reading.premises for source in claim.sources for reading in readings(source))]
    pairs = dict.fromkeys((key, value) for table in tables for key, value in table.items())
    yield from dict.fromkeys(filter(None, (faults(key, value) for key, value in pairs)))


def _basis(judgement: Judgement) -> str:
    return f"{len(judgement.readings)} readings" if judgement.measured else "the computed figures"


def _words(claim: Claim) -> Iterator[str]:
    for fact in claim.facts:
        if not compute(fact, f"{claim.where} facts"):
            yield f"`why` relies on {fact!r}, which is not true; read the rows, and say what is"
    for figure in hard_coded_figures(claim.reason):
        yield f"`why` has {figure!r} typed; write a {{{{ slot }}}} and compute it under `slots`"
    _ = claim.why  # every slot has its value
    known = list(_figures(claim))
    says = POWER.sub(lambda match: str(10 ** int(match[1].translate(SUPERSCRIPTS))), claim.says)
    for text in numbers(says):
        if not any(_same_digits(text, figure, BASES.get(claim.unit, (1.0,))) for figure in known):
            yield f"`says` has {text!r}, which neither the value nor the expression nor the rows know; make them agree"


def _figures(claim: Claim) -> Iterator[float]:
    """The numbers that the claim is computed with."""
    yield claim.value
    if claim.upto is not None:
        yield claim.upto
    yield from literals(claim.expression)
    yield from map(_number, numbers(claim.source))
    for source in claim.sources:
        yield from literals(source.figure)
    tables = [*claim.cases, claim.at, *(wanted for source in claim.sources for wanted in source.rows.values())]
    for table in tables:
        yield from _values(table)


def _values(value: Any) -> Iterator[float]:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        yield float(value)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _values(item)
    elif isinstance(value, Mapping):
        yield from _values(list(value.values()))


def _number(text: str) -> float:
    return float(text.strip("$€ ").replace(",", "").translate(SUPERSCRIPTS))


def _same_digits(text: str, known: float, bases: Iterable[float]) -> bool:
    """Equal as far as it is written, but for a prefix or a unit of time: 15 and 15e-3, 2.7 and 2.667, 512 and 524,288, 23 and 1,987,200."""
    written = _number(text)
    if not written or not known:
        return written == known
    precision = 0.5 * 10 ** -len(text.partition(".")[2]) / written if "." in text else 1e-9
    for base in bases:
        exponent = round(math.log10(abs(known) / base / written))
        if abs(abs(known) / base / 10.0**exponent / written - 1) <= precision:
            return True
    return False
