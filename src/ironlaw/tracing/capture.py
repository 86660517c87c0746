"""`capture(module, args)`: the graph of what PyTorch would run for this call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

from ironlaw.engine.device.types import STORED, Graph, Op
from ironlaw.engine.device.work import EAGER, UNCOMPILED
from ironlaw.engine.device.work import op as make_op
from ironlaw.errors import BadValue, CaptureBreak, IronlawError, MissingExtra, kind_of
from ironlaw.formats import computed_in, is_float
from ironlaw.tracing import origins
from ironlaw.tracing.target import in_one_line

if TYPE_CHECKING:
    from ironlaw.tracing.recorder import Heard
    from ironlaw.tracing.rehearsal import Rehearsal


def capture(
    module_or_fn: Any,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    training: bool = False,
    progress: Callable[[int], None] | None = None,
    changes: Collection[str] = (),
) -> Graph:
    """What `module_or_fn(*args, **kwargs)` would run, op by op, as a Graph for `predict`.

    Weights and inputs may be real, fake or on the meta device: only their shapes and formats count. With `training`, a
    module's forward pass, its backward pass and a step of AdamW; the loss is `.loss` of what it returns, or else the sum of
    it. The module runs in the mode that it is in (`train()` or `eval()`). A function may be a training step of its own, with backward
    pass, autocast and optimiser: it is captured as it stands. `progress` is called with the number of ops so far.
    `changes`: of a training step, as if it ran under "autocast" to BF16, or "kept" what it checkpoints.

    >>> import torch, ironlaw as il
    >>> with torch.device("meta"):  # no weights are made
    ...     net = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.GELU(), torch.nn.Linear(2048, 512))
    >>> graph = il.capture(net, (torch.empty(8, 512),))
    >>> [op.kind for op in graph.ops], graph.flops
    (['linear', 'gelu', 'linear'], 33554432.0)
    >>> il.predict(graph, il.hardware("h200"), il.Plan(mode="graphs")).bound
    'overhead'
    """
    return captured(module_or_fn, args, kwargs, training=training, progress=progress, changes=changes)


def captured(
    module_or_fn: Any,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    training: bool = False,
    progress: Callable[[int], None] | None = None,
    changes: Collection[str] = (),
    before: Rehearsal | None = None,
    heard: Heard | None = None,
) -> Graph:
    """`capture`, and the same again: `before` holds what an earlier capture of the same step has found out; `heard` is handed every call
    that ops are written down for."""
    try:
        import torch
    except ImportError:
        raise MissingExtra("capture needs PyTorch; install it with: pip install torch") from None
    from torch.utils import _pytree as pytree

    from ironlaw.tracing.equal_passes import Differs
    from ironlaw.tracing.fake_run import run, step
    from ironlaw.tracing.fakes import Fakes
    from ironlaw.tracing.recorder import Recorder
    from ironlaw.tracing.rehearsal import Rehearsal

    if isinstance(module_or_fn, torch.export.ExportedProgram):
        if not args and not kwargs:
            args, kwargs = module_or_fn.example_inputs or ((), {})
        module_or_fn = module_or_fn.module(check_guards=False)
    if not callable(module_or_fn):
        more = f"; for a model of the registry write il.workload({module_or_fn!r})" if isinstance(module_or_fn, str) else ""
        raise BadValue(f"capture needs an nn.Module or a function; this is {kind_of(module_or_fn)}{more}")
    if isinstance(args, torch.Tensor) or not isinstance(args, Sequence):
        raise BadValue("give the arguments of the call as a tuple: capture(model, (x,))")
    if training and not isinstance(module_or_fn, torch.nn.Module):
        raise BadValue("a training step needs an nn.Module, whose weights it changes; this is a function")
    module_or_fn = unwrapped(module_or_fn)
    before = before or Rehearsal(alike=heard is None)
    guessed = not (training or before.graded) and names_backward(module_or_fn)
    before.graded |= guessed
    while True:
        recorder = Recorder(progress, heard)
        fakes = Fakes(recorder)
        try:
            if training:
                out = step(module_or_fn, fakes, tuple(args), dict(kwargs or {}), changes)
            else:
                out = run(module_or_fn, fakes, tuple(args), dict(kwargs or {}), before, changes)
            if not guessed or recorder.backwards:
                break
            guessed = before.graded = False  # it names a backward pass that it does not take
        except (Exception, Differs) as error:
            if before.alike and getattr(recorder.skipped, "copied", False):
                before.alike = False
                continue
            if isinstance(error, (IronlawError, Differs)):
                raise
            if before.graded or training or not asks_gradients(error):
                raise broken(error) from error
            before.graded = True  # a function with a backward pass of its own
    trains = training or before.graded
    if not recorder.ops:
        raise BadValue("the call ran no operator on a tensor, so there is nothing to predict; check the function and its arguments")
    names = [recorder.tensor(t).name for t in pytree.tree_leaves(out) if isinstance(t, torch.Tensor) and t.numel()]
    named = module_or_fn if isinstance(module_or_fn, type) or hasattr(module_or_fn, "__name__") else type(module_or_fn)
    graph = graph_of(recorder, named.__name__, trains, names, fakes.shapes)
    return graph if trains else with_unread(graph, fakes.given)


def with_unread(graph: Graph, given: Mapping[str, tuple[str, int]]) -> Graph:
    """With the bytes of weights and inputs that lie in memory and no op reads, such as most of a cache of keys and values."""
    unread = {"weights": 0.0, "inputs": 0.0}
    for name, (role, size) in given.items():
        read = float(graph.tensors[name].bytes) if name in graph.tensors else 0.0
        unread["weights" if role in STORED else "inputs"] += max(0.0, size - read)
    return replace(graph, settings={**graph.settings, "unread": unread}) if any(unread.values()) else graph


def graph_of(
    recorder: Any, name: str, trains: bool, names: Sequence[str] = (), shapes: Mapping[str, tuple[int, ...]] | None = None
) -> Graph:
    """What the recorder has written down. `names`: of the tensors that come out; `shapes`: of the inputs."""
    produced = {t.name for op in recorder.ops for t in op.outputs}
    outputs = tuple(dict.fromkeys(name for name in names if name in produced))
    settings = {"captured": True, "training": trains, "unknown": dict(recorder.unknown), "calls": tuple(recorder.calls)}
    settings["shapes"] = dict(shapes or {})
    lives = recorder.lifetimes.settings(recorder.ops)
    settings |= lives | origins.settings(recorder.ops, recorder.ways, recorder.phases.seen)
    if trains:
        settings |= {"backwards": tuple(recorder.backwards), "checkpoints": recorder.checkpoints, "blocks": recorder.blocks}
        settings |= {"again": dict(recorder.again), "hooked": recorder.hooked} if recorder.again else {}
    settings |= (found := wholes(recorder))
    settings["parts"] = lives["parts"] | unwritten(recorder.ops, found.get("wholes", {}))
    if recorder.frozen:
        settings["frozen"] = tuple(recorder.frozen)
    if recorder.notes:
        settings["notes"] = tuple(f"{place}: {note}" for place, note in recorder.notes.items())
    ops, settings["entries"] = as_compiled(recorder)
    return Graph(name, ops, main_format(recorder), settings, outputs)


def wholes(recorder: Any) -> dict[str, dict[str, tuple[int, ...]]]:
    """The shapes of tensors of which the first op reads or writes a part, such as one expert's weights."""
    import torch

    from ironlaw.tracing.tensor_forms import format_of

    read: dict[str, Any] = {}
    for op in recorder.ops:
        for t in op.inputs:
            if t.role in STORED:
                read.setdefault(t.name, t)
    found = dict(recorder.wholes)
    for origin, name, _ in recorder.values.origin.values():
        plain = origin is not None and origin.layout == torch.strided and not hasattr(origin, "_local_tensor")
        if plain and name in read and read[name].size < origin.numel() and format_of(origin.dtype) == read[name].dtype:
            found[name] = tuple(map(int, origin.shape))
    return {"wholes": found} if found else {}


def unwritten(ops: Sequence[Op], shapes: Mapping[str, tuple[int, ...]]) -> dict[str, float]:
    """How many times as large a result lies in memory as what is written of it: of experts, those that no token went to have one too."""
    written: dict[str, float] = {}
    for op in ops:
        for t in op.outputs:
            if t.name in shapes:
                written[t.name] = written.get(t.name, 0.0) + float(t.size)
    return {name: prod(shapes[name]) / size for name, size in written.items() if size}


def as_compiled(recorder: Any) -> tuple[tuple[Op, ...], int]:
    """The ops, those marked that torch.compile would leave to Python, and how often it would enter code of its own."""
    from ironlaw.tracing import graph_breaks

    found = graph_breaks.compiled(recorder.ways, [number for _, number in recorder.calls], recorder.breaks)

    end = recorder.backwards[-1] if recorder.backwards else len(recorder.ops)  # the optimiser is not compiled with the model

    def left(one: Op) -> Op:
        return make_op(one.kind, one.name, one.inputs, one.outputs, recorder.memo, **{**one.attrs, UNCOMPILED: EAGER})

    inside = (compiled and i < end for i, compiled in enumerate(found.inside))
    return tuple(one if compiled else left(one) for one, compiled in zip(recorder.ops, inside, strict=True)), found.entries


def unwrapped(call: Any) -> Any:
    """What a wrapper would run: one replica of a parallel model. What can't be captured says so."""
    import torch
    from torch.nn.parallel import DataParallel, DistributedDataParallel

    if isinstance(call, (DataParallel, DistributedDataParallel)):
        return call.module
    if isinstance(call, (torch.jit.ScriptModule, torch.jit.ScriptFunction)):
        raise BadValue("a scripted or traced module hides its operators; capture the nn.Module or function that it was made from")
    if isinstance(call, torch.nn.Module):
        for name, weight in call.named_parameters():
            if torch.nn.parameter.is_lazy(weight):
                raise BadValue(
                    f"{name} has no shape yet because its layer is lazy; run one input through the model first, or give the size"
                )
    return call


def names_backward(function: Any) -> bool:
    """Whether a function's own code, or a closure in it, has a backward pass: then it need not first be tried without."""
    from ironlaw.tracing.fused_replacements import names_in

    code = getattr(function, "__code__", None)
    return code is not None and "backward" in names_in(code)


def asks_gradients(error: Exception) -> bool:
    return isinstance(error, RuntimeError) and "does not require grad" in str(error)


def main_format(recorder: Any) -> str:
    """The format of most bytes of weight, or of the inputs where there is none; under autocast the one of most products."""
    if recorder.autocast:
        products: Counter[str] = Counter()
        for op in recorder.ops:
            products[op.dtype] += int(op.work.matmul_flops)
        if products.total():
            return products.most_common(1)[0][0]
    for role in ("weight", "input", "activation"):
        counts: Counter[str] = Counter()
        for op in recorder.ops:
            for t in (*op.inputs, *op.outputs):
                if t.role == role and is_float(t.dtype):
                    counts[t.dtype] += int(t.bytes)
        if counts:
            return computed_in(counts.most_common(1)[0][0])
    return "int8" if any(op.dtype == "int8" and op.work.matmul_flops for op in recorder.ops) else "fp32"


def broken(error: Exception) -> Exception:
    """The same error in words: where in the user's code, and whether a tensor's value was asked for."""
    from torch._subclasses import fake_tensor

    from ironlaw.tracing import source_lines

    place = source_lines.of_error(error)
    asks = (fake_tensor.DataDependentOutputException, fake_tensor.DynamicOutputShapeException)
    try:
        message = str(error)
    except Exception:  # the model's own error, whose __str__ fails
        message = ""
    if isinstance(error, asks) or "data-dependent" in message.lower() or "meta tensor" in message:
        what = getattr(error, "func", "") or "a tensor's value"
        return CaptureBreak(
            f"capture must break at {place}: what runs next depends on the value of a tensor ({what}), and nothing is run here;"
            " replace the branch by torch.where, or capture the parts before and after it as functions of their own"
        )
    if ".numpy()" in message or "can't convert" in message:
        return CaptureBreak(f"capture must break at {place}: a tensor's values leave PyTorch there; use torch's own functions instead")
    if "HigherOrderOperator" in message:
        name = message.partition("HigherOrderOperator ")[2].split()[0]
        return CaptureBreak(
            f"capture must break at {place}: torch.{name} chooses what runs by the value of a tensor, or builds its own kernel;"
            " capture the parts as functions of their own"
        )
    return BadValue(f"the call fails at {place}: {type(error).__name__}: {in_one_line(message)}; fix the model or its arguments")
