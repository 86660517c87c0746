"""What a tensor would hold, worked out only where code asks: a branch, a loop, a size that depends on data.

Every call on fake tensors is noted down. When a value is asked for, the calls that lead to it, and no others, are run on real tensors.
What has no value (weights and inputs on the meta device) is drawn as it would typically be. Work that is too much to do in passing is
left out, and what it gives is drawn too; `Answer.drawn` says what was.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils.flop_counter import flop_registry

from ironlaw.tracing import stand_ins
from ironlaw.tracing.initialisation import start_of

MOST_ELEMENTS = 1 << 26  # of one tensor that is computed for real
FLOPS = 2e10  # of matrix products for one question, and ten times as many for a whole capture
KEPT, KEPT_IN_ALL = 1 << 25, 1 << 30  # bytes of a result that is kept for the next question
UNCHANGED = ("aten::_amp_foreach_non_finite_check_and_unscale",)  # gradients are taken to be finite


class Call(NamedTuple):
    """One ATen call: what went in, what came out, and which storages it writes that were there before."""

    func: Any  # None: a kernel that can't be run
    args: Any
    kwargs: Any
    outputs: list[Tensor]
    written: tuple[int, ...]


@dataclass(frozen=True)
class Answer:
    value: Tensor
    drawn: tuple[str, ...]  # what had no value of its own, in words


class Values:
    """`place`: the storage of a tensor. `names`: storage -> name and role. `origin`: the storage of what was there before the first call
    -> (tensor with its values or None, name, role)."""

    def __init__(self, place: Callable[[Tensor], int], names: Mapping[int, tuple[str, str]]) -> None:
        self.place, self.names = place, names
        self.calls: list[Call] = []
        self.writers: dict[int, list[int]] = {}
        self.origin: dict[int, tuple[Tensor | None, str, str]] = {}
        self.twins: dict[int, Tensor] = {}  # the fake tensor that stands for the origin
        self.results: dict[int, tuple[int, Any, tuple[str, ...]]] = {}  # storage -> (calls before it, real storage, what was drawn)
        self.flops, self.room = 10 * FLOPS, KEPT_IN_ALL
        self.vocabulary = stand_ins.Vocabulary()

    # ---- noting down

    def note(self, func: Any, args: Any, kwargs: Any, outputs: list[Tensor], written: tuple[int, ...] = ()) -> None:
        number = len(self.calls)
        self.calls.append(Call(func, args, kwargs, outputs, written))
        for place in {*map(self.place, outputs), *written}:
            self.writers.setdefault(place, []).append(number)

    def begin(self, twin: Tensor, origin: Tensor, name: str, role: str) -> None:
        """What is there before the first call."""
        place = self.place(twin)
        self.twins[place], self.origin[place] = twin, (origin, name, role)

    def keep(self, fake: Tensor, real: Tensor, drawn: tuple[str, ...]) -> None:
        """What a fake tensor of its own holds from now on."""
        self.results[self.place(fake)] = (len(self.calls), laid_out(fake, real), drawn)

    # ---- asking

    def of(self, tensor: Tensor) -> Answer | None:
        """None where it is too large to be computed."""
        if not isinstance(tensor, FakeTensor) and tensor.device.type != "meta" and self.place(tensor) not in self.writers:
            return Answer(tensor, ())
        if not small(tensor):
            return None
        with as_plain(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            return Replay(self).of(tensor)


class Replay:
    """One question: which calls lead to the answer (latest first), and then those calls on real tensors (first to last)."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self.real: dict[int, Any] = {}  # storage -> real storage
        self.drawn: dict[int, dict[str, None]] = {}  # storage -> what was drawn for it
        self.last: dict[int, int] = {}  # storage -> calls before what it holds now
        self.plan: list[tuple[int, bool]] = []  # number of the call, whether it runs or is drawn
        self.queue: list[int] = []
        self.queued: set[int] = set()
        self.leaves: dict[int, tuple[Tensor, int]] = {}
        self.flops = FLOPS

    def of(self, tensor: Tensor) -> Answer:
        now = len(self.values.calls)
        self.need(tensor, now)
        while self.queue:
            self.add(-heapq.heappop(self.queue))
        for place, (leaf, bound) in self.leaves.items():
            self.start(place, leaf, bound)
        for number, runs in reversed(self.plan):
            self.run(number, self.values.calls[number], runs)
        for place, real in self.real.items():
            if real.nbytes() <= min(KEPT, self.values.room):
                self.values.room -= real.nbytes()
                self.values.results[place] = (self.last.get(place, 0), real, tuple(self.drawn.get(place, ())))
        return Answer(self.view(tensor).clone(), tuple(self.drawn.get(self.values.place(tensor), ())))

    def need(self, tensor: Tensor, bound: int) -> None:
        """What the tensor holds before the call of that number."""
        place = self.values.place(tensor)
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
        flops = flops_of(call)
        runs = call.func is not None and flops <= min(self.flops, self.values.flops) and all(map(small, (*read, *call.outputs)))
        self.plan.append((number, runs))
        if runs:
            self.flops -= flops
            self.values.flops -= flops
            for tensor in read:
                self.need(tensor, number)
            return
        for tensor in read:  # what it only changes in part is there before
            if self.values.place(tensor) in call.written and small(tensor):
                self.need(tensor, number)

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

    def run(self, number: int, call: Call, runs: bool) -> None:
        name = name_of(call.func)
        changed = {*map(self.values.place, call.outputs), *call.written}
        drawn = {word: None for t in leaves_of((call.args, call.kwargs)) if runs for word in self.drawn.get(self.values.place(t), ())}
        for place in changed:
            self.last[place] = number + 1
            self.drawn[place] = self.drawn.get(place, {}) | drawn if place in call.written else drawn
        if name in UNCHANGED:
            return
        if runs:
            args, kwargs = pytree.tree_map(lambda x: self.view(x) if isinstance(x, Tensor) else x, (call.args, call.kwargs))
            try:
                results = leaves_of(on_processor(stand_ins.COMPUTED.get(name, call.func), args, kwargs, flops_of(call) > 0))
                for fake, real in zip(call.outputs, results, strict=True):
                    if self.values.place(fake) not in call.written:
                        self.real[self.values.place(fake)] = laid_out(fake, real)
                return
            except Exception:  # it can't run here, or not on these values: what it gives is drawn
                pass
        for place in changed:
            self.drawn[place] = {**self.drawn[place], f"the result of {name.rpartition('::')[2]}": None}
        for fake in call.outputs:
            if self.values.place(fake) not in call.written:
                self.real[self.values.place(fake)] = laid_out(fake, stand_ins.drawn(fake))

    def view(self, fake: Tensor) -> Tensor:
        if fake.layout != torch.strided:
            return fake
        bare = torch.empty(0, dtype=fake.dtype)
        real: Tensor = bare.set_(self.real[self.values.place(fake)], int(fake.storage_offset()), tuple(fake.shape), fake.stride())
        if fake.is_conj():
            real = real.conj()
        return real


def on_processor(func: Any, args: Any, kwargs: Any, wide: bool = False) -> Any:
    """What a call gives here. In FP32 where that is `wide`r than asked for: products in half precision are slow on a processor, and some
    kernels that a GPU has in half precision it has not."""
    halves = {t.dtype for t in leaves_of((args, kwargs))} & {torch.float16, torch.bfloat16}
    if not wide or len(halves) != 1:
        try:
            return func(*args, **kwargs)
        except (RuntimeError, NotImplementedError):
            if len(halves) != 1:
                raise
    args, kwargs = pytree.tree_map_only(Tensor, lambda t: t.float() if t.dtype in halves else t, (args, kwargs))
    half = halves.pop()
    return pytree.tree_map_only(Tensor, lambda t: t.to(half) if t.dtype == torch.float32 else t, func(*args, **kwargs))


def laid_out(fake: Tensor, real: Tensor) -> Any:
    """The values in memory as the fake tensor lies there."""
    if tuple(fake.shape) != tuple(real.shape):
        raise ValueError(f"{tuple(real.shape)} where {tuple(fake.shape)} was expected")
    size = int(fake.untyped_storage().nbytes())
    filled = size == fake.numel() * fake.element_size()
    storage = (torch.empty if filled else torch.zeros)(size, dtype=torch.uint8).untyped_storage()
    whole = torch.empty(0, dtype=fake.dtype).set_(storage, int(fake.storage_offset()), tuple(fake.shape), fake.stride())
    whole.copy_(real.resolve_conj())
    return storage


def has_values(tensor: Tensor) -> bool:
    return tensor.device.type != "meta" and not isinstance(tensor, FakeTensor)


def small(tensor: Tensor) -> bool:
    return tensor.layout != torch.strided or int(tensor.untyped_storage().nbytes()) <= 4 * MOST_ELEMENTS


def leaves_of(out: Any) -> list[Tensor]:
    return [t for t in pytree.tree_leaves(out) if isinstance(t, Tensor)]


def flops_of(call: Call) -> float:
    packet = getattr(call.func, "_overloadpacket", None)
    if packet in flop_registry:
        try:
            return float(flop_registry[packet](*call.args, **call.kwargs, out_val=call.outputs[0]))
        except Exception:  # a form that PyTorch's counter does not take
            return float(FLOPS)
    if name_of(call.func) == "ironlaw::attention":
        return float(4 * call.args[0].numel() * call.args[1].shape[-2])
    return 0.0


def name_of(func: Any) -> str:
    """`aten::add` of aten.add_.Tensor; a kernel without an operator is nameless."""
    return "a kernel" if func is None else str(func._schema.name).rstrip("_")


@contextmanager
def as_plain() -> Iterator[None]:
    """As if outside of every mode: no fakes, no recorder, no autocast, no gradients."""
    with _disable_current_modes(), torch._C.DisableTorchFunction(), torch._C._DisableAutocast(), torch.no_grad():
        yield
