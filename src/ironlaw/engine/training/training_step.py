"""A training step, op by op: what lies in memory while each runs.

Forward: an op's outputs appear; what no later op reads goes, unless autograd keeps it. Backward, in reverse: the gradient of each
input appears, that of the output and what was kept for the op go. A gradient that passes an add or a view unchanged is the same memory.
With checkpoints a segment keeps what comes in, whatever autograd would, and runs forward once more before its backward pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import NamedTuple

from ironlaw.engine.arrays import Number, smallest
from ironlaw.engine.training.outline import Outline, Place

PASSES_ON = ("add", "sub", "view", "copy")  # the gradient of an input is that of the output
FORWARD, BETWEEN, AGAIN, BACKWARD = "forward", "between", "again", "backward"
KEPT, HEAD, PASSING = range(3)


class Load(NamedTuple):  # thousands are made at every turn of a dial
    """Bytes while one op runs: kept for backward, of head and loss, passing through, and of the weights' gradients so far."""

    phase: str
    op: str
    kept: Number
    head: Number
    passing: Number
    gradients: Number


class Heap:
    """The activations and gradients that are there."""

    def __init__(self, known: Outline, gradient: float, accumulates: bool, segments: Sequence[range] = ()) -> None:
        self.known, self.gradient, self.accumulates = known, gradient, accumulates
        self.taken = _taken(known, segments)
        self.sums: list[Number] = [0.0, 0.0, 0.0]
        self.gradients: Number = 0.0
        self.rows: dict[str, int] = {}  # memory -> the sum it is in
        self.buffers: dict[str, int] = {}  # memory -> the buffer that its gradient is in
        self.sizes: dict[int, Number] = {}  # of buffers
        self.users: dict[int, int] = {}
        self.views: set[int] = set()  # buffers that autograd adds to elsewhere, since a tensor beside the gradient holds them
        self.ids = count()
        self.done: set[str] = set()  # weights that have a gradient
        for name in known.inputs:
            self._appear(name, KEPT if name in known.kept else PASSING)

    def forward(self, i: int, keeps: bool, until: int, phase: str) -> Load:
        """`keeps`: for the backward pass; else only what is read beyond op `until`, the end of its segment. What a segment hands on is not
        needed a second time."""
        place, known = self.known.places[i], self.known
        row = HEAD if place.head else KEPT
        again = {name for name in place.outputs if phase == AGAIN and known.last[name] > until}
        for name in place.outputs:
            stays = name in known.kept and name not in again and (keeps or known.last[name] > until)
            stays = stays or (phase == FORWARD and name in self.taken)
            self._appear(name, row if stays else PASSING)
        aside = place.aside + place.unpacked
        for name in place.extra:
            if keeps:
                self._appear(name, row)
            else:
                aside = aside + known.sizes[name]
        load = self._load(phase, place, aside)
        for name in (*known.ends.get(i, ()), *again):
            if self.rows.get(name) == PASSING:
                self._go(name)
        return load

    def backward(self, i: int, more: bool = False) -> Iterator[Load]:
        """Nothing where no gradient flows. `more`: another chunk follows, which reads the same hidden states. Gradients of parts of one
        tensor are put together after the op, when what was kept for it is gone, and a mask's gradient is summed over the batch. What is
        added to a view is there with the view and the sum."""
        place = self.known.places[i]
        if not place.flows:
            return
        for name in place.flows:
            if name not in self.buffers:  # nothing reads it further on: the loss, or an output beside it
                self._new(name, self.known.sizes[name])
                self.users[self.buffers[name]] += name in self.known.loss and not more
        temporary: Number = place.unpacked
        for name, elements, size in place.weights:
            temporary = temporary + self._weight(name, elements, size)
        if place.spread:
            temporary = temporary + place.spread - sum(size for _, _, size in place.weights)
        parts = [(name, size) for name, size in place.read if self._part(place, name, size)]
        beside: Number = sum(self.sizes[self.buffers[name]] for name, _ in place.read if self.buffers.get(name) in self.views)
        own = temporary
        for name, size in place.read:
            temporary = temporary + (size if (name, size) in parts else self._contribute(place, name, size))
        yield self._load(BACKWARD, place, temporary)
        if place.first:
            for name in dict.fromkeys(place.flows):
                self._leave(name)
        for name in place.leaves:
            if not more or name in self.known.of_head:
                self._go(name)
        if bool(smallest(beside) > 0) and not parts:
            yield self._load(BACKWARD, place, beside + temporary - own)
        together: Number = 0.0
        for name, size in parts:
            together = together + self._contribute(place, name, size)
        if parts or place.spread:
            yield self._load(BACKWARD, place, together + place.spread)

    def back(self, first: int) -> None:
        """A segment is done, which began with that op: what it was the first to take goes, unless autograd keeps it for others."""
        for name, begun in self.taken.items():
            if begun == first and name not in self.known.kept:
                self._go(name)

    def between(self) -> Load:
        """What forward has left."""
        kept, head, passing = self.sums
        return Load(BETWEEN, "", kept, head, passing, self.gradients)

    def _load(self, phase: str, place: Place, temporary: Number) -> Load:
        kept, head, passing = self.sums
        passing = passing + temporary
        return Load(phase, place.name, kept, head + passing if place.head else head, 0.0 if place.head else passing, self.gradients)

    def _appear(self, name: str, row: int) -> None:
        if name not in self.rows:
            self.rows[name] = row
            self.sums[row] = self.sums[row] + self.known.sizes[name]

    def _go(self, name: str) -> None:
        if name in self.rows:
            row = self.rows.pop(name)
            self.sums[row] = self.sums[row] - self.known.sizes[name]

    def _new(self, name: str, size: Number) -> None:
        buffer = next(self.ids)
        self.buffers[name], self.sizes[buffer], self.users[buffer] = buffer, size, 1
        self.sums[PASSING] = self.sums[PASSING] + size

    def _leave(self, name: str) -> None:
        buffer = self.buffers.pop(name)
        self.users[buffer] -= 1
        if not self.users[buffer]:
            self.sums[PASSING] = self.sums[PASSING] - self.sizes.pop(buffer)

    def _part(self, place: Place, name: str, size: Number) -> bool:
        """Whether the op reads a part of an activation, whose gradient is put together from several."""
        whole = self.known.sizes[name]
        return not place.head and place.kind != "sum" and name != place.flows[0] and bool(smallest(whole - size) > 0)

    def _contribute(self, place: Place, name: str, size: Number) -> Number:
        """The gradient of an activation; bytes that are there only while the op runs."""
        whole, above = self.known.sizes[name], place.flows[0]
        if name == above:  # written in place: a gradient that is computed takes the place of the one above, which goes after it
            return 0.0 if place.kind in (*PASSES_ON, "sum") else size
        passes = place.kind in PASSES_ON and size == self.known.sizes[above]
        if name not in self.buffers:
            if passes and above in self.buffers:  # it is gone where this is a part of a tensor, put together after the op
                buffer = self.buffers[name] = self.buffers[above]
                self.users[buffer] += 1
                return 0.0
            self._new(name, 0.0 if place.kind == "sum" else whole)  # of a sum: one number, expanded
            if name in place.viewed and not size < whole:
                self.views.add(self.buffers[name])
            return size if size < whole else 0.0
        self._leave(name)  # the sum takes the place of the first part, or is new memory where that is another tensor's too
        self._new(name, whole)
        return 0.0 if passes else size

    def _weight(self, name: str, elements: Number, size: Number) -> Number:
        whole = elements * self.gradient
        again = self.accumulates or name in self.done
        if name not in self.done:
            self.done.add(name)
            self.gradients = self.gradients + whole
        return size if again or size != whole else 0.0


def _taken(known: Outline, segments: Sequence[range]) -> dict[str, int]:
    """What comes into a segment from before it -> the first op of the first segment that takes it."""
    makers = {name: i for i, place in reversed(tuple(enumerate(known.places))) for name in place.outputs}
    taken: dict[str, int] = {}
    for segment in segments:
        for name in (name for i in segment for name in known.places[i].uses):
            if makers.get(name, segment[0]) < segment[0]:
                taken.setdefault(name, segment[0])
    return taken


def loads(known: Outline, gradient: float, segments: Sequence[range] = (), accumulates: bool = False, chunks: int = 1) -> Iterator[Load]:
    """Forward, loss and backward of one microbatch; `segments` run forward twice.

    `gradient`: bytes of one parameter's; `accumulates`: the gradients of an earlier microbatch are added to. With several `chunks` head
    and loss are of one chunk, and go forward and backward for each in turn; from the second on nothing changes.
    """
    heap = Heap(known, gradient, accumulates, segments)
    inside = {i: segment for segment in segments for i in segment}
    places = known.places
    body = next(i for i, place in enumerate(places) if place.head) if chunks > 1 else len(places)
    for i in range(body):
        segment = inside.get(i)
        yield heap.forward(i, segment is None, segment[-1] if segment else i, FORWARD)
    for more in (True, False) if chunks > 1 else ():
        for i in range(body, len(places)):
            yield heap.forward(i, True, i, FORWARD)
        for i in range(len(places) - 1, body - 1, -1):
            yield from heap.backward(i, more)
    yield heap.between()
    for i in range(body - 1, -1, -1):
        segment = inside.get(i)
        if segment and i == segment[-1]:
            for j in segment:
                yield heap.forward(j, True, segment[-1], AGAIN)
        yield from heap.backward(i)
        if segment and i == segment[0]:
            heap.back(i)
