"""The fusion tree walked by hand agrees with the planner, for every pair of op kinds."""

from functools import cache

import pytest

from ironlaw.engine.device.fusion_rules import decide
from ironlaw.engine.device.work import KINDS, category
from ironlaw.errors import BadValue, UnknownName
from ironlaw.recall.pairs import make, pair, siblings
from ironlaw.recall.tree_drawing import HOUSEKEEPING, rows
from ironlaw.recall.walk import SIBLINGS, TREE, truth, walk, walk_siblings

# small and large, another shape at the end, four dimensions; reductions along a row and over the whole tensor
CASES = [((64, 64), None, "row"), ((64, 64), None, "all"), ((1024, 768), None, "row"), ((1024, 768), None, "all"),
         ((64, 64), (64, 32), "row"), ((2, 4, 8, 8), None, "all")]  # fmt: skip


@cache
def walked(shape, last, over):
    """Every pair of kinds with its walk, all answers right."""
    walks = {}
    for producer in KINDS:
        for consumer in KINDS:
            first, second = pair(producer, consumer, shape, over, last)
            walks[producer, consumer] = (first, second, walk(first, second, truth(first, second)))
    return walks


@pytest.mark.parametrize(("shape", "last", "over"), CASES)
def test_the_walk_ends_where_the_planner_does(shape, last, over):
    patterns = set()
    for (producer, consumer), (first, second, made) in walked(shape, last, over).items():
        verdict = decide(first, second)
        assert made.next is None and made.agrees and made.wrong == (), (producer, consumer, made)
        assert made.verdict == verdict and (made.pattern in ("epilogue", "pointwise", "vertical")) == verdict.fused
        patterns.add(made.pattern)
    assert patterns >= {"none", "vertical", "barrier"} | ({"epilogue", "pointwise"} if last is None else set())


@pytest.mark.parametrize(("shape", "last"), [((64, 64), None), ((64, 64), (64, 32))])
def test_ops_that_share_an_input(shape, last):
    patterns = set()
    for one in KINDS:
        for other in KINDS:
            first, second = siblings(one, other, shape, "row", last)
            made = walk_siblings(first, second, truth(first, second, shared=True))
            assert made.next is None and made.agrees, (one, other, made)
            patterns.add(made.pattern)
    assert patterns == ({"none"} if last else {"none", "horizontal"})


def test_a_wrong_answer_leads_elsewhere_and_is_named():
    first, second = pair("matmul", "relu", (1024, 1024))
    asked = walk(first, second, ())
    assert asked.pattern is None and asked.next is TREE["epilogue"] and asked.steps == ()
    right = walk(first, second, truth(first, second))
    assert (right.pattern, right.agrees, right.verdict.reason) == ("epilogue", True, decide(first, second).reason)
    wrong = walk(first, second, (*truth(first, second)[:-1], False))
    assert (wrong.pattern, wrong.agrees) == ("none", False) and [branch.id for branch in wrong.wrong] == ["tile"]


def test_epilogue_can_be_reached_and_comes_before_pointwise():
    """In the drafts' tree a matmul before a ReLU never got to the epilogue."""
    first, second = pair("matmul", "relu", (64, 64))
    assert [step.branch.id for step in walk(first, second, truth(first, second)).steps][-2:] == ["epilogue", "tile"]
    first, second = pair("add", "relu", (64, 64))
    assert walk(first, second, truth(first, second)).pattern == "pointwise"


def test_a_whole_reduction_splits_unless_it_is_small():
    ends = {}
    for shape in ((64, 64), (1024, 768)):
        first, second = pair("sum", "div", shape, "all")
        ends[shape] = walk(first, second, truth(first, second)).pattern
    assert ends == {(64, 64): "vertical", (1024, 768): "barrier"}


def test_too_many_answers_are_told():
    first, second = pair("view", "relu", (8, 8))
    with pytest.raises(BadValue, match="ended after 1 answers"):
        walk(first, second, (True, True))


def questions(producer, consumer, shape=(1024, 1024), over="row", last=None):
    first, second = pair(producer, consumer, shape, over, last)
    return [step.branch.id for step in walk(first, second, truth(first, second)).steps]


def test_what_the_ops_make_plain_is_not_asked():
    """ReLU, then add: neither is a view, a sort, a matmul or a sum, and nobody has to say so."""
    assert questions("relu", "add") == ["pointwise"]
    assert questions("matmul", "relu") == ["epilogue", "tile"]
    assert questions("view", "relu") == ["free"], "one at least is asked"
    assert questions("sum", "div", over="all") == ["waits"]
    assert questions("relu", "sum", over="all") == ["many", "parts", "feeds"]
    first, second = pair("relu", "add", (64, 64))
    assert walk(first, second, (True,)).skipped == len(TREE) - 1 - len({"tile", "moves", "feeds"})


def test_no_pair_takes_long_and_every_branch_is_asked_of_some():
    asked = set()
    for case in CASES:
        for pair_of_kinds, (_, _, made) in walked(*case).items():
            assert 1 <= len(made.steps) <= 4, (pair_of_kinds, made.steps)
            asked |= {step.branch.id for step in made.steps}
    assert asked == set(TREE) - {"heavy"}, "whether the first is a matmul was asked with the epilogue"


def test_a_skipped_question_has_the_answer_that_the_walk_takes():
    """With every question asked, the walk ends in the same place."""
    for first, second, made in walked((1024, 768), None, "all").values():
        at = "fused"
        while not at.startswith("="):
            at = TREE[at].yes if TREE[at].true(first, second) else TREE[at].no
        assert made.pattern == at.removeprefix("= ")


def test_every_branch_leads_on():
    for tree, start in ((TREE, "fused"), (SIBLINGS, "elementwise")):
        seen, todo = set(), [start]
        while todo:
            at = todo.pop()
            if not at.startswith("=") and at not in seen:
                seen.add(at)
                todo += [tree[at].yes, tree[at].no]
        assert seen == set(tree)
        assert all(branch.ask.endswith("?") for branch in tree.values())


def test_pairs_are_what_they_say():
    first, second = pair("sum", "add", (8, 16), "row")
    assert (first.outputs[0].shape, second.inputs[0]) == ((8, 1), first.outputs[0])
    assert make("sum", "1", first.inputs[0], "all").outputs[0].size == 1
    assert category("sum") == "reduction" and first.attrs == {"over": "row"}
    with pytest.raises(BadValue, match="choose one of row, all"):
        pair("sum", "add", (8, 8), "columns")
    with pytest.raises(UnknownName):
        pair("summ", "add", (8, 8))


# --- the drawing


@pytest.mark.parametrize("shared", [False, True])
def test_the_tree_is_drawn_as_it_is_walked(shared):
    """Down is no and right is yes: read off the drawing, every branch has the exits that the walk takes."""
    tree = SIBLINGS if shared else TREE
    drawn = rows(shared)
    exits = {}
    for row, below in zip(drawn, [*drawn[1:], None], strict=True):
        no = below.ids[0] if below else f"= {row.no}"
        if isinstance(row.yes, str):
            exits[row.ids[-1]] = (f"= {row.yes}", no)
        else:
            aside = row.yes
            exits[row.ids[-1]] = (aside.ids[0], no)
            exits[aside.ids[0]] = (f"= {aside.yes}", f"= {aside.no}")
    house = () if shared else HOUSEKEEPING
    assert exits | {name: (tree[name].yes, tree[name].no) for name in house[:-1]} == {name: (b.yes, b.no) for name, b in tree.items()}
    assert all(tree[name].yes == "= none" for name in house), "four questions of one row have one answer"


def test_the_way_is_marked_with_what_the_ops_answer_themselves():
    made = walk(*pair("matmul", "relu", (1024, 1024)), [True])
    assert made.path == (("fused", False, False), ("free", False, False), ("opaque", False, False), ("library", False, False),
                         ("epilogue", True, True))  # fmt: skip
    assert made.skipped == 4 and made.next.id == "tile"
