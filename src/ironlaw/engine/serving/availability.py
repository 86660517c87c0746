"""Availability of what is built from parts: in a row all must work, of n replicas k must, and one cause can take all replicas down."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ironlaw.errors import BadValue


def in_series(parts: Sequence[float]) -> float:
    """All must work, independently: Π a."""
    if not parts:
        raise BadValue("a chain of no parts; name at least one", "parts")
    return math.prod(_share("availability", part) for part in parts)


def replicated(one: float, replicas: int, needed: int = 1, common: float = 0.0) -> float:
    """Equal replicas of which `needed` must work. `common`: the share β of a replica's downtime that hits all of them at once.

    The β-factor model: all are down with probability β·u; apart from that each is down with (1 − β)·u, independently.
    """
    down = 1 - _share("availability", one)
    beta = _share("the common share", common)
    if isinstance(replicas, bool) or not 1 <= needed <= replicas <= 10_000:
        raise BadValue(
            f"{needed!r} of {replicas!r} replicas; give whole numbers, at least one needed and no more than there are", "replicas"
        )
    alone = (1 - beta) * down
    if needed == 1:
        rest = alone**replicas
    else:
        rest = math.fsum(math.comb(replicas, k) * (1 - alone) ** k * alone ** (replicas - k) for k in range(needed))
    return (1 - beta * down) * (1 - rest) if replicas > 1 else one


def downtime(availability: float, span: float = 365.25 * 86400) -> float:
    """Seconds in a year, or in another span, in which it does not answer."""
    return (1 - _share("availability", availability)) * span


def _share(what: str, value: float) -> float:
    if not 0 <= value <= 1:
        raise BadValue(f"{what} is {value!r}; give a share from 0 to 1, such as 0.999")
    return value
