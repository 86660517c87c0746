"""Which cases tell most about what models run: chosen one by one, each for how much it narrows what is left (`shared_errors`).

First come a few of every kind of kernel, so that none is predicted by another's figures alone; then whatever case lowers the variance of
the corpus' operators most, each weighed by its share of the time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from ironlaw.calibration.shared_errors import REPEATS, Side, Trait, covariances, variances

EACH = (0.0, 0.5, 1.0)  # where a kind's first cases lie among all there are, from the shortest to the longest


def first_of_kinds(cases: Sequence[Trait], seconds: Sequence[float]) -> list[int]:
    """The first, the middle and the longest case of each kind of kernel, kinds in the order of their cases."""
    kinds: dict[str, list[int]] = defaultdict(list)
    for i, case in enumerate(cases):
        kinds[case.curve].append(i)
    by_time = [sorted(some, key=seconds.__getitem__) for some in kinds.values()]
    return list(dict.fromkeys(some[round(share * (len(some) - 1))] for share in EACH for some in by_time))


def order(
    cases: Sequence[Trait], targets: Sequence[Trait], shares: Sequence[float], first: Sequence[int], most: int, costs: Any = 1.0
) -> tuple[Any, Any]:
    """(indices of cases, the targets' mean sd after each): `first`, then the most telling ones, `most` together. `costs`: what each case
    takes to time, where one that tells twice as much may take twice as long."""
    import numpy as np

    weights = np.array(shares) / sum(shares)
    sides = Side(cases), Side(targets)
    across = covariances(sides[1], sides[0])
    own, left = (variances(side) for side in sides)
    noise, taken = REPEATS**2, np.zeros((most, len(cases)))
    chosen: list[int] = []
    sds: list[float] = []
    for step in range(min(most, len(cases))):
        if step < len(first):
            at = first[step]
        else:
            gains = (weights @ across**2) / (own + noise) / costs
            gains[chosen] = -1.0
            at = int(np.argmax(gains))
        spread = np.sqrt(own[at] + noise)
        line = (covariances(Side([cases[at]]), sides[0])[0] - taken[:step, at] @ taken[:step]) / spread
        towards = across[:, at] / spread
        across -= np.outer(towards, line)
        taken[step], own, left = line, np.maximum(own - line**2, 0.0), np.maximum(left - towards**2, 0.0)
        chosen.append(at)
        sds.append(float(weights @ np.sqrt(left)))
    return chosen, sds
