"""Nodes of Inductor's scheduler as plain data: a loop by its bytes and steps, a call of a library by its arguments."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from math import prod
from typing import Any

import sympy
import torch
from torch._inductor.virtualized import V
from torch.utils import _pytree as pytree

UNKNOWN_SIZE = 8192  # of what depends on a tensor's values
NOTHING = ("MultiOutput", "AssertScalar", "DynamicScalar")  # unpack what another node made, or run on the host


def integer(size: Any) -> int:
    try:
        return int(size)
    except TypeError:
        return int(V.graph.sizevars.size_hint(size, fallback=UNKNOWN_SIZE))


def described(node: Any) -> Iterator[dict[str, Any]]:
    """The kernels of a node: one for a loop, a call for a library's; none for what launches nothing on the GPU."""
    kind = type(node).__name__
    inner = list(node.get_nodes())
    if kind == "NopKernelSchedulerNode" or type(inner[0].node).__name__ in NOTHING:
        return
    device = node.get_device()
    if device is not None and device.type == "cpu":
        return
    if kind == "ExternKernelSchedulerNode":
        yield external(node.node)
    else:
        yield loop(node, inner)


# ---- loops that the compiler writes


def loop(node: Any, inner: Iterable[Any]) -> dict[str, Any]:
    touched, made = volumes(node.read_writes.reads), volumes(node.read_writes.writes)
    stored = {name for name in node.get_buffer_names() if name not in V.graph.removed_buffers}
    steps: Counter[str] = Counter()
    rows, size, picked = (0, 0), 1, 0
    known: dict[Any, int] = {}  # expressions that the kernel has computed by then
    summed = any(getattr(part.node.data, "reduction_ranges", None) for part in inner)
    for part in inner:
        evaluated = prod(integer(n) for side in part._sizes for n in side)
        size = max(size, evaluated)
        whole, of_row = operations(part._body, known)
        along = prod(map(integer, part._sizes[1])) if part._sizes[1] else integer(part._sizes[0][-1]) if part._sizes[0] else 1
        for name in {*whole, *of_row}:  # in a stream, each element computes all that it needs
            steps[name] += whole[name] * evaluated + of_row[name] * (evaluated // max(along, 1) if summed else evaluated)
        data = part.node.data
        if getattr(data, "reduction_ranges", None):
            these = prod(map(integer, data.ranges)), prod(map(integer, data.reduction_ranges))
            rows = max(rows, these, key=prod)
    for one in node.read_writes.reads:
        if is_picked(one):
            picked += prod(map(integer, one.size))
    return {
        "loop": node.get_name(),
        "read": sum(count for name, count in touched.items() if name not in made),
        "written": sum(count for name, count in made.items() if name in stored),
        "size": size,
        "rows": list(rows),
        "picked": picked,
        "steps": dict(sorted(steps.items())),
        "from": sorted({short(origin.target) for part in inner for origin in part.node.get_origins()}),
    }


def is_picked(dep: Any) -> bool:
    return type(dep).__name__ == "MemoryDep" and bool(dep.is_indirect())


def volumes(deps: Iterable[Any]) -> dict[str, int]:
    """Bytes of each tensor that are touched: never more than it has."""
    found: dict[str, int] = defaultdict(int)
    whole: dict[str, int] = {}
    for dep in deps:
        held = V.graph.get_buffer(dep.name) or V.graph.graph_inputs.get(dep.name)
        constant = V.graph.constants.get(dep.name)
        if constant is not None:
            size, each = constant.numel(), constant.element_size()
        elif held is not None and hasattr(held, "get_dtype"):
            size, each = prod(map(integer, held.get_size())), held.get_dtype().itemsize
        else:
            continue
        whole[dep.name] = size * each
        count = prod(map(integer, dep.size)) if is_picked(dep) else integer(dep.get_numel())
        found[dep.name] += min(count, size) * each
    return {name: min(count, whole[name]) for name, count in found.items()}


def operations(body: Any, known: dict[Any, int]) -> tuple[Counter[str], Counter[str]]:
    """How often a loop's body does what for each element, and for each row (what does not depend on the place within the row). What the
    kernel has computed already is not done again."""
    places = {one: sympy.Symbol(f"place{number}") for number, one in enumerate((*body.iter_vars, *body.reduce_vars))}
    within = set(body.reduce_vars) or set(body.iter_vars[-1:])
    counts: tuple[Counter[str], Counter[str]] = Counter(), Counter()
    for number, graph in enumerate((body.root_block.graph, *(block.graph for block in body.subblocks.values()))):
        keys: dict[Any, int] = {}
        inside: set[Any] = set()
        for one in graph.nodes:
            if one.op == "call_method" and one.target == "get_index":
                index = body.indexing_exprs[one.args[-1]]
                key: Any = str(index.xreplace(places))
                depends = bool(index.free_symbols & within or index.free_symbols - places.keys())
            else:
                given = torch.fx.node.map_arg((one.args, tuple(one.kwargs.items())), lambda arg, keys=keys: keys.get(arg, 0))
                key = (one.op, str(one.target), str(given), number if one.op != "call_method" else 0)
                depends = one.op not in ("placeholder", "get_attr") and (number > 0 or any(arg in inside for arg in one.all_input_nodes))
            fresh = key not in known
            keys[one] = known.setdefault(key, len(known) + 1)
            if one.op == "call_method" and one.target != "get_index" and fresh:
                counts[not depends][str(one.target)] += 1
            if depends and one.target != "reduction":
                inside.add(one)
    return counts


def short(target: Any) -> str:
    """aten.add.Tensor -> add."""
    parts = str(target).split(".")
    return parts[1] if len(parts) > 1 else parts[0]


# ---- calls of libraries


def external(kernel: Any) -> dict[str, Any]:
    name = str(getattr(kernel, "python_kernel_name", None) or "")
    if name.startswith("extern_kernels."):
        return by_inputs(kernel, name.partition(".")[2])
    origin = getattr(kernel, "origin_node", None)
    if origin is None:
        found = [one for one in kernel.get_origins() if one.op == "call_function"]
        origin = found[-1] if found else None
    if origin is None or not str(origin.target).count("."):
        return {"unknown": type(kernel).__name__}
    values = lambda given: pytree.tree_map_only(torch.fx.Node, lambda one: one.meta.get("val"), given)  # noqa: E731
    target = str(origin.target)
    if type(kernel).__name__ in ("ScatterFallback", "IndexPutFallback"):  # what it changes was copied by a loop
        parts = target.split(".")
        target = ".".join([parts[0], parts[1].rstrip("_") + "_", *parts[2:]])
    return called(target, values(origin.args), values(origin.kwargs))


def by_inputs(kernel: Any, name: str) -> dict[str, Any]:
    """A product or a convolution, by the layouts that its inputs have by now."""
    tensors: list[Any] = [laid_out(one) for one in kernel.inputs]
    if name == "convolution":
        asked = kernel.kwargs
        tensors += [None] * (3 - len(tensors))
        order = ("stride", "padding", "dilation", "transposed", "output_padding", "groups")
        return {"call": "aten.convolution.default", "args": [*tensors, *(plain(asked[key]) for key in order)], "kwargs": {}}
    name = {"bias_addmm": "addmm", "_mm_plus_mm": "mm"}.get(name, name)
    return {"call": f"aten.{name}.default", "args": tensors[:3], "kwargs": {}}


def laid_out(buffer: Any) -> dict[str, Any]:
    return tensor(buffer.get_size(), buffer.get_stride(), buffer.get_dtype())


def tensor(size: Any, stride: Any, dtype: Any) -> dict[str, Any]:
    return {"tensor": [list(map(integer, size)), list(map(integer, stride)), str(dtype).removeprefix("torch.")]}


def called(target: str, args: Any, kwargs: Any) -> dict[str, Any]:
    return {"call": target, "args": [plain(one) for one in args], "kwargs": {name: plain(one) for name, one in kwargs.items()}}


def plain(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return tensor(value.shape, value.stride(), value.dtype)
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        return {"torch": str(value).removeprefix("torch.")}
    if isinstance(value, torch.device):
        return {"torch": "device"}
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, complex):
        return value.real
    return integer(value)


# ---- a call, from its data


def function_of(step: dict[str, Any]) -> Any:
    target: Any = torch.ops
    for part in step["call"].split("."):
        target = getattr(target, part)
    kwargs = {name: revived(one) for name, one in step["kwargs"].items()}
    return lambda *args: target(*args, **kwargs)


def revived(value: Any) -> Any:
    if isinstance(value, list):
        return [revived(one) for one in value]
    if not isinstance(value, dict):
        return value
    if "torch" in value:
        return torch.device("cpu") if value["torch"] == "device" else getattr(torch, value["torch"])
    size, stride, dtype = value["tensor"]
    return torch.empty_strided(size, stride, dtype=getattr(torch, dtype), device="meta")
