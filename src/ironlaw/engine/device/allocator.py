"""PyTorch's caching allocator: what it takes from the GPU for a run's tensors, and whether the run has room.

Sizes are rounded up to 512 bytes. Blocks of at most 1 MiB are cut from segments of 2 MiB, larger ones from segments of 20 MiB, and a block
of 10 MiB or more gets a segment of its own. The smallest free block that is large enough is used before a new segment is asked for, and
what is left of it stays free beside it. Where the GPU has no room, segments that are wholly free go back to it first.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

ROUND, SMALL, LARGE = 512, 2**20, 10 * 2**20  # bytes: of a block; the largest in the small pool; the smallest with a segment of its own
SMALL_SEGMENT, LARGE_SEGMENT, STEP = 2 * 2**20, 20 * 2**20, 2 * 2**20
CALLS = 3  # blocks that a call leaves free are cut otherwise by the next; the third takes what all later ones do


class Block:
    """A part of a segment, between its neighbours. `key`: (bytes, which one), in the order in which free ones are looked through."""

    __slots__ = ("after", "before", "free", "key", "small")

    def __init__(self, size: int, serial: int, small: bool, before: Block | None = None, after: Block | None = None) -> None:
        self.key, self.small, self.free, self.before, self.after = (size, serial), small, False, before, after


class Allocator:
    """`reserved`: bytes of all segments; `peak`: the most there ever were. `take` answers None where the GPU has no room."""

    def __init__(self, limit: float = float("inf")) -> None:
        self.limit, self.reserved, self.peak = limit, 0, 0
        self._free: dict[bool, list[tuple[int, int]]] = {True: [], False: []}
        self._blocks: dict[int, Block] = {}  # the free ones
        self._serial = 0

    def take(self, size: float) -> Block | None:
        rounded = max(ROUND, -(-int(size) // ROUND) * ROUND)
        small = rounded <= SMALL
        free = self._free[small]
        place = bisect_left(free, (rounded, 0))
        if place < len(free):
            block = self._blocks.pop(free.pop(place)[1])
        else:
            segment = SMALL_SEGMENT if small else LARGE_SEGMENT if rounded < LARGE else -(-rounded // STEP) * STEP
            if self.reserved + segment > self.limit:
                self._return_free()
                if self.reserved + segment > self.limit:
                    return None
            self.reserved += segment
            self.peak = max(self.peak, self.reserved)
            self._serial += 1
            block = Block(segment, self._serial, small)
        left = block.key[0] - rounded
        if left >= ROUND if small else left > SMALL:
            self._serial += 1
            rest = Block(left, self._serial, small, block, block.after)
            if block.after:
                block.after.before = rest
            block.key, block.after = (rounded, block.key[1]), rest
            self._offer(rest)
        block.free = False
        return block

    def give(self, block: Block) -> None:
        """The tensor is gone: its block is free, and one with the free ones beside it."""
        for side in (block.before, block.after):
            if side and side.free:
                free = self._free[block.small]
                del free[bisect_left(free, side.key)]
                del self._blocks[side.key[1]]
                block.key = (block.key[0] + side.key[0], block.key[1])
                if side is block.before:
                    block.before = side.before
                    if block.before:
                        block.before.after = block
                else:
                    block.after = side.after
                    if block.after:
                        block.after.before = block
        self._offer(block)

    def _offer(self, block: Block) -> None:
        block.free = True
        self._blocks[block.key[1]] = block
        insort(self._free[block.small], block.key)

    def _return_free(self) -> None:
        """Segments that nothing is in go back to the GPU."""
        for free in self._free.values():
            whole = [key for key in free if not self._blocks[key[1]].before and not self._blocks[key[1]].after]
            for key in whole:
                self.reserved -= key[0]
                free.remove(key)
                del self._blocks[key[1]]


@dataclass(frozen=True)
class Requests:
    """What a run asks of the allocator. `order`: n takes the n-th of `sizes`, ~n gives it back; the first `resident` stay. `first`: the
    order of the first call, where it is another."""

    sizes: tuple[float, ...]
    order: tuple[int, ...]
    resident: int
    first: tuple[int, ...] = ()

    def reserved(self, limit: float = float("inf")) -> int | None:
        """The most that the allocator holds in a few calls; None where one of them has no room."""
        allocator = Allocator(limit)
        held: dict[int, Block] = {}
        for order in (range(self.resident), self.first or self.order, *[self.order] * (CALLS - 1)):
            for one in order:
                if one < 0:
                    allocator.give(held.pop(~one))
                elif (block := allocator.take(self.sizes[one])) is not None:
                    held[one] = block
                else:
                    return None
        return allocator.peak

    @cached_property
    def unlimited(self) -> int:
        return self.reserved() or 0

    def fit(self, limit: float) -> bool:
        """Whether every call has room, with what is returned to the GPU on the way."""
        return self.unlimited <= limit or self.reserved(limit) is not None

    def at(self, sizes: Sequence[float]) -> Requests:
        """The same run with tensors of other sizes."""
        return replace(self, sizes=tuple(sizes))
