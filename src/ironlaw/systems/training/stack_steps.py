"""A training step as a stack runs it: the device's time at the stack's pace, what the stack leaves to see of communication, and its own."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ironlaw.engine.cluster.layouts import Layout
from ironlaw.engine.cluster.links import Box
from ironlaw.engine.cluster.shapes import Shape
from ironlaw.engine.cluster.stacks import Stack
from ironlaw.engine.cluster.steps import Compute, StepTime, step_time
from ironlaw.errors import BadValue
from ironlaw.registry.stacks import IDEAL, NARROW, stack
from ironlaw.systems.training.shard_times import compute


@dataclass(frozen=True)
class Way:
    """Which stack trains, in which mode, its products in which format ("": the model's own), and whether tensor collectives run beside
    pieces of the products."""

    stack: Stack = IDEAL
    mode: str = "compiled"
    products: str = ""
    asynchronous: bool = False


def way_of(name: str, mode: str | None, dtype: str, asynchronous: bool) -> Way:
    """As somebody asks for it: a format of 8 bits or fewer is that of products, beside a model in 16."""
    own = stack(name)
    if asynchronous and own.asynchronous == 1.0:
        raise BadValue(
            f"{own.slug} has no option for asynchronous tensor parallelism; take `stack=torchtitan`, or leave `async_tp` out", "async_tp"
        )
    if asynchronous and mode == "eager":
        raise BadValue("asynchronous tensor parallelism needs a compiled model; leave `mode` out", "mode")
    if dtype in NARROW and dtype not in own.narrow:
        raise BadValue(
            f"{own.slug} has no products in {dtype}; give one of {', '.join(('bf16', *own.narrow))}, or another `stack`", "dtype"
        )
    return Way(own, mode or own.mode, dtype if dtype in NARROW else "", asynchronous)


def able(own: Stack, layout: Layout) -> None:
    """Refuse a layout that the stack can't run."""
    lack = own.lacks(layout)
    if lack:
        raise BadValue(f"{own.slug} can't run {layout}: it has {lack[1]}; give another layout or another `stack`", lack[0])


def stack_compute(shape: Shape, layout: Layout, seq: int, machine: str, way: Way, dtype: str = "bf16") -> Compute:
    """What one device computes, at the stack's pace; an update on the host is none of it."""
    trained = way.stack.trains(shape, layout.tensor)
    own = compute(trained, layout, seq, machine, dtype, products=way.products, pace=way.stack.in_mode(way.mode))
    return replace(own, update=(0.0 if layout.offload else own.update) + way.stack.step)


def stack_step(shape: Shape, layout: Layout, at: Box, batch: int, seq: int, way: Way, dtype: str = "bf16") -> StepTime:
    work = stack_compute(shape, layout, seq, at.device, way, dtype)
    trained = way.stack.trains(shape, layout.tensor)
    return step_time(trained, layout, at, batch, seq, work, seen=way.stack.hides(way.asynchronous, way.products))
