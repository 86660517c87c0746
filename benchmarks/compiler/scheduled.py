"""A call under torch.compile up to Inductor's scheduler: what would run, in order, as plain data.

A frame that is compiled once may run many times, and Python runs what the compiler leaves: the list is of what runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

os.environ["TORCHINDUCTOR_FX_GRAPH_CACHE"] = "0"
import torch
from torch._guards import TracingContext, detect_fake_mode
from torch._inductor import compile_fx
from torch._inductor.debug import DebugContext
from torch._inductor.graph import GraphLowering
from torch._inductor.virtualized import V
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _pytree as pytree

from compiler.nodes import called, described

Step = dict[str, Any]


class Watched(FakeTensorMode):
    """Fake tensors; what Python itself calls on them is written down."""

    def __init__(self, steps: list[Step]) -> None:
        super().__init__(allow_non_fake_inputs=True)
        self.steps, self.depth = steps, 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.depth += 1
        try:
            made = super().__torch_dispatch__(func, types, args, kwargs)
        finally:
            self.depth -= 1
        if not self.depth and TracingContext.try_get() is None and on_gpu(made):
            self.steps.append(called(str(func), args, kwargs or {}))
        return made


def on_gpu(made: Any) -> bool:
    return any(isinstance(t, torch.Tensor) and t.device.type == "cuda" for t in pytree.tree_leaves(made))


def faked(value: Any, known: dict[int, Any]) -> Any:
    """The same on fake tensors of the GPU; a tensor that occurs twice stays one."""
    if isinstance(value, torch.Tensor):
        if id(value) not in known:
            made: Any = torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device="cuda")
            known[id(value)] = torch.nn.Parameter(made, requires_grad=False) if isinstance(value, torch.nn.Parameter) else made, value
        return known[id(value)][0]
    return value


def steps(call: Callable[..., Any], modules: Sequence[torch.nn.Module], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Step]:
    """What the call would run under torch.compile, without gradients."""
    found: list[Step] = []
    mode = Watched(found)

    def lowered(gm: Any, inputs: Any, **asked: Any) -> Any:
        nodes = scheduled(gm, inputs)
        output = next(node for node in gm.graph.nodes if node.op == "output").args[0]
        values = [one.meta.get("val") if isinstance(one, torch.fx.Node) else one for one in pytree.tree_leaves(output)]

        def run(given: Any) -> Any:
            given.clear()
            found.extend(nodes)
            with mode:
                mode.depth += 1
                try:
                    return [copied(value) for value in values]
                finally:
                    mode.depth -= 1

        run._boxed_call = True  # type: ignore[attr-defined]
        return run

    torch._dynamo.reset()
    with mode, torch.no_grad(), torch.device("cuda"):
        known: dict[int, Any] = {}
        for module in modules:
            for part in module.modules():
                for held in (part._parameters, part._buffers):
                    held.update({name: faked(one, known) for name, one in held.items()})  # type: ignore[attr-defined]
        args, kwargs = pytree.tree_map(lambda one: faked(one, known), (tuple(args), dict(kwargs)))
        found.clear()
        backend = SimpleNamespace(run=lambda gm, inputs: compile_fx.compile_fx(gm, inputs, inner_compile=lowered))
        torch.compile(call, backend=backend.run)(*args, **kwargs)
    return found


def copied(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    return torch.empty_strided(list(map(int, value.shape)), list(map(int, value.stride())), dtype=value.dtype, device=value.device)


def scheduled(gm: Any, inputs: Any) -> list[Step]:
    """What Inductor makes of one graph."""
    mode: Any = detect_fake_mode(inputs)
    compile_fx._recursive_record_original_output_strides(gm)
    compile_fx.view_to_reshape(gm)
    with V.set_fake_mode(mode), V.set_debug_handler(DebugContext()), V.set_extern_kernel_nodes([]):
        compile_fx.fake_tensor_prop(gm, inputs)
        compile_fx._recursive_post_grad_passes(gm, is_inference=True)
        graph = GraphLowering(gm, example_inputs=inputs, shape_env=mode.shape_env, graph_id=0, is_inference=True)
        graph.freeze_runtime_asserts()
        with V.set_graph_handler(graph):
            graph.run(*inputs)
            graph.init_wrapper_code()
            graph._update_scheduler()
            return [one for node in graph.scheduler.nodes for one in described(node)]
