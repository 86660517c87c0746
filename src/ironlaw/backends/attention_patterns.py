"""Attention written out as products and a softmax, which torch.compile recognises and replaces by its own attention.

PyTorch 2.11, torch/_inductor/fx_passes/fuse_attention.py: scores divided by a number, with or without a mask added (patterns 1, 5, 11
and 14); multiplied by a number where the operands lie as they were made (pattern 2); plain, of three axes (pattern 13). Copies that only
bring the operands into the order of a product go with them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from ironlaw.engine.device.types import Graph, Op, Tensor
from ironlaw.engine.device.work import op as make_op

AXES = 4  # batch, heads, queries, keys: of more, no pattern is known


def recognised(graph: Graph) -> Graph:
    """The same graph with one attention op for each pattern in it."""
    if not any(op.kind == "softmax" for op in graph.ops):
        return graph
    maker = {t.name: op for op in graph.ops for t in op.outputs}
    uses = Counter(t.name for op in graph.ops for t in op.inputs)
    uses.update(graph.outputs)
    gone: set[str] = set()
    put: dict[str, Op] = {}
    for op in graph.ops:
        if op.kind == "bmm" and (found := _pattern(op, maker, uses)):
            gone |= {inner.name for inner in found.inside}
            put[op.name] = found.attention(op)
    if not put:
        return graph
    return replace(graph, ops=tuple(put.get(op.name, op) for op in graph.ops if op.name not in gone))


@dataclass(frozen=True, slots=True)
class Pattern:
    """Operands of one attention, and the ops that it takes the place of beside the last product."""

    query: Tensor
    key: Tensor
    value: Tensor
    scores: Tensor
    mask: tuple[Tensor, ...]
    inside: tuple[Op, ...]

    def attention(self, last: Op) -> Op:
        heads = tuple(self.scores.shape[:-2]) if len(self.scores.shape) == 4 else (1, self.scores.shape[0])
        deep, wide = self.query.shape[-1], self.value.shape[-1]
        s, t = self.scores.shape[-2:]
        operands = (
            replace(self.query, shape=(*heads, s, deep)), replace(self.key, shape=(*heads, t, deep)),
            replace(self.value, shape=(*heads, t, wide)), *self.mask,
        )  # fmt: skip
        return make_op("attention", last.name, operands, [replace(last.outputs[0], shape=(*heads, s, wide))], recognised=True)


def _pattern(last: Op, maker: dict[str, Op], uses: Counter[str]) -> Pattern | None:
    """The pattern that ends with this product; None where there is none."""

    def before(t: Tensor) -> Op | None:
        made = maker.get(t.name)
        return made if made is not None and uses[t.name] == 1 else None

    softmax = before(last.inputs[0])
    if softmax is None or softmax.kind != "softmax" or len(softmax.inputs[0].shape) > AXES:
        return None
    mask: tuple[Tensor, ...] = ()
    inside, step = [softmax], before(softmax.inputs[0])
    if step is not None and step.kind == "add" and len(step.inputs) == 2:
        inside, mask, step = [*inside, step], step.inputs[1:], before(step.inputs[0])
    divided = step is not None and step.kind == "scale" and "div" in step.name.split(".")
    scaled = step is not None and step.kind == "scale"
    if step is not None and scaled:
        inside, step = [*inside, step], before(step.inputs[0])
    if step is None or step.kind != "bmm":
        return None
    inside.append(step)
    flat = len(softmax.inputs[0].shape) == 3
    copies = [made for t in (*step.inputs, last.inputs[1]) if (made := before(t)) is not None and made.kind == "copy"]
    if not (divided or (scaled and not copies and not mask) or (flat and not scaled and not mask)):
        return None
    turned = {made.outputs[0].name: made.inputs[0].name for made in copies}
    query, key, value = (replace(t, name=turned.get(t.name, t.name)) for t in (*step.inputs, last.inputs[1]))
    return Pattern(query, key, value, softmax.inputs[0], mask, (*inside, *copies))
