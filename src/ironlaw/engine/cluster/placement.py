"""Where a scheduler puts the ranks of a job: side by side, scattered, or anything between."""

from __future__ import annotations

from functools import lru_cache

from ironlaw.engine.streams import uniform
from ironlaw.errors import BadValue


@lru_cache(maxsize=128)
def fragmented(hosts: int, share: float, seed: int = 0) -> tuple[int, ...]:
    """Rank i is on host order[i]: a share of the ranks, drawn by the seed, have changed places among themselves."""
    if not 0.0 <= share <= 1.0:
        raise BadValue(f"the share of the ranks is {share!r}; give one between 0 and 1", "share")
    draws, drawn = _drawn(hosts, seed)
    moved = sorted(drawn[: round(share * hosts)])
    order = list(range(hosts))
    for rank, host in zip(moved, sorted(moved, key=lambda rank: draws[hosts + rank]), strict=True):
        order[rank] = host
    return tuple(order)


@lru_cache(maxsize=128)
def _drawn(hosts: int, seed: int) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """Two numbers for each host, and the hosts in the order in which they are chosen: the same for every share."""
    draws = uniform(seed, 2 * hosts)
    return draws, tuple(sorted(range(hosts), key=draws.__getitem__))
