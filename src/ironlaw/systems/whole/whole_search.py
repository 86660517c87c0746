"""Ways out: the single dial that turns least and cures a constraint, and the nearest design that meets all of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations, product
from typing import Any

from ironlaw.engine.levers import Fix, cheapest_fix
from ironlaw.systems.fields import parameters
from ironlaw.systems.whole.design import Design, Faster
from ironlaw.systems.whole.report import TBT, TTFT, evaluate
from ironlaw.systems.whole.whole_limits import LIMITS, broken
from ironlaw.systems.whole.whole_serving import answered, hopeless, served, spent

# where the dials stop
DIALS: Mapping[str, tuple[Any, ...]] = {name: one.stops for name, one in parameters(Design).items()}
LAYOUT = ("gpus", "tensor", "pipeline", "context", "virtual", "recompute", "zero", "nics", "thin", "scattered")
SAVES = ("saving", "near", "near_every", "far_every")
SERVER = ("replicas", "most", "budget", "hedge", "retries", "group", "weights", "cache")
BILL = (*LAYOUT, *SAVES, "group", "replicas", "spares")
# constraint -> the dials that its readout depends on
MOVES: Mapping[str, tuple[str, ...]] = {
    "memory": (*LAYOUT, *SERVER), "days": (*LAYOUT, *SAVES), "goodput": ("gpus", *SAVES), "drain": SAVES, "ports": ("gpus", "thin"),
    "ttft": SERVER, "tbt": SERVER, "availability": ("replicas", "retries", "spares", "group"), "hours": BILL, "energy": (*BILL, "hall"),
    "carbon": (*BILL, "hall"), "epsilon": ("noise",),
}  # fmt: skip
STEP = math.log(2)  # the cost of turning a dial that has no ratio
HEAVY = {"group": 2.0, "weights": 2.0, "cache": 2.0, "recompute": 2.0}  # dials that change more than an amount
RUN = ("gpus", "tensor", "pipeline", "virtual", "recompute", "thin", "scattered", "saving", "far_every", "hall")  # those of `nearest`


def turned(design: Design, dial: str, value: Any) -> Design:
    change: dict[str, Any] = {dial: value}
    return replace(design, **change)


def cost(design: Design, dial: str, value: Any) -> float:
    """How far a dial turns: |ln(new / old)| for amounts, and as much as doubling for each stop of the others."""
    now, times = getattr(design, dial), HEAVY.get(dial, 1.0)
    if isinstance(now, (int, float)) and isinstance(value, (int, float)) and now > 0 and value > 0 and dial != "hedge":
        return times * abs(math.log(value / now))
    stops = DIALS[dial]
    return times * STEP * abs(stops.index(value) - (stops.index(now) if now in stops else 0))


@lru_cache(maxsize=1024)
def fix(design: Design, constraint: str) -> tuple[str, Any] | None:
    """The dial and the value: the least turn with which the constraint holds and nothing breaks that held."""
    before = set(broken(evaluate(design)))

    def holds(places: Mapping[str, float]) -> bool:
        moved = [(dial, DIALS[dial][int(place) - 1]) for dial, place in places.items() if place]
        dial, value = moved[0]
        if constraint == "availability" and not _is_up(turned(design, dial, value)):
            return False  # no need to serve anybody
        report = evaluate(turned(design, dial, value))
        after = set(broken(report))
        return not report.refusal and constraint not in after and after <= before

    def turn(dial: str, place: float) -> float:
        return cost(design, dial, DIALS[dial][int(place) - 1])

    dials = {dial: [place for place, value in enumerate(DIALS[dial], 1) if value != getattr(design, dial)] for dial in MOVES[constraint]}
    found: Fix | None = cheapest_fix(holds, dict.fromkeys(dials, 0.0), dials, turn)
    return None if found is None else (found.dial, DIALS[found.dial][int(found.value) - 1])


@lru_cache(maxsize=64)
def nearest(design: Design) -> Design | None:
    """A design that meets all constraints with the fewest dials turned, and those the least: servers first, for they share no constraint
    with the run but the bill, then the run and its hall. None where three dials of each do not do."""
    if not broken(evaluate(design)):
        return design
    served = _first(design, ("replicas", "spares", "retries", "budget", "most"), _serving())
    private = next((turned(served, "noise", value) for value in _by_cost(served, "noise") if _is_private(value)), None) if served else None
    if private is None:
        return None
    return _first(private, RUN, lambda candidate: not (report := evaluate(candidate)).refusal and not broken(report))


def _serving() -> Callable[[Design], bool]:
    """Whether servers keep their times, the cheap parts first: a simulation only where enough replicas are up and none failed with less
    to do, and a long one only where a short one leaves hope."""
    slow: list[Design] = []

    def serves(design: Design) -> bool:
        if not _is_up(design) or any(_asks_more(design, than=one) for one in slow):
            return False
        if hopeless(design, TTFT, TBT) or not _in_time(design):
            slow.append(design)
            return False
        return True

    return serves


def _asks_more(design: Design, than: Design) -> bool:
    """Whether each replica asks for more, with steps of the same size."""
    alike = (design.budget, design.most) == (than.budget, than.most)
    return alike and design.replicas <= than.replicas and design.retries >= than.retries


def _in_time(design: Design) -> bool:
    times = served(design)
    return LIMITS["ttft"].holds(times.ttft) and LIMITS["tbt"].holds(times.tbt)


def _is_up(design: Design) -> bool:
    return LIMITS["availability"].holds(answered(design, Faster()))


def _is_private(noise: float) -> bool:
    return LIMITS["epsilon"].holds(spent(noise))


def _by_cost(design: Design, dial: str) -> list[Any]:
    return sorted(DIALS[dial], key=lambda value: cost(design, dial, value))


def _first(design: Design, dials: Sequence[str], meets: Callable[[Design], bool]) -> Design | None:
    candidates = (replace(design, **changes) for changes in _changes(design, dials))
    return next((candidate for candidate in candidates if meets(candidate)), None)


def _changes(design: Design, dials: Sequence[str]) -> Iterator[dict[str, Any]]:
    """None, one, two, then three dials turned; of as many, the least turned first."""
    stops = {dial: [value for value in DIALS[dial] if value != getattr(design, dial)] for dial in dials}
    for count in range(4):
        turns = [
            dict(zip(chosen, values, strict=True))
            for chosen in combinations(dials, count)
            for values in product(*(stops[dial] for dial in chosen))
        ]
        yield from sorted(turns, key=lambda change: sum(cost(design, dial, value) for dial, value in change.items()))


def snapped(dial: str, value: Any) -> Any:
    """The stop of a dial that is nearest to a value; None where it is not a value of this dial."""
    stops = DIALS[dial]
    if value in stops and not isinstance(value, bool):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not all(isinstance(stop, (int, float)) for stop in stops):
        return None
    if not math.isfinite(value) or value < 0:
        return None
    amounts = value > 0 and min(stops) > 0
    return min(stops, key=lambda stop: abs(math.log(stop / value)) if amounts else abs(stop - value))


assert set(MOVES) == set(LIMITS)
