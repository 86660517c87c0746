"""registry/outcomes/*_unseen.json: how models came out that nobody had looked at while rules were made. Intervals are fitted to them.

A run is there as it came out when its model was opened (`first`, the day), which is kept for good, and as it comes out now.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, replace
from pathlib import Path
from typing import Any

from ironlaw.calibration.scatter import Outcome
from ironlaw.engine.device.intervals import HOST
from ironlaw.engine.device.machine import Hardware, Plan
from ironlaw.engine.device.predict import predict
from ironlaw.engine.device.types import Graph
from ironlaw.registry.loader import folder

WAITING = 0.6  # utilisation below which the wall time is mostly the host's
Run = tuple[Mapping[str, Any], Graph]  # a measured row of a sealed set whose model was opened, and the model's graph
Key = tuple[str, str, str]


def outcomes_of(machine: Hardware, runs: Iterable[Run]) -> list[Outcome]:
    """How measured runs come out now, by the kind of model that a prediction is judged by; and the host's where the device mostly waits."""
    with_it = machine.calibration.host if machine.calibration else None  # the host that they ran on, not a typical one
    found = []
    for row, graph in runs:
        p = predict(graph, machine, Plan(mode="compiled" if row["mode"] == "compiled" else "eager", host=with_it))
        assert p.intervals is not None
        run, (apart, together) = f"{row['mode']} {row['dtype']} {row['batch']}", p.intervals.sds
        found.append(Outcome(row["model"], p.kind, math.log(row["busy_s"] / p.busy_s), float(apart), float(together), run))
        if row.get("piped_s") and p.utilization < WAITING:
            found.append(Outcome(row["model"], HOST, math.log(row["piped_s"] / p.seconds), run=run))
    return found


def with_first(now: Sequence[Outcome], stored: Iterable[Outcome], today: str) -> list[Outcome]:
    """Today's outcomes, each beside its first; a new one is its own first."""
    first = {_key(one): one for one in stored if one.first}
    return [*(first.get(_key(one)) or replace(one, first=today) for one in now), *now]


def _key(one: Outcome) -> Key:
    return one.model, one.mode, one.run


def path(slug: str) -> Path:
    return folder("outcomes") / f"{slug}_unseen.json"


def stored_unseen(slug: str) -> list[Outcome]:
    """None where no set was drawn for the machine."""
    return [Outcome(**one) for one in json.loads(path(slug).read_text())] if path(slug).exists() else []


def write_unseen(slug: str, outcomes: Iterable[Outcome]) -> Path:
    lines = [json.dumps({name: _short(value) for name, value in asdict(one).items() if value}) for one in sorted(outcomes, key=astuple)]
    path(slug).write_text("[\n" + ",\n".join(lines) + "\n]\n")
    return path(slug)


def _short(value: str | float) -> str | float:
    return round(value, 5) if isinstance(value, float) else value
