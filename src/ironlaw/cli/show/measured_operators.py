"""What `ironlaw measure --for` shows: the model's time before and after, and the operators that were furthest off."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ironlaw.cli.show import draw
from ironlaw.engine.device.prediction import Prediction
from ironlaw.units import show

if TYPE_CHECKING:
    from ironlaw.backends.rows import Row
    from ironlaw.systems.model_operators import MeasuredOperators, Operator

SHOWN = 8  # operators


def seconds_of(row: Row) -> float:
    return float(row.busy_s or row.wall_s or 0.0)


def report(measured: MeasuredOperators) -> None:
    from ironlaw.systems.captures import file_of  # once something is drawn

    machine = measured.before.hardware
    draw.heading(file_of(measured.target), f"on {machine.name}")
    furthest = sorted(measured.timed, key=lambda pair: -_matters(*pair))[:SHOWN]
    rows = [
        (one.params["kind"], str(one.count), show(one.seconds, "s"), show(seconds_of(row), "s"), f"{one.share:.0%}")
        for one, row in furthest
    ]
    draw.table(["operator", "times", "predicted", "measured", "share"], rows, left=("operator",))
    pairs = [("predicted before", _range(measured.before))]
    if measured.after is not None:
        pairs.append(("predicted now", _range(measured.after)))
    pairs.append(("measured", f"{len(measured.rows)} of {len(measured.found)} operators, {measured.share:.0%} of the predicted time"))
    draw.pairs([*pairs, ("stored", measured.stored)])
    for note in notes(measured):
        draw.say(note, draw.DIM)
    draw.say(
        f"Predictions of this model with `--on this` now rest on these. Compare with a run: ironlaw measure {measured.target}", draw.STRONG
    )


def notes(measured: MeasuredOperators) -> list[str]:
    said = ["Stopped early: what was measured until then is stored."] if measured.interrupted else []
    said += [f"{kind} can't be called alone here: {why}" for kind, why in measured.failed.items()]
    silent = sum(one.call is None for one in measured.found)
    if silent:
        said.append(f"{silent} of the operators can't be called alone, such as one that is part of a larger call; they stay as they were.")
    if measured.disturbed:
        said.append(
            f"{measured.disturbed} operators are not stored: other processes used the machine meanwhile. --force stores their best call."
        )
    if measured.minute is not None:
        now, then = measured.minute
        said.append(f"An operator is now off by {_percent(now)} on average; as much time again would make that {_percent(then)}.")
    return said


def _percent(sd: float) -> str:
    return f"{math.expm1(sd):.0%}"


def _matters(one: Operator, row: Row) -> float:
    """How much the model's time changes with this operator."""
    return one.share * abs(seconds_of(row) / one.seconds - 1.0)


def _range(prediction: Prediction) -> str:
    low, high = prediction.interval or (0.0, math.inf)
    return f"{show(float(prediction.seconds), 's')}, in four runs of five {show(float(low), 's')} to {show(float(high), 's')}"


def as_json(measured: MeasuredOperators) -> dict[str, Any]:
    def told(prediction: Prediction | None) -> dict[str, Any] | None:
        if prediction is None:
            return None
        return {
            "seconds": float(prediction.seconds),
            "busy_s": float(prediction.busy_s),
            "interval": [float(end) for end in prediction.interval or ()],
        }

    return {
        "target": measured.target,
        "before": told(measured.before),
        "after": told(measured.after),
        "operators": [
            {"kind": one.params["kind"], "count": one.count, "share": one.share, "predicted_s": one.seconds, "measured_s": seconds_of(row)}
            for one, row in measured.timed
        ],
        "found": len(measured.found),
        "share": measured.share,
        "failed": measured.failed,
        "disturbed": measured.disturbed,
        "another_minute": None if measured.minute is None else {"now": measured.minute[0], "then": measured.minute[1]},
        "interrupted": measured.interrupted,
        "stored": measured.stored,
    }
