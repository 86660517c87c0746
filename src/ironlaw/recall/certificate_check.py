"""Whether a certificate follows from a ledger: every fact is computed again from the same events, the first so many that it names, which
end with the hash that it names.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from ironlaw.errors import BadExport
from ironlaw.ledger import export_format
from ironlaw.ledger.events import OUR_TIME
from ironlaw.recall.certificate_facts import SCHEMA, facts
from ironlaw.recall.certificate_words import statement

ABOUT = ("schema", "ironlaw", "issued")  # no event says them
FORMS = (
    ("ironlaw", re.compile(r"[0-9][0-9A-Za-z.+-]{0,40}"), "1.0"),
    ("issued", OUR_TIME, "2026-01-31T12:00:00.000000Z"),
)
KEYS = ("lab", "question", "experiment", "confidence")  # by which an entry of a list is named
NEXT = "give one that the certificate page or `ironlaw ledger certificate` wrote"
EXPORT_NEXT = "give a file that `ironlaw ledger export` wrote"


def differences(certificate: Any, export: Any) -> list[str]:
    """What of a certificate does not follow from an export's events, each by its place; empty if all of it does."""
    chain = _chain(certificate)
    if not isinstance(export, dict) or not isinstance(export.get("events"), list):
        raise BadExport(f"the file to check it against is not an export of a ledger; {EXPORT_NEXT}")
    have = len(export["events"])
    if chain["events"] > have:
        return [f"it was issued after {chain['events']:,} events, and the ledger has {have:,}: an older copy, or another ledger"]
    stated = {name: value for name, value in certificate.items() if name not in ABOUT}
    return [*_about(certificate), *_compare(stated, statement() | facts(export, chain["events"]), "")]


def _about(certificate: dict[str, Any]) -> Iterator[str]:
    """What no event holds can't be checked; that it is a date and a version, and no claim of another kind, can."""
    for name, form, example in FORMS:
        value = certificate.get(name)
        if not isinstance(value, str) or not form.fullmatch(value):
            yield f"{name}: {_show(value)} is not what ironlaw writes there, such as {example}"


def _chain(certificate: Any) -> dict[str, Any]:
    if not isinstance(certificate, dict) or certificate.get("schema") != SCHEMA:
        raise BadExport(f"this is not a certificate ({SCHEMA}); {NEXT}")
    if fault := export_format.CHAIN.fault(certificate.get("chain"), "chain"):
        raise BadExport(f"the certificate can't be read: {fault}; {NEXT}")
    chain: dict[str, Any] = certificate["chain"]
    return chain


def _compare(stated: Any, true: Any, place: str) -> Iterator[str]:
    if isinstance(stated, dict) and isinstance(true, dict):
        for name in dict.fromkeys((*true, *stated)):
            where = f"{place}.{name}" if place else name
            if name not in true:
                yield f"{where}: nothing in the ledger says so"
            elif name not in stated:
                yield f"{where}: missing from the certificate"
            else:
                yield from _compare(stated[name], true[name], where)
    elif isinstance(stated, list) and isinstance(true, list):
        if len(stated) != len(true):
            yield f"{place}: the certificate has {len(stated)} entries, the ledger {len(true)}"
        for index, (one, other) in enumerate(zip(stated, true, strict=False), 1):
            yield from _compare(one, other, f"{place}[{_key(other, index)}]")
    elif not _same(stated, true):
        yield f"{place}: the certificate says {_show(stated)}, the ledger {_show(true)}"


def _key(entry: Any, index: int) -> Any:
    return next((entry[key] for key in KEYS if key in entry), index) if isinstance(entry, dict) else index


def _same(one: Any, other: Any) -> bool:
    """Floats to nine digits: a browser's square root may differ in the last one."""
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in (one, other))
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12) if numbers else type(one) is type(other) and one == other


def _show(value: Any) -> str:
    text = "nothing" if value is None else "yes" if value is True else "no" if value is False else repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"
