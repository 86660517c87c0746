"""Chains of ops in PyTorch: op by op, block by block, or compiled into one kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ironlaw.measure.devices.device import COMPILED, EAGER, Call
from ironlaw.measure.devices.thread_blocks import DROP, SCALE, SHIFT, rows_in_block


def steps(torch: Any) -> dict[str, Callable[[Any], Any]]:
    functional = torch.nn.functional
    return {
        "scale": lambda x: x * SCALE,
        "shift": lambda x: x + SHIFT,
        "relu": torch.relu,
        "layer_norm": lambda x: functional.layer_norm(x, (x.shape[1],)),
        "dropout": lambda x: functional.dropout(x, DROP, training=True),
    }


def chain(torch: Any, kinds: Sequence[str], x: Any, mode: str, threads: int) -> Call:
    """The ops one after the other on a matrix. `threads`: how many share a block."""
    known = steps(torch)
    ops = [known[kind] for kind in kinds]

    def whole(part: Any) -> Any:
        for op in ops:
            part = op(part)
        return part

    if mode == COMPILED:
        torch._dynamo.reset()  # each chain is a function of its own, not another shape of the last one
        compiled = torch.compile(whole, dynamic=False)
        compiled(x)
        return lambda: compiled(x)
    if mode == EAGER:
        return lambda: whole(x)
    blocks = x.split(rows_in_block(x.shape, 4, threads))
    return lambda: [whole(block) for block in blocks]
