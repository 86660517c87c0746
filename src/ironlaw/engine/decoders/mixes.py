"""The mean block of a decoder whose blocks differ: what training asks of it, added up once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ironlaw.engine.arrays import Number
from ironlaw.engine.decoders.parts import Block, Experts, Product, Scores, active, kinds, parameters


@dataclass(frozen=True, slots=True, eq=False)
class Mix:
    """Blocks that differ, how many there are of each, and means over all of them. `order`: which of them each layer is."""

    kinds: tuple[tuple[Block, int], ...]
    parameters: float
    expert_weights: float
    active: float  # weights that a token is multiplied with
    made: float  # numbers that products make of a token, the feed-forward's of each expert that it takes
    order: tuple[int, ...] = ()

    def score_width(self, seq: Number) -> Number:
        """Heads × (key + value) / 2 × tokens seen, of a token's attention."""
        layers = sum(count for _, count in self.kinds)
        return sum(count * _scores(block, seq) for block, count in self.kinds) / layers


def mix(blocks: Iterable[Block]) -> Mix:
    each = tuple(blocks)
    counts = kinds(each)
    layers, place = sum(counts.values()), {block: i for i, block in enumerate(counts)}

    def mean(count: Callable[[Block], float]) -> float:
        return sum(n * count(block) for block, n in counts.items()) / layers

    return Mix(
        tuple(counts.items()), mean(parameters), mean(_expert_weights), mean(active), mean(_made), tuple(place[block] for block in each)
    )  # fmt: skip


def _scores(block: Block, seq: Number) -> Number:
    return sum(part.heads * (part.key + part.value) / 2 * part.seen(seq) for part in block if isinstance(part, Scores))


def _expert_weights(block: Block) -> int:
    return sum(part.weights for part in block if isinstance(part, Experts))


def _made(block: Block) -> int:
    products = sum(part.out for part in block if isinstance(part, Product) and part.split != "in")
    return products + sum(part.active * part.ffn * (3 if part.gated else 2) for part in block if isinstance(part, Experts))
