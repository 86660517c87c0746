"""A training step as a stack runs it: the device's time at the stack's pace, what the stack leaves to see of communication, and its own."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ironlaw.engine.cluster.layouts import Layout
from ironlaw.engine.cluster.links import Box
from ironlaw.engine.cluster.shapes import Shape
from ironlaw.engine.cluster.stacks import Stack
from ironlaw.engine.cluster.steps import Compute, StepTime, step_time
from ironlaw.registry.stacks import IDEAL
from ironlaw.systems.training.shard_times import compute


@dataclass(frozen=True)
class Way:
    """Which stack trains, in which mode, its products in which format ("": the model's own), and whether tensor collectives run beside
    pieces of the products."""

    stack: Stack = IDEAL
    mode: str = "compiled"
    products: str = ""
    asynchronous: bool = False


def stack_compute(shape: Shape, layout: Layout, seq: int, machine: str, way: Way, dtype: str = "bf16") -> Compute:
    """What one device computes, at the stack's pace."""
    trained = way.stack.trains(shape, layout.tensor)
    own = compute(trained, layout, seq, machine, dtype, products=way.products, pace=way.stack.in_mode(way.mode))
    return replace(own, update=own.update + way.stack.step)


def stack_step(shape: Shape, layout: Layout, at: Box, batch: int, seq: int, way: Way, dtype: str = "bf16") -> StepTime:
    work = stack_compute(shape, layout, seq, at.device, way, dtype)
    trained = way.stack.trains(shape, layout.tensor)
    return step_time(trained, layout, at, batch, seq, work, seen=way.stack.hides(way.asynchronous))
