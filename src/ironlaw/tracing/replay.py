"""One question about a tensor's values: which calls lead to it (latest first), then those calls on real tensors (first to last)."""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol
from zlib import crc32

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils import _pytree as pytree
from torch.utils.flop_counter import flop_registry

from ironlaw.tracing import stand_ins
from ironlaw.tracing.initialisation import start_of
from ironlaw.tracing.outlines import OUTLINES, Weight
from ironlaw.tracing.real_tensors import has_values, laid_out, leaves_of, name_of, on_processor, small

FLOPS = 2e10  # of matrix products for one question, and ten times as many for a whole capture
OUTLINED = 4e9  # elements of products in outline, for a whole capture
MOVED, FEW = 4e8, 1 << 18  # elements that calls read and write for one question, and ten times as many for a whole capture; few always may
UNCHANGED = ("aten::_amp_foreach_non_finite_check_and_unscale",)  # gradients are taken to be finite
ATTENTION = "ironlaw::attention"
COPIES = ("aten::_to_copy", "aten::clone")


class Call(NamedTuple):
    """One ATen call: what went in, what came out, and which storages it writes that were there before."""

    func: Any  # None: a kernel that can't be run
    args: Any
    kwargs: Any
    outputs: list[Tensor]
    written: tuple[int, ...]


class Step(NamedTuple):
    """A call of the plan. It `runs`, or is put in `outline`, or else its result is drawn."""

    number: int
    runs: bool
    outline: tuple[Weight | None, list[Tensor]] | None  # the weight, and what is read


class Calls(Protocol):
    def __len__(self) -> int: ...
    def __getitem__(self, number: int) -> Call: ...


class Notes(Protocol):
    """What was noted down of a run, and what is left of the work that may be done to answer questions about it."""

    names: Mapping[int, tuple[str, str]]
    writers: dict[int, list[int]]
    origin: dict[int, tuple[Tensor | None, str, str]]
    twins: dict[int, Tensor]
    results: dict[int, tuple[int, Any, tuple[str, ...]]]
    vocabulary: stand_ins.Vocabulary
    flops: float
    attended: float
    outlined: float
    moved: float

    @property
    def calls(self) -> Calls: ...
    @property
    def place(self) -> Callable[[Tensor], int]: ...
    def remember(self, place: int, calls: int, real: Any, drawn: tuple[str, ...]) -> None: ...


class Replay:
    def __init__(self, values: Notes) -> None:
        self.values = values
        self.real: dict[int, Any] = {}  # storage -> real storage
        self.drawn: dict[int, dict[str, None]] = {}  # storage -> what was drawn for it
        self.last: dict[int, int] = {}  # storage -> calls before what it holds now
        self.plan: list[Step] = []
        self.queue: list[int] = []
        self.queued: set[int] = set()
        self.leaves: dict[int, tuple[Tensor, int]] = {}
        self.uses: dict[int, int] = {}  # storage -> the last call of the plan that touches it
        self.flops, self.moved = FLOPS, MOVED

    def of(self, tensor: Tensor) -> tuple[Tensor, tuple[str, ...]]:
        """The values, and what was drawn for them."""
        self.need(tensor, len(self.values.calls))
        while self.queue:
            self.add(-heapq.heappop(self.queue))
        for place, (leaf, bound) in self.leaves.items():
            self.start(place, leaf, bound)
        asked = self.values.place(tensor)
        for step in reversed(self.plan):
            call = self.values.calls[step.number]
            touched = {*self.run(step, call), *(self.values.place(t) for t in leaves_of((call.args, call.kwargs)))}
            for place in touched:
                if self.uses.get(place, -1) <= step.number and place != asked and place in self.real:
                    self.retire(place)
        for place in list(self.real):
            if place != asked:
                self.retire(place)
        value = self.view(tensor).clone()
        self.retire(asked)
        return value, tuple(self.drawn.get(asked, ()))

    def retire(self, place: int) -> None:
        """What no later call of the plan needs is left for the next question."""
        self.values.remember(place, self.last.get(place, 0), self.real.pop(place), tuple(self.drawn.get(place, ())))

    # ---- what leads there

    def need(self, tensor: Tensor, bound: int) -> None:
        """What the tensor holds before the call of that number."""
        place = self.values.place(tensor)
        self.uses[place] = max(bound, self.uses.get(place, -1))
        writers = self.values.writers.get(place, [])
        last = bisect_left(writers, bound) - 1
        kept = self.values.results.get(place)
        if kept is not None and kept[0] <= bound and (last < 0 or writers[last] < kept[0]):
            self.leaves.setdefault(place, (tensor, bound))
        elif last >= 0:
            if writers[last] not in self.queued:
                self.queued.add(writers[last])
                heapq.heappush(self.queue, -writers[last])
        else:
            self.leaves.setdefault(place, (tensor, bound))

    def add(self, number: int) -> None:
        call = self.values.calls[number]
        read = leaves_of((call.args, call.kwargs))
        if name_of(call.func) in UNCHANGED:  # what it would write stays as it is
            self.plan.append(Step(number, False, None))
            for tensor in [t for t in read if self.values.place(t) in self.uses]:
                self.need(tensor, number)
            return
        flops = flops_of(call)
        elements = sum(t.numel() for t in (*read, *call.outputs))
        affordable = elements <= max(FEW, min(self.moved, self.values.moved))
        room = self.values.attended if name_of(call.func) == ATTENTION else min(self.flops, self.values.flops)
        runs = affordable and call.func is not None and flops <= min(FLOPS, room) and all(map(small, (*read, *call.outputs)))
        outline = self.outline(call) if affordable and not runs else None
        self.plan.append(Step(number, runs, outline))
        if (runs or outline is not None) and elements > FEW:
            self.moved -= elements
            self.values.moved -= elements
        if runs and name_of(call.func) == ATTENTION:
            self.values.attended -= flops
        elif runs:
            self.flops -= flops
            self.values.flops -= flops
        elif outline is not None:
            read = outline[1]
        else:  # what it only changes in part is there before
            read = [t for t in read if self.values.place(t) in call.written and small(t)]
        for tensor in read:
            self.need(tensor, number)

    def outline(self, call: Call) -> tuple[Weight | None, list[Tensor]] | None:
        """The weight and what is read, of a product that can be put in outline."""
        how = OUTLINES.get(name_of(call.func)) if call.func is not None else None
        elements = sum(t.numel() for t in call.outputs)
        if how is None or elements > self.values.outlined or not all(map(small, call.outputs)):
            return None
        operand = None if how.weight is None else call.args[how.weight]
        weight = None if operand is None else self.weight(operand)
        given = (call.args, call.kwargs) if how.read is None else [call.args[i] for i in how.read if i < len(call.args)]
        read = [t for t in leaves_of(given) if t is not operand]
        if not all(map(small, read)) or (operand is not None and weight is None):
            return None
        self.values.outlined -= elements
        return weight, read

    def weight(self, tensor: Tensor) -> Weight | None:
        """The spread of a weight, without its values; None where this is not a weight."""
        place = self.values.place(tensor)
        while (writers := self.values.writers.get(place)) is not None:
            call = self.values.calls[writers[0]]
            if len(writers) > 1 or name_of(call.func) not in COPIES:
                return None
            tensor = call.args[0]
            place = self.values.place(tensor)
        origin, name, role = self.values.origin.get(place, (None, "", ""))
        if origin is None or role != "weight":
            return None
        return Weight(stand_ins.spread(origin, name), crc32(name.encode()))

    # ---- on real tensors

    def start(self, place: int, leaf: Tensor, bound: int) -> None:
        """A storage as it is before the first call that runs."""
        kept = self.values.results.get(place)
        writers = self.values.writers.get(place, [])
        if kept is not None and kept[0] <= bound and not any(kept[0] <= w < bound for w in writers):
            self.real[place], self.last[place] = kept[1].clone(), kept[0]
            self.drawn[place] = dict.fromkeys(kept[2])
            return
        origin, name, role = self.values.origin.get(place) or (None, *self.values.names.get(place, ("", "activation")))
        if origin is None and not isinstance(leaf, FakeTensor) and leaf.device.type != "meta":
            origin = leaf
        if origin is not None and origin is leaf:
            self.real[place] = leaf.detach().cpu().untyped_storage().clone()
        elif origin is not None and has_values(origin):
            self.real[place] = laid_out(self.values.twins[place], origin.detach())
        else:
            whole = self.values.twins.get(place, leaf)
            value, word = stand_ins.value_of(whole, name, role, self.values.vocabulary, start_of(origin))
            self.drawn[place] = {word: None}
            self.real[place] = laid_out(whole, value)

    def run(self, step: Step, call: Call) -> set[int]:
        """The storages that the call writes."""
        name = name_of(call.func)
        changed = {*map(self.values.place, call.outputs), *call.written}
        read = leaves_of((call.args, call.kwargs)) if step.runs else step.outline[1] if step.outline else []
        drawn = {word: None for t in read for word in self.drawn.get(self.values.place(t), ())}
        for place in changed:
            self.last[place] = step.number + 1
            self.drawn[place] = self.drawn.get(place, {}) | drawn if place in call.written else drawn
        if name in UNCHANGED or (step.runs and self.computed(call, name)):
            return changed
        outlined = step.outline is not None and self.outlined(call, name, step.outline)
        word = f"an outline of {name.rpartition('::')[2]}" if outlined else f"the result of {name.rpartition('::')[2]}"
        for place in changed:
            self.drawn[place] = {**self.drawn[place], word: None}
        for fake in call.outputs if not outlined else ():
            if self.values.place(fake) not in call.written:
                self.real[self.values.place(fake)] = laid_out(fake, stand_ins.drawn(fake))
        return changed

    def computed(self, call: Call, name: str) -> bool:
        args, kwargs = pytree.tree_map(lambda x: self.view(x) if isinstance(x, Tensor) else x, (call.args, call.kwargs))
        try:
            results = leaves_of(on_processor(stand_ins.COMPUTED.get(name, call.func), args, kwargs, flops_of(call) > 0))
            self.put(call, results)
        except Exception:  # it can't run here, or not on these values: what it gives is drawn
            return False
        return True

    def outlined(self, call: Call, name: str, outline: tuple[Weight | None, list[Tensor]]) -> bool:
        weight, read = outline
        there = {id(t): self.view(t) for t in read}
        args, kwargs = pytree.tree_map(lambda x: there.get(id(x), x) if isinstance(x, Tensor) else x, (call.args, call.kwargs))
        try:
            self.put(call, [OUTLINES[name].make(call.outputs[0], weight, *args, **kwargs)])
        except Exception:  # a form that has no outline
            return False
        return True

    def put(self, call: Call, results: list[Tensor]) -> None:
        for fake, real in zip(call.outputs, results, strict=True):
            if self.values.place(fake) not in call.written:
                self.real[self.values.place(fake)] = laid_out(fake, real)

    def view(self, fake: Tensor) -> Tensor:
        if fake.layout != torch.strided:
            return fake
        bare = torch.empty(0, dtype=fake.dtype)
        real: Tensor = bare.set_(self.real[self.values.place(fake)], int(fake.storage_offset()), tuple(fake.shape), fake.stride())
        if fake.is_conj():
            real = real.conj()
        return real


def flops_of(call: Call) -> float:
    packet = getattr(call.func, "_overloadpacket", None)
    if packet in flop_registry:
        try:
            return float(flop_registry[packet](*call.args, **call.kwargs, out_val=call.outputs[0]))
        except Exception:  # a form that PyTorch's counter does not take
            return float(FLOPS)
    if name_of(call.func) == ATTENTION:
        return float(4 * call.args[0].numel() * call.args[1].shape[-2])
    return 0.0
