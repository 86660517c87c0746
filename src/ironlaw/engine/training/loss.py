"""The loss at the end of a model: cross-entropy in FP32 over every row of its logits, as PyTorch runs it, or the sum of its outputs."""

from __future__ import annotations

from dataclasses import replace

from ironlaw.engine.device.types import Graph, Op, Tensor
from ironlaw.engine.device.work import op
from ironlaw.errors import BadValue

LOSS = "loss."  # how the names of its ops begin
HEADS = ("linear", "conv2d")
WIDE = ("fp32", "tf32", "fp64")  # formats in which a loss is computed as they are


def head(graph: Graph) -> Op | None:
    """The op that makes the logits; None where the model hands back something else."""
    maker = next((one for one in reversed(graph.ops) if graph.outputs[0] in {t.name for t in one.outputs}), None)
    return maker if maker is not None and maker.kind in HEADS and len(graph.outputs) == 1 else None


def in_head(name: str, top: str) -> bool:
    return name == top or name.startswith(LOSS)


def with_loss(graph: Graph) -> Graph:
    """The same graph, with the ops that lead from its outputs to one number."""
    if graph.settings.get("training"):
        raise BadValue(f"{graph.name} is a training step already; give its forward pass alone")
    if any(one.name.startswith(LOSS) for one in graph.ops):
        return graph
    if head(graph) is None:
        return _summed(graph)
    logits = graph.tensors[graph.outputs[0]]
    rows, classes = logits.size / logits.shape[-1], logits.shape[-1]
    x = replace(logits, shape=(rows, classes))
    ops = []
    if logits.dtype not in WIDE:
        ops.append(op("cast", f"{LOSS}to_fp32", (x,), (Tensor(f"{LOSS}to_fp32", (rows, classes), "fp32"),)))
        x = ops[-1].outputs[0]
    ops.append(op("log_softmax", f"{LOSS}log_softmax", (x,), (Tensor(f"{LOSS}log_softmax", (rows, classes), x.dtype),)))
    labels = Tensor("labels", (rows,), "int64", "input")
    ops.append(op("gather", f"{LOSS}pick", (ops[-1].outputs[0], labels), (Tensor(f"{LOSS}pick", (1,), x.dtype),), weighed=True))
    return replace(graph, ops=(*graph.ops, *ops), outputs=(f"{LOSS}pick",))


def _summed(graph: Graph) -> Graph:
    """Its own loss, where a captured model hands back one number, whatever comes beside it; else the sum of all that it hands back, in
    FP32. `analyze --training` takes the same (`tracing.fake_run.loss_of`)."""
    total = [graph.tensors[name] for name in graph.outputs]
    alone = [t for t in total if t.size == 1]
    if graph.settings.get("captured") and len(alone) == 1:
        home = graph.settings.get("within", {})
        end = Tensor(f"{LOSS}sum0", (1,), alone[0].dtype)
        settings = {**graph.settings, "within": {**home, end.name: home.get(alone[0].name, alone[0].name)}}
        ops = (*graph.ops, op("sum", end.name, (alone[0],), (end,), over="all", inplace=True))
        return replace(graph, ops=ops, outputs=(end.name,), settings=settings)
    ends: list[Op] = []
    sums: list[Tensor] = []
    for i, t in enumerate(total):
        wide = t if t.dtype in WIDE else Tensor(f"{LOSS}to_fp32.{i}", t.shape, "fp32")
        if wide is not t:
            ends.append(op("cast", wide.name, (t,), (wide,)))
        ends.append(op("sum", f"{LOSS}sum{i}", (wide,), (Tensor(f"{LOSS}sum{i}", (1,), "fp32"),), over="all"))
        sums.append(ends[-1].outputs[0])
    while len(sums) > 1:
        added = f"{LOSS}add{len(sums)}"
        ends.append(op("add", added, tuple(sums[:2]), (Tensor(added, (1,), "fp32"),)))
        sums[:2] = [ends[-1].outputs[0]]
    return replace(graph, ops=(*graph.ops, *ends), outputs=(sums[0].name,))


def chunked(graph: Graph, chunks: int) -> Graph:
    """A graph with its loss, whose head and loss work on one of `chunks` equal parts of the rows."""
    if not isinstance(chunks, int) or chunks < 1:
        raise BadValue(f"the loss in {chunks!r} chunks; give a whole number of at least 1", "loss_chunks")
    if chunks == 1:
        return graph
    top = top_of(graph)
    if not top:
        raise BadValue(f"{graph.name} has no logits: its loss can't be taken in chunks; leave loss_chunks at 1", "loss_chunks")

    def part(t: Tensor) -> Tensor:
        if t.role in ("weight", "buffer") or t.size == 1:
            return t
        rows, *rest = (t.size / t.shape[-1], t.shape[-1]) if len(t.shape) > 1 else t.shape
        return replace(t, shape=(rows / chunks, *rest))

    ops = tuple(
        op(one.kind, one.name, tuple(map(part, one.inputs)), tuple(map(part, one.outputs)), **one.attrs) if in_head(one.name, top) else one
        for one in graph.ops
    )
    return replace(graph, ops=ops)


def top_of(graph: Graph) -> str:
    """The op that makes the logits of a graph with its loss; empty where the loss is a sum."""
    first, *later = [one for one in graph.ops if one.name.startswith(LOSS)]
    if not any(one.kind == "log_softmax" for one in (first, *later)):
        return ""
    makers = {t.name: one.name for one in graph.ops for t in one.outputs}
    return makers[first.inputs[0].name]
