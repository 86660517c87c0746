"""Act II's task: what a design is held to, and the dials that it may use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from ironlaw import kit
from ironlaw.labs.lab_v2_17_synthesis.act2.dialled import LABELS, design_of
from ironlaw.labs.lab_v2_17_synthesis.act2.readings import NAMES
from ironlaw.systems.limits import Limit, fail, good
from ironlaw.systems.whole import Report, broken, evaluate
from ironlaw.systems.whole.whole_search import MOVES, nearest


def _report(lab: kit.Lab, values: Mapping[str, Any]) -> Report:
    return evaluate(design_of(values))


def _breaks(name: str) -> Callable[[Report], bool]:
    return lambda report: name in broken(report)


def _turns(lab: kit.Lab, values: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Servers and the run share few limits, so the system's own search takes them one after the other."""
    design = design_of(values)
    way = nearest(design)
    if way is None:
        return None
    before = asdict(design)
    return {dial: float(value) if isinstance(value, int) else value for dial, value in asdict(way).items() if value != before[dial]}


def _constraint(name: str) -> Limit:
    return fail(name, f"Limit broken: {NAMES[name]}", _breaks(name))


LIMITS = (
    fail("indivisible", "The layout doesn't divide", lambda report: bool(report.refusal)),
    *(_constraint(name) for name in NAMES),
    good("works", "All limits hold"),
)
GOAL = kit.Goal(_report, LIMITS, tuple(LABELS), nearest=_turns, drivers=MOVES, tight=True)


def task(lab: kit.Lab) -> dict[str, object]:
    return {"limits": len(NAMES)}
