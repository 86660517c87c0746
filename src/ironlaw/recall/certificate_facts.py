"""`ironlaw-certificate/1`: what a ledger says of its learner, and whether such a file follows from a ledger.

Every fact is computed from the events of an export with its chain, all epochs of it. To verify a certificate is to compute it again from
the same events: the first so many that it names, which end with the hash that it names.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from ironlaw.errors import BadExport
from ironlaw.ledger import KINDS, Event, export_format
from ironlaw.ledger.chain import genesis
from ironlaw.ledger.events import now, payload_fault
from ironlaw.recall.confidence import predictions
from ironlaw.recall.learner_calibration import brier, calibration
from ironlaw.recall.record import REVIEW, answers

SCHEMA = "ironlaw-certificate/1"
ABOUT = ("schema", "ironlaw", "issued")  # no event says them
KEYS = ("lab", "question", "experiment", "confidence")  # by which an entry of a list is named
NEXT = "give one that the certificate page or `ironlaw ledger certificate` wrote"


def issue(export: dict[str, Any], version: str) -> dict[str, Any]:
    """The certificate of a ledger as it stands. `version`: of ironlaw."""
    return {"schema": SCHEMA, "ironlaw": version, "issued": now(), **facts(export)}


def facts(export: dict[str, Any], count: int | None = None) -> dict[str, Any]:
    """What follows from the first `count` events of an export; all of them without it."""
    every = export_format.unpack(export)
    if export["format"] != export_format.FORMAT:
        raise BadExport("this export has no chain, so that nothing can be certified by it; export again from the ledger itself")
    count = len(every) if count is None else count
    learner, since = export["learner"]["id"], export["chain"]["since"]
    head = export["events"][count - 1]["hash"] if count else genesis(learner, since)
    events = [event for event in every[:count] if event.kind in KINDS and not payload_fault(event.kind, event.payload)]
    names = [event.payload["name"] for event in events if event.kind == "named"]
    reviews = answers(events)
    return {
        "learner": {"id": learner, "name": names[-1] or None if names else None},
        "chain": {"since": since, "events": count, "head": head},
        "first": events[0].time if events else None,
        "last": events[-1].time if events else None,
        "resets": sum(event.kind == "reset" and event.learner == learner for event in events),
        "labs": [_lab(lab, events) for lab in dict.fromkeys(event.lab for event in events if event.lab not in ("", REVIEW))],
        "calibration": _calibration(events),
        "review": {"answers": len(reviews), "right": sum(review.correct for review in reviews)},
        "measured": list(_measured(events)),
    }


def differences(certificate: Any, export: dict[str, Any]) -> list[str]:
    """What of a certificate does not follow from an export's events, each by its place; empty if all of it does."""
    chain = _chain(certificate)
    have = len(export.get("events", ()))
    if chain["events"] > have:
        return [f"it was issued after {chain['events']:,} events, and the ledger has {have:,}: an older copy, or another ledger"]
    stated = {name: value for name, value in certificate.items() if name not in ABOUT}
    return list(_compare(stated, facts(export, chain["events"]), ""))


def _chain(certificate: Any) -> dict[str, Any]:
    if not isinstance(certificate, dict) or certificate.get("schema") != SCHEMA:
        raise BadExport(f"this is not a certificate ({SCHEMA}); {NEXT}")
    if fault := export_format.CHAIN.fault(certificate.get("chain"), "chain"):
        raise BadExport(f"the certificate can't be read: {fault}; {NEXT}")
    chain: dict[str, Any] = certificate["chain"]
    return chain


def _lab(lab: str, events: Sequence[Event]) -> dict[str, Any]:
    own = [event for event in events if event.lab == lab]
    reflections: dict[str | None, bool] = {}
    for event in own:
        if event.kind == "reflection":
            reflections.setdefault(event.question, event.payload["correct"])
    saved = next((event for event in reversed(own) if event.kind == "design"), None)
    return {
        "lab": lab,
        "first": own[0].time,
        "saved": saved.time if saved else None,
        "predictions": [
            {"question": p.question, "choice": p.choice, "value": p.value, "confidence": p.confidence, "correct": p.correct, "time": p.time}
            for p in predictions(own)
        ],
        "reflections": {"answers": len(reflections), "right": sum(reflections.values())},
        "design": saved.payload if saved else None,
    }


def _calibration(events: Sequence[Event]) -> dict[str, Any]:
    curve, score = calibration(events), brier(events)
    levels = [
        {
            "confidence": p.confidence, "stated": p.stated, "predictions": p.answers, "right": p.right,
            "interval": list(p.interval) if p.interval else None,
        }
        for p in curve.points
    ]  # fmt: skip
    return {"predictions": curve.answers, "right": curve.right, "levels": levels, "brier": asdict(score) if score else None}


def _measured(events: Sequence[Event]) -> Iterator[dict[str, Any]]:
    """The newest run of each experiment."""
    runs: dict[str, list[Event]] = {}
    for event in events:
        if event.kind == "measured":
            runs.setdefault(event.payload["experiment"], []).append(event)
    for experiment, of in runs.items():
        run = of[-1].payload
        yield {
            "experiment": experiment,
            "lab": of[-1].lab,
            "time": of[-1].time,
            "machine": str(run["machine"].get("cpu", "")),
            "library": str(run.get("library", "")),
            "noisy": bool(run["noise"].get("noisy")),
            "runs": len(of),
            "rows": [_row(row) for row in run["rows"]],
        }


def _row(row: dict[str, Any]) -> dict[str, Any]:
    params = [str(value) for value in row.get("params", {}).values() if isinstance(value, (int, float, str))]
    name = row.get("label") or " ".join([str(row.get("op") or row.get("mode") or row["kind"]), *params])
    return {"name": str(name), "value": row.get("value", row.get("wall_s")), "unit": str(row.get("unit", "s"))}


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
