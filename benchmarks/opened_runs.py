"""Runs of sealed sets whose models were opened, each with its graph: what intervals are fitted to. Sealed models are left out here,
and so are those whose operators are among the evidence: a curve knows them too well. Sets of own code say nothing of the host here: it was
not the one that the curves belong to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sealed

from ironlaw.engine.device.types import Graph
from ironlaw.tracing.graph_json import from_json


def opened_runs(every: int = 1, sets: int = 1) -> Iterator[tuple[dict[str, Any], Graph]]:
    """A measured row, and what was captured of the model it ran; one that could not be captured has no prediction to judge.
    `every`: the first of that many, and so on, of one in so many `sets`; what is not asked for is not read."""
    number = 0
    for file in sorted(sealed.SETS.glob("*.graphs.json.xz"))[::sets]:
        name = file.name.partition(".")[0]
        seed = int(name.removeprefix("seed-")) if name.startswith("seed-") else name
        kept = sealed.load(seed)
        names, memo = sealed.parts(kept).get(sealed.OPEN, set()), dict[str, Graph]()
        if not names:
            continue
        graphs = sealed.stored(seed)
        for row in kept["rows"]:
            key = sealed.key_of(row)
            if row["model"] not in names or "busy_s" not in row or "error" in graphs.get(key, {"error": ""}):
                continue
            number += 1
            if (number - 1) % every:
                continue
            if key not in memo:
                memo = {key: from_json(graphs[key])}
            yield row if name != seed else {**row, "piped_s": None}, memo[key]
