"""The fusion tree, walked by hand: a question at each branch, the learner's answers, and the planner's verdict next to theirs.

The questions come in the planner's order; the true answers are computed from the two ops. A question that the chosen ops answer by
themselves, such as whether a ReLU is a view, is skipped; one at least is asked. The result is compared with `decide`, which plans fusion
in the labs; a test walks every pair of op kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ironlaw.engine.device.fusion import fuse
from ironlaw.engine.device.fusion_rules import FUSED, Verdict, decide, same_size
from ironlaw.engine.device.types import Graph, Op
from ironlaw.engine.device.work import SMALL_REDUCTION, category
from ironlaw.errors import BadValue

Predicate = Callable[[Op, Op], bool]


@dataclass(frozen=True, slots=True)
class Branch:
    """A question with two exits: another branch's id, or `= pattern` where the walk ends."""

    id: str
    ask: str
    true: Predicate
    yes: str
    no: str
    near: Predicate  # for which ops it is worth asking; for the others its answer is plain


@dataclass(frozen=True, slots=True)
class Step:
    branch: Branch
    answer: bool
    right: bool


@dataclass(frozen=True, slots=True)
class Walk:
    """A learner's answers for a pair. `pattern` is where they led; None while there are questions left."""

    steps: tuple[Step, ...]
    pattern: str | None
    next: Branch | None
    verdict: Verdict
    path: tuple[tuple[str, bool, bool], ...]  # the branches passed so far: id, answer, and whether it was asked

    @property
    def skipped(self) -> int:
        """Questions that the ops answered by themselves."""
        return sum(not asked for _, _, asked in self.path)

    @property
    def agrees(self) -> bool:
        """Whether the learner and the planner reach the same pattern."""
        return self.pattern == self.verdict.pattern

    @property
    def wrong(self) -> tuple[Branch, ...]:
        return tuple(step.branch for step in self.steps if not step.right)


def always(a: Op, b: Op) -> bool:
    return True


def never(a: Op, b: Op) -> bool:
    """The op's name is the answer."""
    return False


def _is(first: tuple[str, ...] = (), second: tuple[str, ...] = ()) -> Predicate:
    return lambda a, b: (not first or category(a.kind) in first) and (not second or category(b.kind) in second)


def _whole(op: Op) -> bool:
    """Whether it reduces a whole tensor that is too large for one block."""
    return category(op.kind) == "reduction" and op.attrs.get("over", "row") == "all" and bool(op.inputs[0].size > SMALL_REDUCTION)


def _same(a: Op, b: Op) -> bool:
    return same_size(a.outputs[0], b.outputs[0])


MANY, APART = ("contraction", "attention"), ("window", "lookup")
TREE: Mapping[str, Branch] = {
    branch.id: branch
    for branch in (
        Branch("fused", "Is one of the two a fused kernel already?", lambda a, b: FUSED in (a.kind, b.kind), "= none", "free", never),
        Branch("free", "Is one of them a view, which moves nothing?", lambda a, b: "free" in (category(a.kind), category(b.kind)), "= none",
               "opaque", never),
        Branch("opaque", "Is one of them a black box, whose inside is unknown?",
               lambda a, b: "opaque" in (category(a.kind), category(b.kind)), "= none", "library", never),
        Branch("library", "Is the first an attention kernel or a sort, taken from a library as it is, or a write into part of a tensor?",
               lambda a, b: category(a.kind) == "attention" or a.kind in ("topk", "write"), "= none", "epilogue", never),
        Branch("epilogue", "Is the first a matmul or a convolution, and the second element-wise?", _is(("contraction",), ("elementwise",)),
               "tile", "many", _is(("contraction",))),
        Branch("tile", "Does the second keep the shape, so that a tile can finish it?", _same, "= epilogue", "= none", always),
        Branch("many", "Does the second read each element many times, as a matmul, convolution or attention does?", _is((), MANY), "= none",
               "order", _is((), (*MANY, "reduction"))),
        Branch("order", "Does the second read elements out of order, as pooling or a lookup does?", _is((), APART), "= none", "heavy",
               _is((), (*APART, "movement"))),
        Branch("heavy", "Is the first a matmul or a convolution?", _is(("contraction",)), "moves", "waits", never),
        Branch("moves", "Does the second only move data elsewhere, as a transpose does?", _is((), ("movement",)), "= none", "= barrier",
               always),
        Branch("waits", "Is the first a reduction over the whole tensor, too large for one block?", lambda a, b: _whole(a), "= barrier",
               "parts", _is(("reduction",))),
        Branch("parts", "Is the second a reduction over the whole tensor, too large for one block?", lambda a, b: _whole(b), "feeds",
               "pointwise", _is((), ("reduction",))),
        Branch("feeds", "Is the first element-wise, so that parts of the sum can take its elements as they are made?",
               _is(("elementwise",)), "= vertical", "= barrier", always),
        Branch("pointwise", "Are both element-wise, with results of one size?",
               lambda a, b: _is(("elementwise",), ("elementwise",))(a, b) and _same(a, b), "= pointwise", "= vertical", always),
    )
}  # fmt: skip
SIBLINGS: Mapping[str, Branch] = {
    branch.id: branch
    for branch in (
        Branch("elementwise", "Are both element-wise?", _is(("elementwise",), ("elementwise",)), "shape", "= none", always),
        Branch("shape", "Do they make tensors of one size?", _same, "= horizontal", "= none", always),
    )
}


def walk(first: Op, second: Op, answers: Sequence[bool]) -> Walk:
    """A producer and the consumer of its result, with the answers so far."""
    return _walk(TREE, "fused", first, second, answers, decide(first, second))


def walk_siblings(first: Op, second: Op, answers: Sequence[bool]) -> Walk:
    """Two ops that read the same tensor: the horizontal branch. The verdict is the planner's for the two together."""
    return _walk(SIBLINGS, "elementwise", first, second, answers, sibling_verdict(first, second))


def truth(first: Op, second: Op, shared: bool = False) -> tuple[bool, ...]:
    """The right answers to the questions that are asked."""
    tree, start = (SIBLINGS, "elementwise") if shared else (TREE, "fused")
    answers: list[bool] = []
    at, _ = _skip(tree, start, first, second, False)
    while not at.startswith("="):
        answers.append(tree[at].true(first, second))
        at, _ = _skip(tree, tree[at].yes if answers[-1] else tree[at].no, first, second, True)
    return tuple(answers)


def sibling_verdict(first: Op, second: Op) -> Verdict:
    """The planner's verdict on two ops that share an input."""
    plan = fuse(Graph("siblings", (first, second), first.dtype, outputs=(first.outputs[0].name, second.outputs[0].name)))
    if plan.verdicts:
        return plan.verdicts[-1]
    return Verdict(first.name, second.name, False, "none", "the planner joins only element-wise ops of one size over a shared input")


def _skip(tree: Mapping[str, Branch], at: str, first: Op, second: Op, asked: bool) -> tuple[str, list[tuple[str, bool]]]:
    """The next question worth asking, or the end, and those skipped with their answers. Before the first answer, the last one is asked
    anyway."""
    skipped: list[tuple[str, bool]] = []
    while not at.startswith("=") and not tree[at].near(first, second):
        skipped.append((at, tree[at].true(first, second)))
        at = tree[at].yes if skipped[-1][1] else tree[at].no
    return (skipped[-1][0], skipped[:-1]) if at.startswith("=") and not asked else (at, skipped)


def _walk(tree: Mapping[str, Branch], at: str, first: Op, second: Op, answers: Sequence[bool], verdict: Verdict) -> Walk:
    steps: list[Step] = []
    at, skipped = _skip(tree, at, first, second, False)
    path = [(name, truly, False) for name, truly in skipped]
    for answer in answers:
        if at.startswith("="):
            raise BadValue(f"the walk ended after {len(steps)} answers, but there are {len(answers)}; leave out the rest")
        branch = tree[at]
        steps.append(Step(branch, answer, branch.true(first, second) == answer))
        at, skipped = _skip(tree, branch.yes if answer else branch.no, first, second, True)
        path += [(branch.id, answer, True), *((name, truly, False) for name, truly in skipped)]
    ended = at.startswith("=")
    return Walk(tuple(steps), at.removeprefix("= ") if ended else None, None if ended else tree[at], verdict, tuple(path))
