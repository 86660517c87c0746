"""All-reduce step by step: who sends which part of the buffer to whom. Drawn in a lab, executed by a test.

A buffer is cut into `parts(algorithm, n)` equal parts. In one step every send starts from what the ranks held before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from ironlaw.errors import BadValue, unknown


class Send(NamedTuple):
    """`source` sends parts to `target`, which adds them to its own or, at the end, takes them in place of its own."""

    source: int
    target: int
    parts: tuple[int, ...]
    add: bool


Step = tuple[Send, ...]


@dataclass(frozen=True, slots=True)
class Schedule:
    steps: tuple[Step, ...]
    parts: int


def steps(algorithm: str, n: int, per_node: int = 1) -> Schedule:
    """The steps of an all-reduce over n ranks."""
    if algorithm not in SCHEDULES:
        raise unknown("schedule of an all-reduce", algorithm, SCHEDULES, field="algorithm")
    if n < 1:
        raise BadValue(f"{n} ranks; give at least 1", "n")
    return SCHEDULES[algorithm](n, per_node)


def _star(n: int, _: int) -> Schedule:
    up = [(Send(rank, 0, (0,), True),) for rank in range(1, n)]
    return Schedule((*up, *((Send(0, rank, (0,), False),) for rank in range(1, n))), 1)


def _ring_of(ranks: tuple[int, ...], parts: tuple[tuple[int, ...], ...], gather: bool = True, scatter: bool = True) -> list[Step]:
    """A reduce-scatter and an all-gather round a ring; `parts[i]` ends, reduced, at the rank after `ranks[i]`'s predecessor."""
    n = len(ranks)
    rounds = []
    if scatter:
        rounds += [
            tuple(Send(ranks[i], ranks[(i + 1) % n], parts[(i - step) % n], True) for i in range(n) if parts[(i - step) % n])
            for step in range(n - 1)
        ]
    if gather:
        rounds += [
            tuple(Send(ranks[i], ranks[(i + 1) % n], parts[(i + 1 - step) % n], False) for i in range(n) if parts[(i + 1 - step) % n])
            for step in range(n - 1)
        ]
    return rounds


def _ring(n: int, _: int) -> Schedule:
    return Schedule(tuple(_ring_of(tuple(range(n)), tuple((i,) for i in range(n)))), n)


def _binomial(n: int, _: int) -> Schedule:
    up: list[Step] = []
    hop = 1
    while hop < n:
        up.append(tuple(Send(rank, rank - hop, (0,), True) for rank in range(hop, n, 2 * hop)))
        hop *= 2
    down = [tuple(Send(s.target, s.source, (0,), False) for s in step) for step in reversed(up)]
    return Schedule((*up, *down), 1)


def _recursive_doubling(n: int, _: int) -> Schedule:
    whole = 2 ** (n.bit_length() - 1)
    rounds: list[Step] = []
    if n > whole:
        rounds.append(tuple(Send(rank, rank - whole, (0,), True) for rank in range(whole, n)))
    hop = 1
    while hop < whole:
        rounds.append(tuple(Send(rank, rank ^ hop, (0,), True) for rank in range(whole)))
        hop *= 2
    if n > whole:
        rounds.append(tuple(Send(rank - whole, rank, (0,), False) for rank in range(whole, n)))
    return Schedule(tuple(rounds), 1)


def _rabenseifner(n: int, _: int) -> Schedule:
    """Halve what is sent and double the distance; then the same way back."""
    if n & (n - 1):
        raise BadValue(f"rabenseifner needs a power of two ranks, not {n}", "n")
    owned = {rank: tuple(range(n)) for rank in range(n)}
    rounds: list[Step] = []
    hop = n // 2
    while hop:
        halves = {rank: _halves(owned[rank], bool(rank & hop)) for rank in range(n)}
        rounds.append(tuple(Send(rank, rank ^ hop, halves[rank][1], True) for rank in range(n)))
        owned = {rank: halves[rank][0] for rank in range(n)}
        hop //= 2
    hop = 1
    while hop < n:
        rounds.append(tuple(Send(rank, rank ^ hop, owned[rank], False) for rank in range(n)))
        owned = {rank: tuple(sorted((*owned[rank], *owned[rank ^ hop]))) for rank in range(n)}
        hop *= 2
    return Schedule(tuple(rounds), n)


def _halves(parts: tuple[int, ...], upper: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """What a rank keeps and what it gives away."""
    middle = len(parts) // 2
    low, high = parts[:middle], parts[middle:]
    return (high, low) if upper else (low, high)


def _double_tree(n: int, _: int) -> Schedule:
    """Two binary trees, half of the buffer each; the second is the first with the ranks in reverse, so that leaves become inner nodes."""
    up: list[Step] = []
    hop = 1
    while hop < n:
        first = [Send(rank, rank - hop, (0,), True) for rank in range(hop, n, 2 * hop)]
        up.append((*first, *(Send(n - 1 - s.source, n - 1 - s.target, (1,), True) for s in first)))
        hop *= 2
    down = [tuple(Send(s.target, s.source, s.parts, False) for s in step) for step in reversed(up)]
    return Schedule((*up, *down), 2)


def _two_level(n: int, per_node: int) -> Schedule:
    """Rings inside the nodes, then rings of equal places across them, then rings inside again; nodes work at the same time."""
    if n % per_node:
        raise BadValue(f"{n} ranks do not fill nodes of {per_node}; give a multiple of {per_node}", "n")
    nodes = n // per_node
    blocks = tuple(tuple(range(i * nodes, (i + 1) * nodes)) for i in range(per_node))
    inside = [tuple(range(node * per_node, (node + 1) * per_node)) for node in range(nodes)]
    scatter = _together([_ring_of(ranks, blocks, gather=False) for ranks in inside])
    across = []
    for place in range(per_node):
        ranks = tuple(node * per_node + place for node in range(nodes))
        held = blocks[(place + 1) % per_node]
        across.append(_ring_of(ranks, tuple((part,) for part in held)))
    gather = _together([_ring_of(ranks, blocks, scatter=False) for ranks in inside])
    return Schedule((*scatter, *_together(across), *gather), n)


def _in_network(n: int, _: int) -> Schedule:
    """Rank n is the switch: it begins with nothing, adds up what comes in, and sends the sum to all."""
    if n == 1:
        return Schedule((), 1)
    return Schedule((tuple(Send(rank, n, (0,), True) for rank in range(n)), tuple(Send(n, rank, (0,), False) for rank in range(n))), 1)


def _together(rings: list[list[Step]]) -> list[Step]:
    """Steps of several rings at the same time."""
    return [tuple(send for step in at_once for send in step) for at_once in zip(*rings, strict=True)]


SCHEDULES: dict[str, Callable[[int, int], Schedule]] = {
    "star": _star, "ring": _ring, "binomial": _binomial, "recursive_doubling": _recursive_doubling, "rabenseifner": _rabenseifner,
    "double_tree": _double_tree, "two_level": _two_level, "in_network": _in_network,
}  # fmt: skip
