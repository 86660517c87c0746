"""What a compiler computes again where it is read, rather than store it.

torch.compile puts an element-wise result into the loops that read it. Only what a library reads, what is handed back, what takes more
than a few tensors or many steps is stored. So the stream of a transformer with its norms first is not written after each layer: a norm
reads the parts that were added since the last time, up to five of them, and a rotation's sines are taken anew in every layer.

From PyTorch 2.11, torch/_inductor/ir.py (`should_realize_on_reuse`, `has_exceeded_max_reads`) and config.py: a result with several readers
is stored from five tensors on (`realize_reads_threshold` is 4), one with a single reader from nine on (`realize_acc_reads_threshold` is 8),
any of more than thirty steps (`realize_opcount_threshold`). More than eight tensors are not put together by one kernel
(`max_pointwise_cat_inputs`): each is written to its place by its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from ironlaw.engine.arrays import Number
from ironlaw.engine.device.types import Graph, Op, Tensor
from ironlaw.engine.device.work import UNCOMPILED, category, in_pieces, traits

SHARED_READS, READS, STEPS = 4, 8, 30
PIECE = 4  # steps of a concatenation for each piece: where it ends, two comparisons or a choice, a load that may not be made
LOOPS = ("elementwise", "rowwise", "reduction", "movement")  # readers that are loops of the compiler's own
LOOKUPS = ("embedding", "gather")  # so are these: index and table are computed where they are read (lowering.py, `gather`, `index_impl`)
AGAIN = ("copy", "transpose", "cat", "repeat", "pad", "gather", "embedding")  # movements that are no more than another way to read


@dataclass(frozen=True, slots=True)
class Expression:
    """How an element of a tensor is computed: from which stored tensors, with the bytes that are read of each, and by which ops."""

    leaves: Mapping[str, tuple[Tensor, Number]]
    ops: tuple[Op, ...]
    counted: Mapping[str, int]  # op -> its steps; of a concatenation with all that is computed for each of its pieces

    @property
    def steps(self) -> int:
        return len(self.leaves) + sum(self.counted.values())


def expressions(graph: Graph) -> dict[str, Expression]:
    """The tensors that are not stored, by name."""
    readers: dict[str, list[Op]] = defaultdict(list)
    for op in graph.ops:
        for name in {t.name for t in op.inputs}:
            readers[name].append(op)
    kept = set(graph.outputs)
    found: dict[str, Expression] = {}
    for op in graph.ops:
        if len(op.outputs) != 1 or UNCOMPILED in op.attrs or not (category(op.kind) == "elementwise" or op.kind in AGAIN) or in_pieces(op):
            continue
        made = op.outputs[0].name
        users = readers[made]
        if users and made not in kept and all(map(_loops, users)) and not _stored(one := _expression(op, found), users):
            found[made] = one
    return found


def _loops(user: Op) -> bool:
    """Whether a reader is a loop of the compiler's own, and can compute what it reads; what is rolled is read from where it is stored."""
    written = category(user.kind) in LOOPS or (user.kind in LOOKUPS and user.attrs.get("how") != "bags")
    return written and UNCOMPILED not in user.attrs and not user.attrs.get("rolled")


def _expression(op: Op, found: Mapping[str, Expression]) -> Expression:
    leaves: dict[str, tuple[Tensor, Number]] = {}
    ops: list[Op] = [op]
    counted = {op.name: traits(op.kind).steps}
    for t, count in zip(op.inputs, op.reads, strict=True):
        if t.name in found:
            leaves |= found[t.name].leaves
            ops += [inner for inner in found[t.name].ops if inner not in ops]
            if op.kind == "cat":  # elsewhere than the other pieces, so nothing is shared with them
                counted[op.name] += found[t.name].steps
            else:
                counted |= found[t.name].counted
        else:
            leaves[t.name] = (t, count)
    if op.kind == "cat":
        counted[op.name] += PIECE * len(op.inputs)
    return Expression(leaves, tuple(ops), counted)


def _stored(one: Expression, users: list[Op]) -> bool:
    """A norm or a softmax reads its row twice: for the sums, and for the result."""
    several = len(users) > 1 or category(users[0].kind) == "rowwise"
    return len(one.leaves) > (SHARED_READS if several else READS) or one.steps > STEPS
