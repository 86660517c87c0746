"""The same model as another program: in another number format, with its images laid out otherwise, with some operators in one kernel.

Each function takes a graph and returns another one, or None where there is nothing to change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ironlaw.engine.device.fusion import FusionPlan, Group, fuse
from ironlaw.engine.device.machine import NARROW
from ironlaw.engine.device.types import Graph, Op, Tensor
from ironlaw.engine.device.work import op as make_op
from ironlaw.engine.device.work import traits, with_attrs

WIDE = ("fp32", NARROW)
HALF = ("fp16", "bf16")
IMAGES = ("conv2d", "conv_transpose2d", "conv_backward", "upsample")
CONVOLUTIONS = ("conv2d", "conv_transpose2d")
SMALLEST = 16  # sides of a product, of which FP8's have to be multiples


def narrowed(graph: Graph, fmt: str) -> Graph | None:
    """A model in FP32 as it would be in a format of two bytes: weights, activations and arithmetic."""
    if graph.dtype not in WIDE or graph.settings.get("training"):
        return None

    def tensor(t: Tensor) -> Tensor:
        return replace(t, dtype=fmt) if t.dtype in WIDE else t

    ops = []
    for one in graph.ops:
        attrs = {**one.attrs, **({"dtype": fmt} if one.attrs.get("dtype") in WIDE else {})}
        ops.append(make_op(one.kind, one.name, tuple(map(tensor, one.inputs)), tuple(map(tensor, one.outputs)), **attrs))
    return replace(graph, ops=tuple(ops), dtype=fmt)


def scaled(graph: Graph) -> Graph:
    """A step under autocast to BF16 as it would be in FP16: the loss is scaled, and a pass over the gradients scales them back."""

    def tensor(t: Tensor) -> Tensor:
        return replace(t, dtype="fp16") if t.dtype == "bf16" else t

    ops = []
    for one in graph.ops:
        attrs = {**one.attrs, **({"dtype": "fp16"} if one.attrs.get("dtype") == "bf16" else {})}
        ops.append(make_op(one.kind, one.name, tuple(map(tensor, one.inputs)), tuple(map(tensor, one.outputs)), **attrs))
    weights = {t.name: t for one in graph.ops for t in one.inputs if t.role == "weight"}
    gradients = [replace(t, name=f"gradient of {t.name}", role="buffer") for t in weights.values()]
    back = [replace(t, name=f"{t.name}, scaled back", role="activation") for t in gradients]
    end = graph.settings["backwards"][-1] if graph.settings.get("backwards") else len(ops)
    ops.insert(end, make_op("foreach", "scale the gradients back", gradients, back, inplace=True))
    return replace(graph, ops=tuple(ops), dtype="fp16", settings=_longer(graph.settings))


def _longer(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The calls that ops came from no longer match them."""
    return {name: value for name, value in settings.items() if name != "calls"}


def unmasked(graph: Graph) -> Graph | None:
    """Attention without a mask tensor, which keeps the fastest kernels away."""

    def masked(one: Op) -> bool:
        return one.kind == "attention" and len(one.inputs) > 3 and one.dtype in HALF

    if not any(map(masked, graph.ops)):
        return None
    ops = [make_op(one.kind, one.name, one.inputs[:3], one.outputs, **one.attrs) if masked(one) else one for one in graph.ops]
    return replace(graph, ops=tuple(ops))


def in_fp8(graph: Graph) -> Graph | None:
    """Linear layers in FP8: weights stored so, what comes in rounded by a kernel before each product, results in the model's format."""
    if graph.dtype not in HALF or graph.settings.get("training"):
        return None
    ops: list[Op] = []
    for one in graph.ops:
        ops += _eight_bits(one) if _takes_fp8(one) else [one]
    return replace(graph, ops=tuple(ops)) if len(ops) > len(graph.ops) else None


def _takes_fp8(one: Op) -> bool:
    if one.kind != "linear" or one.inputs[1].role != "weight" or one.inputs[1].dtype not in HALF:
        return False
    return all(isinstance(side, int | float) and side % SMALLEST == 0 for side in one.inputs[1].shape)


def _eight_bits(one: Op) -> list[Op]:
    x, w, *rest = one.inputs
    rounded = Tensor(f"{one.name}.rounded", x.shape, "fp8")
    cast = make_op("cast", rounded.name, (x,), (rounded,))
    product = make_op(one.kind, one.name, (rounded, replace(w, dtype="fp8"), *rest), one.outputs, **{**one.attrs, "dtype": "fp8"})
    return [cast, product]


def channels_last(graph: Graph) -> Graph | None:
    """With the channels of every image innermost, as convolutions on a GPU compute. None with a norm over groups of them:
    that turns the image round, and what it costs is not in the graph."""
    if not any(_turns(one) for one in graph.ops) or any(traits(one.kind).grouped for one in graph.ops):
        return None
    return replace(graph, ops=tuple(with_attrs(one, layout="nhwc") if one.kind in IMAGES and _free(one) else one for one in graph.ops))


def _turns(one: Op) -> bool:
    return one.kind in CONVOLUTIONS and _free(one)


def _free(one: Op) -> bool:
    return one.attrs.get("layout") is None and one.attrs.get("dims", 2) == 2


def fused_kernels(graph: Graph, count: int) -> Iterator[tuple[tuple[str, ...], int, Graph]]:
    """The kernels of the decision tree that would save most traffic and launches if somebody wrote them: what one is made of, how often the
    model runs it, and the graph with all of its kind in place."""
    plan = fuse(graph)
    times: Counter[tuple[str, ...]] = Counter()
    saved: Counter[tuple[str, ...]] = Counter()  # bytes
    for group, kernel in zip(plan.groups, plan.graph.ops, strict=True):
        if len(group.ops) > 1:
            times[_kinds(group)] += 1
            saved[_kinds(group)] += int(sum(one.work.bytes for one in group.ops) - kernel.work.bytes)
    for kinds, _ in saved.most_common(count):
        groups = [part for group in plan.groups for part in _whole(group, kinds)]
        yield kinds, times[kinds], FusionPlan(graph, tuple(groups), ()).graph


def _kinds(group: Group) -> tuple[str, ...]:
    return tuple(one.kind for one in group.ops)


def _whole(group: Group, kinds: tuple[str, ...]) -> tuple[Group, ...]:
    if _kinds(group) == kinds:
        return (group,)
    return tuple(Group((one,), (), "") for one in group.ops)
