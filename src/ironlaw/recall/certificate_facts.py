"""`ironlaw-certificate/1`: what a ledger says of its learner. Every fact is computed from the events of an export with its chain.

All epochs count. Whether such a file follows from a ledger: certificate_check.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from ironlaw.errors import BadExport
from ironlaw.ledger import KINDS, Event, export_format
from ironlaw.ledger.chain import genesis
from ironlaw.ledger.events import now, payload_fault
from ironlaw.recall.certificate_words import statement
from ironlaw.recall.confidence import predictions
from ironlaw.recall.learner_calibration import brier, calibration
from ironlaw.recall.record import REVIEW, answers

SCHEMA = "ironlaw-certificate/1"


def issue(export: dict[str, Any], version: str) -> dict[str, Any]:
    """The certificate of a ledger as it stands. `version`: of ironlaw."""
    return {"schema": SCHEMA, "ironlaw": version, "issued": now(), **statement(), **facts(export)}


def facts(export: dict[str, Any], count: int | None = None) -> dict[str, Any]:
    """What follows from the first `count` events of an export; all of them without it."""
    every = export_format.unpack(export)
    if export["format"] != export_format.FORMAT:
        raise BadExport("this export has no chain, so nothing can be certified from it; export again from the ledger itself")
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
        "imported": _imported(every[:count], learner),
        "resets": sum(event.kind == "reset" and event.learner == learner for event in events),
        "labs": [_lab(lab, events) for lab in dict.fromkeys(event.lab for event in events if event.lab not in ("", REVIEW))],
        "calibration": _calibration(events),
        "review": {"answers": len(reviews), "right": sum(review.correct for review in reviews)},
        "measured": list(_measured(events)),
    }


def _imported(events: Sequence[Event], owner: str) -> list[dict[str, Any]]:
    """What came from other ledgers, which may be the learner's own or a friend's."""
    others = Counter(event.learner for event in events if event.learner != owner)
    committed = Counter(event.learner for event in events if event.kind == "prediction")
    return [{"learner": learner, "events": many, "predictions": committed[learner]} for learner, many in others.items()]


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
