"""What a tensor would hold, worked out only where code asks: a branch, a loop, a size that depends on data.

Every call on fake tensors is noted down. When a value is asked for, the calls that lead to it, and no others, are run on real tensors.
What has no value (weights and inputs on the meta device) is drawn as it would typically be. Products that are too much work to do in
passing are put in outline, other work that is too much is left out, and what it gives is drawn too; `Answer.drawn` says what was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._mode_utils import no_dispatch

from ironlaw.tracing import stand_ins
from ironlaw.tracing.real_tensors import as_plain, laid_out, small
from ironlaw.tracing.replay import FLOPS, MOVED, OUTLINED, Call, Replay

HOLDERS = (FakeTensor, list, tuple, dict)
KEPT, KEPT_IN_ALL = 1 << 26, 1 << 30  # bytes of a result that is kept for the next question


@dataclass(frozen=True)
class Answer:
    value: Tensor
    drawn: tuple[str, ...]  # what had no value of its own, in words


class Form(NamedTuple):
    """What a fake tensor is, without one: tensors are made of it only when somebody asks, and hardly anybody does."""

    place: int
    bytes: int  # of the storage
    dtype: torch.dtype
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    conjugated: bool


class Calls:
    """What was noted down, as calls on tensors without memory."""

    def __init__(self, made: Callable[[Any], Any]) -> None:
        self.noted: list[Call] = []
        self.opened: dict[int, Call] = {}
        self.made = made

    def __len__(self) -> int:
        return len(self.noted)

    def __getitem__(self, number: int) -> Call:
        if number not in self.opened:
            func, args, kwargs, outputs, written = self.noted[number]
            with no_dispatch():
                self.opened[number] = Call(func, self.made(args), self.made(kwargs), self.made(outputs), written)
        return self.opened[number]


class Values:
    """`place`: the storage of a tensor. `names`: storage -> name and role. `origin`: the storage of what was there before the first call
    -> (tensor with its values or None, name, role)."""

    def __init__(self, place: Callable[[Tensor], int], names: Mapping[int, tuple[str, str]]) -> None:
        self.storage_of, self.names = place, names
        self.shadows: dict[int, Any] = {}  # storage -> one without memory that stands for it, so that the first can be freed
        self.shadowed: dict[int, int] = {}  # and back
        self.calls = Calls(self.tensors_of)
        self.writers: dict[int, list[int]] = {}
        self.origin: dict[int, tuple[Tensor | None, str, str]] = {}
        self.twins: dict[int, Tensor] = {}  # the fake tensor that stands for the origin
        self.results: dict[int, tuple[int, Any, tuple[str, ...]]] = {}  # storage -> (calls before it, real storage, what was drawn)
        self.passing: dict[int, None] = {}  # storages of results that may be forgotten, oldest first
        self.room = KEPT_IN_ALL
        self.flops, self.attended, self.outlined, self.moved = 10 * FLOPS, 15 * FLOPS, OUTLINED, 10 * MOVED
        self.vocabulary = stand_ins.Vocabulary()

    # ---- noting down

    def note(self, func: Any, args: Any, kwargs: Any, outputs: list[Tensor], written: tuple[int, ...] = ()) -> None:
        number = len(self.calls)
        for place in {*map(self.place, outputs), *written}:
            self.writers.setdefault(place, []).append(number)
        self.calls.noted.append(Call(func, self.shadow(args), self.shadow(kwargs), self.shadow(outputs), written))

    def place(self, tensor: Tensor) -> int:
        place = self.storage_of(tensor)
        return self.shadowed.get(place, place)

    def shadow(self, value: Any) -> Any:
        """Fake tensors in the arguments of a call, as their forms: those that a run makes live no longer than it holds them."""
        if isinstance(value, FakeTensor):
            place = self.storage_of(value)
            if place in self.twins:
                return value
            size, offset = int(value.untyped_storage().nbytes()), int(value.storage_offset())
            return Form(place, size, value.dtype, offset, tuple(value.shape), value.stride(), value.is_conj())
        if isinstance(value, (list, tuple)):
            return [self.shadow(each) if isinstance(each, HOLDERS) else each for each in value]
        if isinstance(value, dict):
            return {name: self.shadow(each) for name, each in value.items()}
        return value

    def tensors_of(self, value: Any) -> Any:
        """Back: a tensor for each form."""
        if isinstance(value, Form):
            return self.twin_of(value)
        if isinstance(value, list):
            return [self.tensors_of(each) for each in value]
        if isinstance(value, dict):
            return {name: self.tensors_of(each) for name, each in value.items()}
        return value

    def twin_of(self, form: Form) -> Tensor:
        if form.place not in self.shadows:
            self.shadows[form.place] = torch.UntypedStorage(form.bytes, device="meta")
            self.shadowed[self.shadows[form.place]._cdata] = form.place
        bare = torch.empty(0, dtype=form.dtype, device="meta")
        bare.set_(self.shadows[form.place], form.offset, form.shape, form.stride)
        return bare.conj() if form.conjugated else bare

    def begin(self, twin: Tensor, origin: Tensor, name: str, role: str) -> None:
        """What is there before the first call."""
        place = self.place(twin)
        self.twins[place], self.origin[place] = twin, (origin, name, role)

    def keep(self, fake: Tensor, real: Tensor, drawn: tuple[str, ...]) -> None:
        """What a fake tensor of its own holds from now on."""
        self.results[self.place(fake)] = (len(self.calls), laid_out(fake, real), drawn)

    def remember(self, place: int, calls: int, real: Any, drawn: tuple[str, ...]) -> None:
        """What a storage holds after so many calls, until later results need the room."""
        if place in self.results and place not in self.passing:
            return
        self.forget(place)
        if real.nbytes() > KEPT:
            return
        self.results[place], self.passing[place] = (calls, real, drawn), None
        self.room -= real.nbytes()
        while self.room < 0:
            self.forget(next(iter(self.passing)))

    def forget(self, place: int) -> None:
        if place in self.passing:
            del self.passing[place]
            self.room += self.results.pop(place)[1].nbytes()

    # ---- asking

    def of(self, tensor: Tensor) -> Answer | None:
        """None where it is too large to be computed."""
        if not isinstance(tensor, FakeTensor) and tensor.device.type != "meta" and self.place(tensor) not in self.writers:
            return Answer(tensor, ())
        if not small(tensor):
            return None
        with as_plain(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            value, drawn = Replay(self).of(tensor)
            return Answer(value, drawn)
