"""Runs a function on fake tensors and writes down every ATen op: what it reads and writes, under which module."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch._ops import HigherOrderOperator
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from ironlaw.engine.device import types, work
from ironlaw.engine.device.host import OP, SEGMENT
from ironlaw.engine.device.types import Op
from ironlaw.formats import is_float
from ironlaw.tracing import graph_breaks, higher_order, value_requests
from ironlaw.tracing.aten import Call
from ironlaw.tracing.aten_tables import FREE
from ironlaw.tracing.equal_passes import EqualPasses
from ironlaw.tracing.fake_results import FakeResultCache
from ironlaw.tracing.gradient_sums import ADD, ADD_TO, GradientSums
from ironlaw.tracing.libraries import LibraryBehaviour
from ironlaw.tracing.lifetimes import Lifetimes
from ironlaw.tracing.memory_layout import strided
from ironlaw.tracing.origins import BACKWARD, FORWARD, Phases
from ironlaw.tracing.quantised_rules import DYNAMIC, dynamic
from ironlaw.tracing.schemas import Schema, given, schema, tensors
from ironlaw.tracing.skipped_microbatches import Skipped
from ironlaw.tracing.tensor_forms import format_of, in_place, on_meta, rule_of, sparse_elements, spread, stored_once, unknown
from ironlaw.tracing.traced_values import Values
from ironlaw.tracing.translate import translate

SAME_FORMAT = ("mm", "addmm", "bmm", "baddbmm", "linear", "convolution")  # a fake tensor does not mind, a real one does
Heard = Callable[["Recorder", Any, Any, Any], None]
BEGIN = str(Path(__file__).with_name("fake_run.py"))  # whose functions run the model
DEVICE = torch.ops.prim.device.default
OUTER = 4  # modules deep: where such a one returns, what its names held may be gone
RANDOM = ("rand", "randn", "randint", "randperm", "bernoulli", "uniform", "normal", "multinomial", "exponential")


class Recorder(TorchDispatchMode):
    """`names`: storage -> (name, role) of what is there before the first op.

    Code that looks at a tensor's values gets true ones where they follow from constants and what was handed in, and typical ones
    where they do not; `notes` then says so.
    """

    supports_higher_order_operators = True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # Dynamo's guard around every call of ours costs as much as the call; `as_if_real` keeps Dynamo away

    def __init__(self, progress: Callable[[int], None] | None = None, heard: Heard | None = None) -> None:
        super().__init__()
        self.heard = heard  # is handed every call that ops are written down for
        self.ops: list[Op] = []
        self.calls: list[tuple[str, int]] = []  # for each op the ATen call that it came from: its name and number
        self.call = ("", 0)
        self.ways: list[graph_breaks.Way] = []  # for each op the functions that it was called in
        self.phases = Phases()
        self.breaks: list[graph_breaks.Break] = []
        self.unknown: dict[str, int] = {}
        self.names: dict[int, tuple[str, str]] = {}
        self.sums = GradientSums()
        self.first: dict[int, tuple[str, str]] = {}  # the names before the call
        self.path: list[str] = []
        self.depth = 0  # how many modules were running at the last op
        self.used: dict[str, int] = {}
        self.named: list[tuple[str, str]] | None = None  # each name that is given, from what, where somebody wants to know
        self.kept: list[Tensor] = []  # sparse tensors: one that is freed would give its address to another
        self.lifetimes = Lifetimes()
        self.values = Values(self.place, self.names)
        self.autocast = False  # whether products ran in another format than the weights have
        self.compiled = False  # whether the code asked for torch.compile
        self.said: dict[str, list[Any]] = {}  # line of code -> the numbers that it has read
        self.known_numbers: dict[str, list[Any]] = {}  # those of an earlier run, which this one takes
        self.rehearsing = False  # a first run, of which nothing but names and values is kept
        self.native = False  # within a call that torch.compile leaves to a library
        self.idle = False  # while a script has not come to its model yet, nothing is written down
        self.empty: set[int] = set()  # storages that nothing was written to yet
        self.notes: dict[str, str] = {}  # line of code -> which way was taken where that depends on values
        self.mode = FakeTensorMode(allow_non_fake_inputs=True)
        self.fake: Callable[[Tensor, str, str], Tensor] | None = None
        self.memo: dict[Any, Any] = {}
        self.places: dict[int, tuple[str, graph_breaks.Way]] = {}  # number of an autograd node -> the module that made it, and where
        self.backwards: list[int] = []  # how many ops there were after each backward pass
        self.wholes: dict[str, tuple[int, ...]] = {}  # shapes of results that several ops write, a part each
        self.frozen: list[str] = []  # weights that need no gradient
        self.outside = 0  # ops of the forward pass that no module ran
        self.checkpoints = self.blocks = 0  # segments that run again on the way back; blocks of one kind, which could
        self.again: dict[str, str] = {}  # ops that ran again, and whether each begins a segment (`engine.device.host`)
        self.hooked = False  # whether each saved tensor passes through hooks, as it does unless checkpoints are reentrant
        self.skipped: Skipped | EqualPasses | None = None  # microbatches that are not run again
        self.on_host: dict[int, bool] = {}  # where a tensor lies that code has moved
        self.results: FakeResultCache | None = None
        self.progress = progress
        self.thread = threading.get_ident()
        self.here: graph_breaks.Way | None = None  # where the running call comes from, once somebody has looked

    def seen(self, library: LibraryBehaviour) -> None:
        self.autocast |= library.autocast
        self.compiled |= library.compiled

    def begin_again(self) -> None:
        """Forget the ops so far; tensors keep their values, and what was there at first its name."""
        self.names.update(self.first)
        self.ops, self.calls, self.unknown, self.used, self.wholes = [], [], {}, {}, {}
        self.ways, self.breaks, self.backwards, self.phases.seen = [], [], [], []
        self.checkpoints, self.outside, self.on_host, self.again, self.rehearsing = 0, 0, {}, {}, False
        self.lifetimes.begin_again()
        if self.skipped is not None:
            self.skipped.begin_again()

    def graph_break(self, what: str) -> None:
        """torch.compile can't go on here."""
        self.breaks.append(graph_breaks.Break(what, graph_breaks.way_here(BEGIN), self.call[1]))

    # ---- tensors

    def place(self, tensor: Tensor) -> int:
        """A tensor's storage; a sparse tensor has several, and stands for itself."""
        if tensor.layout is not torch.strided:
            self.kept.append(tensor)
            return -id(tensor)
        return self.lifetimes.place(tensor.untyped_storage())

    def known(self, tensor: Tensor, name: str, role: str) -> None:
        self.names[self.place(tensor)] = (name, role)

    def made(self, tensor: Tensor, name: str, role: str = "activation") -> None:
        """Notes a tensor that a recorded op made; in place if something was there before the call."""
        place = self.place(tensor)
        there, before = self.names.get(place, ("", "activation"))
        self.names[place] = (name, role)
        self.sums.made(place)
        if role == "activation" and tensor.layout == torch.strided:
            self.lifetimes.made(place, tensor, name, "" if before == "activation" else there)

    def tensor(self, tensor: Tensor) -> types.Tensor:
        """The tensor as the engine sees it."""
        place = self.place(tensor)
        if place not in self.names:
            self.known(tensor, self.unique("constant"), "buffer")
        self.lifetimes.touched(place)
        name, role = self.names[place]
        shape = tuple(map(int, tensor.shape)) if tensor.layout is torch.strided else (sparse_elements(tensor),)
        return types.Tensor(name, shape, format_of(tensor.dtype), role)

    def unique(self, name: str) -> str:
        count = self.used[name] = self.used.get(name, 0) + 1
        given = name if count == 1 else f"{name}.{count}"
        if self.named is not None:
            self.named.append((name, given))
        return given

    # ---- ops

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        self.here = None
        if torch.is_grad_enabled():
            self.note_node()
        if func is DEVICE and isinstance(args[0], FakeTensor):  # two of three calls: autograd asks for each tensor that it touches
            self.here = None
            return args[0].device
        if any(map(spread, types)):  # it calls again with this rank's parts, and with collectives between
            return NotImplemented
        if isinstance(func, HigherOrderOperator):
            return higher_order.run(self, func, args, kwargs)
        # in a backward pass AsOnGpu would see every shape and stride that is looked at from here on, ten for each op
        with torch._C.DisableTorchFunction():
            try:
                return self.run(func, args, kwargs)
            finally:
                self.here = None

    def run(self, func: Any, args: Any, kwargs: Any) -> Any:
        if func is ADD and self.sums.in_place(args):
            func = ADD_TO
        schema_info = schema(func)
        self.call = (schema_info.name, self.call[1] + 1)
        tensors_in = given(args, kwargs)
        if any(type(t) is not FakeTensor and on_meta(t) for t in tensors_in):
            args, kwargs = pytree.tree_map(self.adopt, (args, kwargs))
            tensors_in = given(args, kwargs)
        if schema_info.name == "_local_scalar_dense":
            held = getattr(args[0], "constant", None)  # it lies on the host
            return value_requests.number(self, func, args[0]) if held is None else value_requests.on_host(held)
        if schema_info.name in DYNAMIC and func.namespace == "quantized":
            return dynamic(self, schema_info.name, args)
        if value_requests.looks_for_places(schema_info.name, args):
            value_requests.counted(self)
        if schema_info.name.startswith("_foreach_") and schema_info.inplace and all(map(unknown, tensors_in)):
            results: Any = in_place  # an optimiser's lists: PyTorch would ask for the shape of each
        elif self.results is None or not tensors_in or schema_info.name in RANDOM:
            results = None
        else:
            results = self.results.written if schema_info.inplace else self.results
        fresh = False
        try:
            out = results(func, args, kwargs, tensors_in) if results is not None else func(*args, **kwargs)
        except Exception as error:  # fake tensors have no answer: it lies in the values, or nobody wrote one down for them
            out, fresh = value_requests.measured(self, func, args, kwargs, error), True
        tensors_out = tensors(out)
        written = self.changed(schema_info, args, kwargs)
        trained = self.phases.steps and any(t.requires_grad for t in written)  # weights stay typical ones
        seen = fresh or trained or (schema_info.view and all(isinstance(t, FakeTensor) for t in tensors_in))
        if (tensors_out or written) and not seen:
            self.values.note(func, args, kwargs, tensors_out, tuple(map(self.place, written)))
        if not schema_info.view and not self.idle:
            self.record(func, schema_info, args, kwargs, tensors_in, tensors_out)
        return out

    def note_node(self) -> None:
        """Which module made the newest node of autograd's graph, and where."""
        number = torch.autograd._get_sequence_nr() - 1  # type: ignore[attr-defined]
        if number not in self.places:
            self.here = graph_breaks.way_here(BEGIN)
            self.places[number] = self.path[-1] if self.path else "", self.here

    def adopt(self, leaf: Any) -> Any:
        """A tensor on the meta device that the model keeps outside of its weights and buffers: a fake one for it."""
        if not isinstance(leaf, Tensor) or not on_meta(leaf) or self.fake is None:
            return leaf
        return self.fake(leaf, self.unique("constant"), "buffer")

    def module(self) -> str:
        """The running module; in a backward pass the one whose forward op created the gradient's node."""
        if self.path:
            return self.path[-1]
        return self.forward_place()[0]

    def forward_place(self) -> tuple[str, graph_breaks.Way]:
        """In a backward pass the module whose forward op created the gradient's node, and where it was called."""
        node = torch._C._current_autograd_node()  # type: ignore[attr-defined]
        return self.places.get(node._sequence_nr(), ("", ())) if node is not None else ("", ())

    def record(self, func: Any, schema_info: Schema, args: Any, kwargs: Any, tensors_in: list[Tensor], tensors_out: list[Tensor]) -> None:
        name, inplace = schema_info.name, schema_info.inplace
        if self.costs_nothing(name, tensors_in, tensors_out) or (tensors_out and not any(t.numel() for t in tensors_out)):
            return
        if not self.rehearsing:
            depth, self.depth = self.depth, len(self.path)
            self.lifetimes.freed(len(self.ops), self.depth < min(depth, OUTER))
        counted = [t for t in tensors_in if t.numel() and (t.dim() or len(tensors_in) == 1)]
        label = self.unique(".".join(filter(None, (self.module(), name))))
        targets = [t for t in tensors_out if t.numel()] or [t for t in self.changed(schema_info, args, kwargs) if t.dim()]
        if inplace and name in ("copy", "fill", "zero", "uniform", "normal", "bernoulli"):
            counted = [t for t in tensors_in[1:] if t.numel()]
        inputs = [self.tensor(t) for t in counted]
        if name in SAME_FORMAT and len({t.dtype for t in inputs[:3] if is_float(t.dtype)}) > 1:
            raise RuntimeError(f"{name} of {' and '.join(dict.fromkeys(t.dtype for t in inputs[:3]))}: both must have one number format")
        stored = {id(plain): once for t, plain in zip(counted, inputs, strict=True) if (once := stored_once(t, plain)) is not plain}
        for i, t in enumerate(targets):
            self.empty.discard(self.place(t))
            cached = self.names.get(self.place(t), ("", ""))[1] == "cache"  # a cache that is written to stays one
            self.made(t, label if i == 0 else f"{label}:{i}", "cache" if cached else "activation")
        outputs = [self.tensor(t) for t in targets]
        if not self.rehearsing:
            if self.heard is not None:
                self.heard(self, func, args, kwargs)
            named = self.arguments(func, schema_info, args, kwargs)
            call = Call(rule_of(func, name, tensors_in, tensors_out), inputs, outputs, named, self.tensor, inplace)
            self.write_all(label, call, tensors_in, tensors_out, stored)
        elif self.progress is not None:
            self.progress(0)

    def write_all(self, label: str, call: Call, tensors_in: list[Tensor], tensors_out: list[Tensor], stored: dict[int, Any]) -> None:
        """The ops that a call comes to."""
        for i, draft in enumerate(translate(call)):
            for t, part in zip(call.outputs, draft.outputs, strict=False) if not i else ():
                if part is not t and part.size < t.size:
                    self.wholes[t.name] = t.shape
            if not draft.outputs:
                continue
            if draft.kind == "unknown":
                self.unknown[call.name] = self.unknown.get(call.name, 0) + 1
            attrs = dict(draft.attrs)
            if call.inplace:
                attrs["inplace"] = True
            known = work.traits(draft.kind)
            group = known.category
            if group in ("elementwise", "movement"):
                attrs |= strided(tensors_in, tensors_out)
            if known.gathers and not tensors_in[0].is_contiguous():
                self.gather(draft, f"{label}:contiguous")
            if stored and group not in ("contraction", "attention"):
                draft.inputs = [stored.get(id(t), t) for t in draft.inputs]
            self.write(draft.kind, label if i == 0 else f"{label}:{i}", draft.inputs, draft.outputs, attrs)

    def arguments(self, func: Any, schema_info: Schema, args: Any, kwargs: Any) -> dict[str, Any]:
        """The arguments by name; what a call leaves out has its default."""
        named = schema_info.defaults | dict(zip(schema_info.arguments, args, strict=False)) | kwargs
        if schema_info.name == "_grouped_mm" and named["self"].dtype != torch.bfloat16 and named["offs"] is not None:
            named["rows"] = value_requests.rows_of_groups(self, func, named["offs"])
        return named

    def costs_nothing(self, name: str, tensors_in: list[Tensor], tensors_out: list[Tensor]) -> bool:
        """Names what comes of a call that moves nothing."""
        if name in ("clone", "copy") and self.stolen(tensors_in[-1], tensors_out[0]):
            self.names[self.place(tensors_out[0])] = self.names[self.place(tensors_in[-1])]
            return True
        for t in tensors_out if name in FREE else ():
            if self.place(t) not in self.names:
                self.known(t, self.unique(name), "activation")
                self.empty.add(self.place(t))
        return name in FREE

    def stolen(self, source: Tensor, copied: Tensor) -> bool:
        """Whether a weight keeps a gradient as it is. It is copied here only because the recorder holds on to it too."""
        node = torch._C._current_autograd_node()  # type: ignore[attr-defined]
        return node is not None and node.name().endswith("AccumulateGrad") and source.stride() == copied.stride()

    def gather(self, draft: Any, name: str) -> None:
        """A norm or softmax wants its rows contiguous: what lies otherwise is copied first."""
        x = draft.inputs[0]
        copied = types.Tensor(name, x.shape, x.dtype)
        self.write("copy", name, [x], [copied], {"strided": "columns"})
        draft.inputs = [copied, *draft.inputs[1:]]

    def changed(self, schema_info: Schema, args: Any, kwargs: Any) -> list[Tensor]:
        """What a call writes to: the lists of an optimiser, say."""
        return tensors([args[i] if i < len(args) else kwargs.get(name) for i, name in schema_info.written]) if schema_info.inplace else []

    def write(self, kind: str, label: str, inputs: list[Any], outputs: list[Any], attrs: dict[str, Any]) -> None:
        if not inputs:
            attrs = {**attrs, "dtype": outputs[0].dtype}
        if self.idle:
            return
        if self.native:
            attrs = {**attrs, work.UNCOMPILED: work.LIBRARY}
        self.calls.append(self.call)
        runs = self.skipped is None or not self.skipped.answering  # else the op is not the called model's
        self.ways.append(self.forward_place()[1] or (runs and self.here) or graph_breaks.way_here(BEGIN, runs))
        self.phases.note()
        self.outside += not self.path and self.phases.seen[-1] == FORWARD
        if self.checkpoints and self.phases.seen[-1] == BACKWARD and torch.is_grad_enabled():  # what is run again records a graph
            self.again[label] = OP if self.ops and self.ops[-1].name in self.again else SEGMENT
        if kind == "recurrent" and "backward" not in attrs:
            self.graph_break(graph_breaks.RECURRENT)
        self.ops.append(work.op(kind, label, tuple(inputs), tuple(outputs), self.memo, **attrs))
        if self.progress is not None:
            self.progress(len(self.ops))
