"""The fusion tree walked by hand: two ops, a question at each branch, then the planner's verdict with its reason.

No answer is judged before the walk has ended: the verdict is the planner's, for the same two ops.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw.engine.device.work import KINDS, category
from ironlaw.errors import BadValue
from ironlaw.recall import walk as walks
from ironlaw.recall.card_words import display
from ironlaw.recall.pairs import OVER, pair, siblings
from ironlaw.recall.tree_drawing import LEAVES, plain, rows
from ironlaw.widget.piece import Piece

SHAPES = ((64, 64), (1024, 1024), (8192, 8192))
RELATIONS = (("chain", "one after the other"), ("siblings", "both read one input"))
FITS = (("same", "keeps its size"), ("half", "half as many rows"))
ALONG = {"row": "along a row", "all": "over the whole tensor"}
START = {"first": "matmul", "second": "relu", "shape": 1, "relation": "chain", "over": "row", "fit": "same"}
PATTERNS = {
    "epilogue": "epilogue: one kernel", "pointwise": "pointwise: one kernel", "vertical": "vertical: one kernel",
    "horizontal": "horizontal: one kernel", "barrier": "a barrier: two kernels", "none": "not fused: two kernels",
}  # fmt: skip


def offered() -> list[str]:
    """The op kinds of a forward pass, by category; those that only represent several ops at once are left out."""
    kinds = [kind for kind in KINDS if not kind.endswith("_backward") and kind not in ("block", "foreach")]
    return sorted(kinds, key=lambda kind: (category(kind), kind))


def walker() -> Piece:
    kinds = [{"value": kind, "label": display(kind), "group": category(kind)} for kind in offered()]
    spec = {
        "id": "walk", "kinds": kinds, "shapes": [display(shape) for shape in SHAPES], "relations": [list(one) for one in RELATIONS],
        "over": [[over, ALONG[over]] for over in OVER], "fits": [list(fit) for fit in FITS],
        "trees": {relation: [plain(row) for row in rows(relation == "siblings")] for relation, _ in RELATIONS},
    }  # fmt: skip
    return Piece("walk", spec, view, {**START, "answers": []})


def view(state: Mapping[str, Any]) -> dict[str, Any]:
    """The questions answered so far, the next one, and at the end the verdict and the wrong answers."""
    answers = state.get("answers")
    if not isinstance(answers, (list, tuple)) or not all(isinstance(answer, bool) for answer in answers):
        raise BadValue("answer each branch with yes or no")
    walk = walk_from(state, answers)
    over = walk.pattern is not None
    steps = [{"ask": step.branch.ask, "answer": step.answer, "right": step.right if over else None} for step in walk.steps]
    reduces = any(category(str(state.get(end))) == "reduction" for end in ("first", "second"))
    result: dict[str, Any] = {"steps": steps, "next": walk.next.ask if walk.next else None, "end": None, "reduces": reduces}
    passed = {name: answer for name, answer, _ in walk.path}
    result["drawn"] = {"passed": passed, "at": walk.next.id if walk.next else None, "end": LEAVES[walk.pattern] if walk.pattern else None}
    if over and walk.skipped:
        result["skipped"] = f"{left_out(walk.skipped)} that these two ops answer by themselves."
    if over:
        verdict = walk.verdict
        result["end"] = {
            "you": PATTERNS[str(walk.pattern)], "planner": PATTERNS[verdict.pattern], "agrees": walk.agrees, "reason": verdict.reason,
            "wrong": [branch.ask for branch in walk.wrong],
        }  # fmt: skip
    return result


def left_out(count: int) -> str:
    return "Not asked: a question" if count == 1 else f"Not asked: {count} questions"


def walk_from(state: Mapping[str, Any], answers: list[bool] | tuple[bool, ...]) -> walks.Walk:
    """The walk of a state's two ops."""
    place = state.get("shape")
    if isinstance(place, bool) or not isinstance(place, int) or not 0 <= place < len(SHAPES):
        raise BadValue(f"{place!r} is not a valid shape; choose one of the {len(SHAPES)}")
    shape = SHAPES[place]
    last = (shape[0] // 2, shape[1]) if state.get("fit") == "half" else None
    first, second, over = str(state.get("first")), str(state.get("second")), str(state.get("over"))
    for kind in (first, second):
        category(kind)  # raises for an unknown kind
    if last is not None and category(second) == "reduction":
        last = None  # a reduction makes its own shape
    if state.get("relation") == "siblings":
        return walks.walk_siblings(*siblings(first, second, shape, over, last), answers)
    return walks.walk(*pair(first, second, shape, over, last), answers)
