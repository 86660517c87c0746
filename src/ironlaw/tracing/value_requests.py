"""Calls whose answer lies in a tensor's values: what Python reads out, and results whose size depends on data."""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensorMode
from torch.utils import _pytree as pytree
from torch.utils._mode_utils import no_dispatch

from ironlaw.engine.device import types
from ironlaw.engine.device.host_links import FRESH, KEPT_BY_ALLOCATOR, LINE, LINK, PAGEABLE, PINNED, WAITS
from ironlaw.engine.device.work import EAGER, UNCOMPILED
from ironlaw.tracing import source_lines
from ironlaw.tracing.graph_breaks import VALUE
from ironlaw.tracing.real_tensors import as_plain, on_processor
from ironlaw.tracing.schemas import tensors
from ironlaw.tracing.symbolic_sizes import SIZES
from ironlaw.tracing.traced_values import Answer, Values

BUILT_IN = ("aten", "prims", "ironlaw")  # operators whose failure is the call's


def _grouped(a: Tensor, b: Tensor, offs: Any = None, bias: Any = None, out_dtype: Any = None) -> Tensor:
    groups = () if a.dim() != b.dim() else (offs.numel() if a.dim() == 2 else a.shape[0],)
    return a.new_empty((*groups, a.shape[-2], b.shape[-1]), dtype=out_dtype)


SHAPES = {"aten::_grouped_mm": _grouped}  # results that a fake tensor refuses in formats that a GPU takes
PUTS = ("index_put", "_index_put_impl")
MOST_NAMED = 3  # of what was drawn, in one note


class Asker(Protocol):
    """What these need of a recorder."""

    mode: FakeTensorMode
    values: Values
    notes: dict[str, str]  # by line of code
    said: dict[str, list[Any]]  # the numbers that each line has read
    known_numbers: dict[str, list[Any]]  # those that it read in an earlier run
    on_host: dict[int, bool]  # where a tensor lies that code has moved

    def place(self, tensor: Tensor) -> int: ...

    def tensor(self, tensor: Tensor) -> types.Tensor: ...
    def write(self, kind: str, label: str, inputs: list[Any], outputs: list[Any], attrs: dict[str, Any]) -> None: ...
    def unique(self, name: str) -> str: ...
    def graph_break(self, what: str) -> None: ...


def number(recorder: Asker, func: Any, tensor: Tensor) -> Any:
    """What `.item()` gives; the host waits for one copy."""
    value = read(recorder, func, tensor, "item")
    with as_plain():
        return value.item()


def on_host(value: Tensor) -> Any:
    """A number that PyTorch remembers of a fake tensor; an optimiser asks for one for each weight."""
    with no_dispatch():
        return value.item()


def read(recorder: Asker, func: Any, tensor: Tensor, name: str = "read") -> Tensor:
    """The values of a tensor that leave PyTorch."""
    answer = told_before(recorder, tensor) or recorder.values.of(tensor)
    if answer is None:
        raise DataDependentOutputException(func)
    recorder.graph_break(VALUE)
    source = recorder.tensor(tensor)
    if tensor.numel():
        to_host(recorder, source, name)
    with as_plain():
        if answer.value.numel() == 1 and not answer.value.is_complex():
            recorder.said.setdefault(source_lines.of_now(), []).append(answer.value.item())
        what = f"{answer.value.item()}" if answer.value.numel() == 1 else f"{'x'.join(map(str, answer.value.shape))} values"
    say(recorder, answer.drawn, what)
    return answer.value


def told_before(recorder: Asker, tensor: Tensor) -> Answer | None:
    """What an earlier run of the same script worked out here."""
    line = source_lines.of_now()
    known, place = recorder.known_numbers.get(line, ()), len(recorder.said.get(line, ()))
    if tensor.numel() != 1 or place >= len(known):
        return None
    with as_plain():
        return Answer(torch.tensor(known[place]).to(tensor.dtype).reshape(tuple(tensor.shape)), ())


def to_host(recorder: Asker, source: types.Tensor, name: str) -> None:
    """A copy that the host waits for, into memory of its own."""
    attrs = {LINK: FRESH if source.bytes >= KEPT_BY_ALLOCATOR else PAGEABLE, WAITS: True, LINE: source_lines.of_now(), UNCOMPILED: EAGER}
    recorder.write(
        "copy", recorder.unique(name), [source], [types.Tensor(recorder.unique(name), source.shape or (1,), source.dtype)], attrs
    )


def drained(recorder: Asker, *_: Any) -> None:
    """`torch.cuda.synchronize()`."""
    waited(recorder, "synchronize", {})


def waited(recorder: Asker, label: str, attrs: dict[str, Any]) -> None:
    """The host goes on when the device is through."""
    name, more = recorder.unique(label), {WAITS: True, LINE: source_lines.of_now(), UNCOMPILED: EAGER}
    recorder.write("fill", name, [], [types.Tensor(name, (1,), "int64")], attrs | more)


def counted(recorder: Asker) -> None:
    """How many elements of a mask are true, which the host must know to make a result of that size."""
    waited(recorder, "count", {LINK: PAGEABLE})


def looks_for_places(name: str, args: Any) -> bool:
    """Whether a call that writes by a mask first looks where it is true: unless it writes one number everywhere."""
    if name not in PUTS or not any(t is not None and t.dtype == torch.bool for t in args[1]):
        return False
    return args[2].numel() != 1 or args[3:4] == (True,)


def moved(recorder: Asker, tensor: Tensor, where: str, blocking: bool) -> None:
    """A tensor that code sends to the GPU, where it is not there yet, or to the host."""
    source, place = recorder.tensor(tensor), recorder.place(tensor)
    if where == "cpu":
        recorder.on_host[place] = True
        to_host(recorder, source, "cpu")
    elif recorder.on_host.get(place, source.role == "input"):
        recorder.on_host[place] = False
        name = recorder.unique("to_device")
        attrs: dict[str, Any] = {LINK: PAGEABLE, WAITS: True} if blocking else {LINK: PINNED}
        out = types.Tensor(name, source.shape or (1,), source.dtype)
        recorder.write("copy", name, [source], [out], {**attrs, LINE: source_lines.of_now(), UNCOMPILED: EAGER})


def leaving(recorder: Asker, func: Any, tensor: Tensor) -> Tensor:
    """The values of a tensor that go to Python, or to NumPy: what that computes with them is said to be missing."""
    value = read(recorder, func, tensor)
    if func is not Tensor.tolist:
        place, left = source_lines.of_now(), "values go to NumPy here, and what it computes on the host is not in the prediction"
        before = recorder.notes.get(place, "")
        if left not in before:
            recorder.notes[place] = f"{before}; {left}" if before else left
    return value


def rows_of_groups(recorder: Asker, func: Any, ends: Tensor) -> list[int]:
    """How many rows each group of a grouped product has, by where each ends; the host reads it."""
    ends = read(recorder, func, ends)
    with as_plain():
        return [int(n) for n in ends.diff(prepend=ends.new_zeros(1)).clamp(min=0)]


def measured(recorder: Asker, func: Any, args: Any, kwargs: Any, error: Exception) -> Any:
    """A call that fake tensors can't answer, on real ones; fake tensors of the size that came out. Raises `error` where that fails too."""
    if func._schema.name in SHAPES:
        with recorder.mode:
            return SHAPES[func._schema.name](*args, **kwargs)
    if isinstance(error, (DataDependentOutputException, DynamicOutputShapeException)):
        recorder.graph_break(VALUE)
        counted(recorder)
    answers: dict[int, Answer] = {}
    for tensor in tensors((args, kwargs)):
        answer = recorder.values.of(tensor)
        if answer is None:
            return supposed(recorder, func, args, kwargs, error)
        answers[id(tensor)] = answer
    drawn = tuple(dict.fromkeys(word for answer in answers.values() for word in answer.drawn))
    with as_plain():
        real_args, real_kwargs = pytree.tree_map(lambda x: answers[id(x)].value if isinstance(x, Tensor) else x, (args, kwargs))
        try:
            out = on_processor(func, real_args, real_kwargs)
        except Exception:
            if func.namespace in BUILT_IN:
                raise error from None
            out = None
    if out is None and func._schema.returns:
        return assumed(recorder, func, args, kwargs, error)
    shapes = " and ".join("x".join(map(str, t.shape)) for t in tensors(out) if t.dim() and t.numel())
    say(recorder, drawn, f"a result of {shapes}" if shapes else f"{out if not tensors(out) else 'a result without elements'}")

    def fake(value: Any) -> Any:
        if not isinstance(value, Tensor) or value.layout != torch.strided:
            return value
        with recorder.mode:
            twin = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype)
        with as_plain():
            recorder.values.keep(twin, value, drawn)
        return twin

    return pytree.tree_map(fake, out)


def supposed(recorder: Asker, func: Any, args: Any, kwargs: Any, error: Exception) -> Any:
    """A result of a size that lies in too many values to work them out."""
    if func._schema.name not in SIZES:
        raise error
    with recorder.mode:
        try:
            out, words = SIZES[func._schema.name](*args, **kwargs)
        except Exception:
            raise error from None
    recorder.notes.setdefault(
        source_lines.of_now(), f"what runs next depends on values of a tensor too large to work them out; taken: {words}"
    )
    return out


def assumed(recorder: Asker, func: Any, args: Any, kwargs: Any, error: Exception) -> Any:
    """What an operator of others gives, of which nothing is known here: tensors like its first."""
    given, returns = tensors((args, kwargs)), func._schema.returns
    if not given or any(str(r.type) != "Tensor" for r in returns):
        raise error
    name = func._schema.name
    recorder.notes.setdefault(source_lines.of_now(), f"{name} can't run here; its result is taken to have the shape of its first tensor")
    with recorder.mode:
        out = tuple(torch.empty_like(given[0]) for _ in returns)
    return out[0] if len(out) == 1 else out


def say(recorder: Asker, drawn: tuple[str, ...], what: str) -> None:
    """A note of which way was taken, where values had to be drawn for it; one for each line of code."""
    if drawn:
        listed = ", ".join(drawn[:MOST_NAMED]) + (", …" if len(drawn) > MOST_NAMED else "")
        recorder.notes.setdefault(source_lines.of_now(), f"what runs next depends on values; went on with {what}, from {listed}")
