"""registry/outcomes/*_gains.json: how measured gains came out beside predicted ones. What a gain's interval adds to its operators' and
launches' own doubt is fitted to them (`engine.advice.gain.FITTED`)."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from ironlaw.calibration.scatter import ENOUGH, SHARE, quantile
from ironlaw.engine.advice.gain import REPEATS
from ironlaw.engine.device.uncertainty import FOUR_IN_FIVE
from ironlaw.registry.loader import folder
from ironlaw.systems.accuracy.measured_gains import MeasuredGain


class GainOutcome(NamedTuple):
    model: str
    change: str
    error: float  # log(measured / predicted)
    sd: float
    unseen: bool = False  # drawn by seed and measured before anybody looked


def outcomes(gains: Iterable[MeasuredGain], unseen: bool = False) -> list[GainOutcome]:
    """The outcomes, without those that hold an operator of unknown time."""
    known = [one for one in gains if math.isfinite(one.sd)]
    return [
        GainOutcome(one.model.partition(" batch ")[0], one.change, round(-math.log1p(one.error), 4), round(one.sd, 4), unseen)
        for one in known
    ]


def scale(mine: Sequence[GainOutcome]) -> float:
    """κ: times its sd within which four gains in five should fall, every model counted once, and one more than there are."""
    runs = Counter(one.model for one in mine)
    scores = [(reach(one), 1.0 / runs[one.model]) for one in mine]
    return round(max(quantile(scores, SHARE * (len(runs) + 1.0)), 1.0), 2)


def reach(one: GainOutcome) -> float:
    """The κ from which on the interval holds it."""
    beyond = (one.error / FOUR_IN_FIVE) ** 2 - REPEATS**2
    return math.sqrt(max(beyond, 0.0)) / one.sd


def by_change(outcomes: Iterable[GainOutcome]) -> dict[str, list[GainOutcome]]:
    """Changes that enough models were measured with: of each, those that were unseen, or all where these are too few."""
    changes: dict[str, list[GainOutcome]] = {}
    for one in outcomes:
        changes.setdefault(one.change, []).append(one)
    judges = {change: _judges(mine) for change, mine in sorted(changes.items())}
    return {change: mine for change, mine in judges.items() if mine}


def _judges(mine: list[GainOutcome]) -> list[GainOutcome]:
    return next((some for some in ([one for one in mine if one.unseen], mine) if len({one.model for one in some}) >= ENOUGH), [])


def left_out(mine: Sequence[GainOutcome]) -> tuple[int, int]:
    """How many of how many lie inside what the other models say."""
    inside = sum(reach(one) <= scale([other for other in mine if other.model != one.model]) for one in mine)
    return inside, len(mine)


def path(slug: str) -> Path:
    return folder("outcomes") / f"{slug}_gains.json"


def stored(slug: str) -> list[GainOutcome]:
    return [GainOutcome(**one) for one in json.loads(path(slug).read_text())]


def write(slug: str, outcomes: Iterable[GainOutcome]) -> None:
    lines = [json.dumps(one._asdict()) for one in sorted(outcomes)]
    path(slug).write_text("[\n" + ",\n".join(lines) + "\n]\n")
