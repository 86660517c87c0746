"""What collectives take by the α–β model: each step costs α seconds and its bytes over β; the steps and bytes are the algorithm's.

all-reduce   ring            2(N−1)·α + 2(N−1)/N · M/β
             binomial        2⌈log₂N⌉·(α + M/β)
             double tree     2⌈log₂N⌉·α + 2·M/β, in the limit of small chunks
             rec. doubling   ⌈log₂N⌉·(α + M/β)
             Rabenseifner    2⌈log₂N⌉·α + 2(N−1)/N · M/β
             in-network      2·α + M/β
In chunks of M/2k a double tree takes (2h + k − 1)·(α + 2M/(k·β)) with h = ⌈log₂N⌉, which is least at k = √((2h − 1)·2M/(α·β)).
M is the buffer of one rank before an all-reduce, the whole of all ranks after an all-gather or before a reduce-scatter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ironlaw.engine.arrays import SCALARS, Number, ceil, log2, maximum
from ironlaw.engine.device.types import check_positive
from ironlaw.errors import BadValue, unknown

KINDS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast")
BEST = "best"  # chunks of the size that takes least time
POWERS_OF_TWO = ("rabenseifner",)  # these are written for 2, 4, 8, … ranks


@dataclass(frozen=True, slots=True)
class Terms:
    """Seconds of steps and seconds of bytes."""

    latency: Number
    bandwidth: Number

    @property
    def total(self) -> Number:
        return self.latency + self.bandwidth

    def __add__(self, other: Terms) -> Terms:
        return Terms(self.latency + other.latency, self.bandwidth + other.bandwidth)


@dataclass(frozen=True, slots=True)
class Wires:
    """What an algorithm runs on. `inner` figures are of the links inside a node of `per_node` ranks."""

    n: Number
    size: Number
    alpha: Number
    beta: Number
    per_node: int = 1
    alpha_inner: Number = 0.0
    beta_inner: Number = 0.0
    chunk: Number | str | None = None

    @property
    def levels(self) -> Number:
        return ceil(log2(self.n))

    @property
    def share(self) -> Number:
        """(N−1)/N."""
        return (self.n - 1) / self.n

    @property
    def seconds(self) -> Number:
        """M/β."""
        return self.size / self.beta


def _star(w: Wires) -> Terms:
    """The root takes in every other rank's buffer, then sends the sum to each."""
    return Terms(2 * (w.n - 1) * w.alpha, 2 * (w.n - 1) * w.seconds)


def _ring(w: Wires) -> Terms:
    return Terms(2 * (w.n - 1) * w.alpha, 2 * w.share * w.seconds)


def _half_ring(w: Wires) -> Terms:
    return Terms((w.n - 1) * w.alpha, w.share * w.seconds)


def _binomial(w: Wires) -> Terms:
    return Terms(2 * w.levels * w.alpha, 2 * w.levels * w.seconds)


def _double_tree(w: Wires) -> Terms:
    """Two trees with half of M each, reduced up and sent down in k chunks: (2h + k − 1)·(α + 2M/(k·β)); without a chunk, its limit."""
    if w.chunk is None:
        return Terms(2 * w.levels * w.alpha, 2 * w.seconds * (w.n > 1))
    count = maximum(1.0, _best_count(2 * w.levels - 1, 2 * w.seconds, w.alpha) if w.chunk == BEST else w.size / 2 / w.chunk)
    slots = 2 * w.levels + count - 1
    return Terms(slots * w.alpha * (w.n > 1), slots * 2 * w.seconds / count * (w.n > 1))


def _best_count(others: Number, seconds: Number, alpha: Number) -> Number:
    """k where (k + others)·(α + x/k) is least: √(others·x/α)."""
    return (maximum(0.0, others) * seconds / alpha) ** 0.5


def _recursive_doubling(w: Wires) -> Terms:
    """Ranks beyond a power of two hand theirs over first and get the sum at the end: two steps more."""
    steps = w.levels + _odd(w.n)
    return Terms(steps * w.alpha, steps * w.seconds)


def _odd(n: Number) -> Number:
    """1 where n is not a power of two: ⌈log₂n⌉ + 1 = ⌊log₂n⌋ + 2."""
    return 1.0 * (2.0 ** ceil(log2(n)) != n)


def _rabenseifner(w: Wires) -> Terms:
    return Terms(2 * w.levels * w.alpha, 2 * w.share * w.seconds)


def _two_level(w: Wires) -> Terms:
    """Reduce-scatter inside a node, a ring of the shares between nodes, all-gather inside."""
    nodes = w.n / w.per_node
    inside = _half_ring(Wires(w.per_node, w.size, w.alpha_inner, w.beta_inner))
    return inside + _ring(Wires(nodes, w.size / w.per_node, w.alpha, w.beta)) + inside


def _in_network(w: Wires) -> Terms:
    """The switch adds: each rank sends its buffer once and gets the sum once, both ways at the same time."""
    return Terms(2 * w.alpha * (w.n > 1), w.seconds * (w.n > 1))


def _halving(w: Wires) -> Terms:
    return Terms(w.levels * w.alpha, w.share * w.seconds)


def _bruck(w: Wires) -> Terms:
    """Half of the buffer in each of log₂N steps."""
    return Terms(w.levels * w.alpha, w.levels * w.seconds / 2)


def _tree_down(w: Wires) -> Terms:
    return Terms(w.levels * w.alpha, w.levels * w.seconds)


def _chain(w: Wires) -> Terms:
    """A broadcast down a line of ranks, in chunks so small that only their number of hops is felt."""
    if w.chunk is None:
        return Terms((w.n - 1) * w.alpha, w.seconds * (w.n > 1))
    count = maximum(1.0, _best_count(w.n - 2, w.seconds, w.alpha) if w.chunk == BEST else w.size / w.chunk)
    slots = (w.n - 2 + count) * (w.n > 1)
    return Terms(slots * w.alpha, slots * w.seconds / count)


ALGORITHMS: dict[str, dict[str, Callable[[Wires], Terms]]] = {
    "all_reduce": {
        "star": _star, "ring": _ring, "binomial": _binomial, "double_tree": _double_tree, "recursive_doubling": _recursive_doubling,
        "rabenseifner": _rabenseifner, "two_level": _two_level, "in_network": _in_network,
    },
    "all_gather": {"ring": _half_ring, "recursive_doubling": _halving},
    "reduce_scatter": {"ring": _half_ring, "recursive_halving": _halving},
    "all_to_all": {"pairwise": _half_ring, "bruck": _bruck},
    "broadcast": {"binomial": _tree_down, "chain": _chain},
}  # fmt: skip


def time(
    kind: str,
    algorithm: str,
    n: Number,
    size: Number,
    alpha: Number,
    beta: Number,
    per_node: int = 1,
    beta_inner: Number | None = None,
    alpha_inner: Number | None = None,
    chunk: Number | str | None = None,
) -> Terms:
    """Seconds of a collective over `n` ranks: α seconds per step, β bytes per second and direction. One rank takes no time.

    `chunk`: bytes of the pieces of a pipeline, or BEST; None: so small that only their number of hops is felt.
    """
    if isinstance(chunk, str) and (chunk != BEST or not alpha > 0):
        raise BadValue(f"chunks of {chunk!r} with α = {alpha!r}; give bytes, or {BEST!r} with an α above 0", "chunk")
    law = algorithms(kind).get(algorithm)
    if law is None:
        raise unknown(f"algorithm for {kind}", algorithm, ALGORITHMS[kind], field="algorithm")
    _check(algorithm, n, size, alpha, beta, per_node)
    return law(Wires(n, size, alpha, beta, per_node, alpha if alpha_inner is None else alpha_inner, beta_inner or beta, chunk))


def algorithms(kind: str) -> dict[str, Callable[[Wires], Terms]]:
    if kind not in ALGORITHMS:
        raise unknown("collective", kind, KINDS, field="kind")
    return ALGORITHMS[kind]


def _check(algorithm: str, n: Number, size: Number, alpha: Number, beta: Number, per_node: int) -> None:
    check_positive("ranks", n)
    check_positive("message", size, zero=True)
    check_positive("α", alpha, zero=True)
    check_positive("β", beta)
    if algorithm in POWERS_OF_TWO and isinstance(n, SCALARS) and 2 ** round(math.log2(n)) != n:
        raise BadValue(f"{algorithm} needs a power of two ranks, such as {2 ** int(math.log2(n))}, not {n}", "n")
    if algorithm == "two_level" and isinstance(n, SCALARS) and n % per_node:
        raise BadValue(f"{n} ranks do not fill nodes of {per_node}; give a multiple of {per_node}", "n")


BUS = {"all_reduce": 2.0, "all_gather": 1.0, "reduce_scatter": 1.0, "all_to_all": 1.0}  # × (N−1)/N, as nccl-tests has it; a broadcast: 1


def bus_factor(kind: str, n: Number) -> Number:
    """Bus over algorithm bandwidth: bytes that each wire must carry, over the message."""
    algorithms(kind)
    return BUS[kind] * (n - 1) / n if kind in BUS else 1.0


def algorithm_bandwidth(size: Number, seconds: Number) -> Number:
    return size / seconds


def bus_bandwidth(kind: str, n: Number, size: Number, seconds: Number) -> Number:
    """A convention that makes collectives of any N comparable with a wire; in-network sums may exceed the wire."""
    return bus_factor(kind, n) * size / seconds


def least(kind: str, n: Number, size: Number, alpha: Number, beta: Number, in_network: bool = False) -> Number:
    """No algorithm over wires of β is faster: information takes log₂N steps, and each wire must carry its bytes."""
    carried = size / beta * (n > 1) if in_network else bus_factor(kind, n) * size / beta
    return carried if in_network else maximum(ceil(log2(n)) * alpha, carried)


def crossover(a: str, b: str, n: int, alpha: float, beta: float, kind: str = "all_reduce", **wires: Any) -> float:
    """The message from which algorithm `a` is at least as fast as `b`; inf where it never is, 0 where it always is.

    `wires`: what `time` takes besides, such as `chunk`.
    """

    def ahead(size: float) -> bool:
        first = time(kind, a, n, size, alpha, beta, **wires).total
        return bool(first <= time(kind, b, n, size, alpha, beta, **wires).total * (1 + 1e-15))

    low, high = 1e-6, 1e24
    if ahead(low):
        return 0.0
    if not ahead(high):
        return math.inf
    for _ in range(200):
        middle = math.sqrt(low * high)
        if not low < middle < high:
            break
        low, high = (low, middle) if ahead(middle) else (middle, high)
    return high


def fastest(n: int, size: float, alpha: float, beta: float, kind: str = "all_reduce", **wires: float | str) -> str:
    """The algorithm that takes the least time, among those that run on plain wires and this many ranks."""
    power = 2 ** round(math.log2(n)) == n
    names = [name for name in algorithms(kind) if name not in ("in_network", "two_level") and (power or name not in POWERS_OF_TWO)]
    return min(names, key=lambda name: float(time(kind, name, n, size, alpha, beta, chunk=wires.get("chunk")).total))
