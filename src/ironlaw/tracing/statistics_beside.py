"""What a GPU's kernels keep beside their results for a gradient, where a processor's fake tensors show none or others: attention's sums of
rows, an RMS norm's scales, and in FP32 the statistics of a norm over half precision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ironlaw.engine.device.types import Op
from ironlaw.engine.training.autograd import statistics

Beside = dict[str, tuple[float, str, str]]  # tensor -> its bytes, the op that makes it, the last before it is freed
ALONE = {"attention": "attention_backward", "rms_norm": "norm_backward"}  # recorded with one result; the op whose gradient it is
WIDE = ("layer_norm", "batch_norm_train")  # statistics in FP32, whatever goes in


def completed(beside: Beside, ops: Sequence[Op], within: Mapping[str, str]) -> Beside:
    """The same, as on a GPU."""
    return {**beside, **dict(_wide(beside, ops)), **dict(_asked(ops, within))}


def _wide(beside: Beside, ops: Sequence[Op]) -> Iterator[tuple[str, tuple[float, str, str]]]:
    by_op: dict[str, list[str]] = {}
    for name, (_, by, _) in beside.items():
        by_op.setdefault(by, []).append(name)
    for op in ops:
        if op.kind in WIDE and op.name in by_op:
            for name in by_op[op.name]:
                yield name, (float(statistics(op)) / len(by_op[op.name]), *beside[name][1:])


def _asked(ops: Sequence[Op], within: Mapping[str, str]) -> Iterator[tuple[str, tuple[float, str, str]]]:
    """Their lives, until the op of the gradient that reads what they are statistics of: attention's result, or what a norm was given."""
    made: dict[tuple[str, str], list[Op]] = {}
    for op in ops:
        for t in op.inputs:
            if makers := made.get((op.kind, within.get(t.name, t.name))):
                maker = makers.pop()
                yield f"{maker.name}:statistics", (float(statistics(maker)), maker.name, op.name)
        if op.kind in ALONE:
            read = op.outputs[0] if op.kind == "attention" else op.inputs[0]
            made.setdefault((ALONE[op.kind], within.get(read.name, read.name)), []).append(op)
