"""What a compiler computes again where it is read, counted by hand."""

import numpy as np
from small_graphs import tensor

from ironlaw.backends.inductor import TRITON
from ironlaw.engine.device.fusion import fuse
from ironlaw.engine.device.merged_op import merge
from ironlaw.engine.device.recompute import Expression, expressions
from ironlaw.engine.device.types import Graph
from ironlaw.engine.device.work import op, with_attrs

ROW, WEIGHT = 4 * 8 * 2.0, 8 * 8 * 2.0  # bytes of a [4, 8] tensor and of a square weight, in FP16


def at(name: str, role: str = "activation"):
    return tensor(name, 4, 8, role=role)


def stream(layers: int) -> Graph:
    """A transformer's stream with its norms first, as bare as can be: norm, product, add."""
    ops, here = [], at("x", "input")
    for i in range(layers):
        normed, out, added = at(f"n{i}"), at(f"p{i}"), at(f"r{i}")
        ops += [
            op("layer_norm", f"norm {i}", [here], [normed]),
            op("linear", f"product {i}", [normed, tensor(f"w{i}", 8, 8, role="weight")], [out]),
            op("add", f"add {i}", [here, out], [added]),
        ]  # fmt: skip
        here = added
    return Graph("stream", (*ops, op("layer_norm", "last", [here], [at("y")])), "fp16")


def test_a_stream_is_stored_after_every_fourth_layer():
    """As GPT-2 on an H200 shows (evidence h200_sxm/models): norms of four sizes in turn, that read 2, 3, 4 and 5 tensors."""
    fused = fuse(stream(8), TRITON).graph
    norms = [one for one in fused.ops if one.kind != "linear"]
    assert [one.work.read / ROW for one in norms] == [1, 2, 3, 4, 5, 2, 3, 4, 5]
    assert [one.work.written / ROW for one in norms] == [1, 1, 1, 1, 2, 1, 1, 1, 1]  # r3; nobody outside needs r7
    assert [name for name in (f"r{i}" for i in range(8)) if name not in expressions(stream(8))] == ["r3", "r7"]
    assert all(one.work.bytes == 2 * ROW + WEIGHT for one in fused.ops if one.kind == "linear")


def test_what_a_library_reads_or_the_model_returns_is_stored():
    act = op("relu", "act", [at("x", "input")], [at("a")])
    twice = (op("exp", "one", [at("a")], [at("b")]), op("copy", "two", [at("a")], [tensor("c", 8, 4)]))
    product = op("linear", "product", [at("a"), tensor("w", 8, 8, role="weight")], [at("d")])
    assert set(expressions(Graph("g", (act, *twice), "fp16", outputs=("b", "c")))) == {"a"}
    assert not expressions(Graph("g", (act, *twice, product), "fp16", outputs=("b", "c", "d")))
    assert not expressions(Graph("g", (act, *twice), "fp16", outputs=("a", "b", "c")))


def test_many_steps_are_stored():
    """Thirty steps with their reads are computed again, one more is not."""

    def chain(steps: int) -> Graph:
        names = ["x", *(f"s{i}" for i in range(steps))]
        ops = [op("exp", f"step {i}", [at(names[i], "input" if i == 0 else "activation")], [at(names[i + 1])]) for i in range(steps)]
        readers = [op(kind, kind, [at(names[-1])], [at(kind)]) for kind in ("neg", "abs")]
        return Graph("chain", (*ops, *readers), "fp16", outputs=("neg", "abs"))

    assert "s28" in expressions(chain(29))
    assert "s29" not in expressions(chain(30))


def test_sines_are_taken_again_for_every_element_that_is_rotated():
    """The second rotation comes after a product, so it can't share a kernel with the first."""
    angle, sine = tensor("angle", 1, 4, 8, role="input"), tensor("s", 1, 4, 8)
    turn = op("sin", "sin", [angle], [sine])
    first = op("mul", "first", [tensor("q", 16, 4, 8, role="input"), sine], [tensor("y", 16, 4, 8)])
    product = op("linear", "product", [tensor("y", 16, 4, 8), tensor("w", 8, 8, role="weight")], [tensor("p", 16, 4, 8)])
    second = op("mul", "second", [tensor("p", 16, 4, 8), sine], [tensor("z", 16, 4, 8)])
    one, _, two = fuse(Graph("g", (turn, first, product, second), "fp16"), TRITON).graph.ops
    assert one.work.bytes == two.work.bytes == 16 * ROW + ROW + 16 * ROW  # the angles are read twice, no sine is written
    assert [(part.kind, size) for part, size in two.attrs["again"]] == [("sin", 16 * 4 * 8)]
    assert "again" not in one.attrs
    assert two.work.flops == 2 * 16 * 4 * 8


def test_what_a_later_kernel_computes_from_is_written_for_it():
    """add takes the relu again, so it needs the norm, which nobody outside its kernel reads otherwise."""
    ops = (
        op("layer_norm", "norm", [at("x", "input")], [at("n")]),
        op("relu", "relu", [at("n")], [at("a")]),
        op("exp", "exp", [at("a")], [at("b")]),
        op("linear", "product", [at("b"), tensor("w", 8, 8, role="weight")], [at("p")]),
        op("add", "add", [at("p"), at("a")], [at("y")]),
    )
    first, _, last = fuse(Graph("g", ops, "fp16"), TRITON).graph.ops
    assert [t.name for t in first.outputs] == ["n", "b"]
    assert [t.name for t in last.inputs] == ["p", "n"]


def in_parts() -> Graph:
    """A sum in two steps can't join what it sums, and computes it itself."""
    total = op("sum", "sum", [at("a")], [tensor("y", 1, 8)])
    return Graph("g", (op("relu", "relu", [at("x", "input")], [at("a")]), with_attrs(total, split=True)), "fp16")


def test_what_all_its_readers_compute_has_no_kernel():
    (one,) = fuse(in_parts(), TRITON).graph.ops
    assert (one.name, one.work.read) == ("sum", ROW)
    assert one.key == fuse(in_parts(), TRITON).graph.ops[0].key  # both cost the same


def test_keys_tell_apart_how_much_is_read_again():
    size = np.array([4.0, 16.0])
    x, a, b = (tensor(name, size, 8) for name in "xab")
    again, reader = op("relu", "relu", [x], [a]), op("exp", "exp", [a], [b])
    parts = (x.bytes * 1.0, x.bytes * 0.5)
    whole, half = (merge((reader,), {"b"}, {"x": x}, {"a": Expression({"x": (x, part)}, (again,), {"relu": 1})}) for part in parts)
    assert whole.key != half.key


def test_all_that_is_computed_again_is_counted():
    """A sine and a cosine, both once more after the product."""
    angle, s, c = tensor("angle", 4, 8, role="input"), at("s"), at("c")
    ops = (
        op("sin", "sin", [angle], [s]),
        op("cos", "cos", [angle], [c]),
        op("mul", "by sine", [at("q", "input"), s], [at("u")]),
        op("mul", "by cosine", [at("u"), c], [at("v")]),
        op("linear", "product", [at("v"), tensor("w", 8, 8, role="weight")], [at("p")]),
        op("mul", "sine again", [at("p"), s], [at("y")]),
        op("mul", "cosine again", [at("y"), c], [at("z")]),
    )
    last = fuse(Graph("g", ops, "fp16"), TRITON).graph.ops[-1]
    assert [(part.kind, size) for part, size in last.attrs["again"]] == [("sin", 4 * 8), ("cos", 4 * 8)]
    assert last.work.bytes == 3 * ROW  # the product, the angles, the result


def test_a_reductions_loop_goes_no_further_than_what_it_reduces():
    """x · mean(small): the mean's loop is over the small tensor; the product's kernel reads it."""
    mean = op("mean", "mean", [tensor("v", 4, 8, role="input")], [tensor("m", 4, 1)])
    scale = op("mul", "mul", [tensor("x", 4, 512, role="input"), tensor("m", 4, 1)], [tensor("y", 4, 512)])
    plan = fuse(Graph("g", (mean, scale), "fp16"), TRITON)
    assert [[part.name for part in group.ops] for group in plan.groups] == [["mean"], ["mul"]]
    assert [verdict.reason for verdict in plan.verdicts] == ["the one goes over more elements than the other reduces"]
    near = op("mul", "mul", [tensor("v", 4, 8, role="input"), tensor("m", 4, 1)], [tensor("y", 4, 8)])
    assert len(fuse(Graph("g", (mean, near), "fp16"), TRITON).groups) == 1


def test_readers_decide_from_how_many_tensors_on_a_sum_is_stored():
    """Of five to eight tensors: stored for two readers or for a norm, which reads its row twice; computed again for one loop. Of nine:
    stored in any case."""

    def total(tensors: int, *readers: str) -> bool:
        """Whether the sum of so many tensors is stored; each sum on the way to it has one reader."""
        inputs = [at(f"x{i}", "input") for i in range(tensors)]
        sums = [inputs[0], *(at(f"s{i}") for i in range(1, tensors))]
        ops = [op("add", f"add {i}", [sums[i - 1], inputs[i]], [sums[i]]) for i in range(1, tensors)]
        last = [op(kind, f"{kind} {i}", [sums[-1]], [at(f"y{i}")]) for i, kind in enumerate(readers)]
        graph = Graph("sum", (*ops, *last), "fp16", outputs=tuple(f"y{i}" for i in range(len(readers))))
        return f"s{tensors - 1}" not in expressions(graph)

    assert [total(n, "exp") for n in (4, 5, 8, 9)] == [False, False, False, True]
    assert [total(n, "exp", "neg") for n in (4, 5, 8, 9)] == [False, True, True, True]
    assert [total(n, "layer_norm") for n in (4, 5, 8, 9)] == [False, True, True, True]


def test_steps_are_the_reads_and_what_each_op_takes():
    """x and y are read; a GELU is seven steps, an addition one."""
    ops = (op("gelu", "act", [at("x", "input")], [at("a")]), op("add", "add", [at("a"), at("y", "input")], [at("b")]))
    last = op("exp", "last", [at("b")], [at("c")])
    known = expressions(Graph("g", (*ops, last), "fp16"))
    assert (known["a"].steps, known["b"].steps) == (1 + 7, 2 + 7 + 1)


def test_an_index_is_computed_where_it_looks_up():
    """Inductor's `gather` and `index_impl` load index and table through their own loops; a bag of rows comes from a library."""

    def kernels(**how):
        ids, places, table = tensor("ids", 16, dtype="int64", role="input"), tensor("places", 16, dtype="int64"), at("table", "weight")
        picked = op("gather", "rows", [table, places], [tensor("y", 16, 8)])
        ops = [op("shift", "shift", [ids], [places]), with_attrs(picked, **how)]
        return fuse(Graph("picked", tuple(ops), "fp16"), TRITON).graph.ops

    (alone,) = kernels()
    assert {t.name for t in alone.inputs} == {"ids", "table"} and [one.kind for one, _ in alone.attrs["again"]] == ["shift"]
    assert [one.kind for one in kernels(how="bags")] == ["shift", "gather"]


def test_what_several_read_is_computed_once_in_a_kernel():
    made, x = [at(f"y{i}") for i in range(2)], at("x", "input")
    again = {"a": Expression({"x": (x, ROW)}, (op("relu", "relu", [x], [at("a")]),), {"relu": 1})}
    both = merge(tuple(op("exp", y.name, [at("a")], [y]) for y in made), {"y0", "y1"}, {"x": x}, again)
    assert [one.name for one, _ in both.attrs["again"]] == ["relu"]


def test_pieces_of_a_concatenation_share_no_steps():
    """Each is computed under a mask of its own (lowering.py, `pointwise_cat`): halves that add and subtract soon take thirty steps."""
    x, ops = at("x", "input"), []
    for i in range(2):
        plus, minus, whole = (at(f"{name}{i}") for name in ("plus", "minus", "whole"))
        ops += [op("add", plus.name, [x, x], [plus]), op("sub", minus.name, [x, x], [minus]), op("cat", whole.name, [plus, minus], [whole])]
        x = whole
    found = expressions(Graph("butterfly", (*ops, op("add", "last", [x, x], [at("y")])), "fp16"))
    assert found["whole0"].steps == 1 + (1 + 2 * (1 + 1) + 2 * 4) and "whole1" not in found


def test_a_part_of_what_a_loop_makes_takes_another_loop():
    """Inductor joins loops that go over the same elements: half of a stored tensor is read by a kernel of its own."""
    x, whole, half = at("x", "input"), at("whole"), tensor("half", 2, 8)
    ops = op("exp", "exp", [x], [whole]), op("scale", "scale", [whole], [half])
    assert [
        len(one.attrs.get("parts", (one,))) for one in fuse(Graph("halved", ops, "fp16", outputs=("whole", "half")), TRITON).graph.ops
    ] == [1, 1]


def test_loops_over_different_numbers_of_elements_stay_apart():
    """What is stored is made by a loop over its own elements; a reader of more of them starts another (Inductor's scheduler)."""
    small = op("relu", "small", [tensor("x", 8, role="input")], [tensor("a", 8)])
    wide = op("add", "wide", [at("big", "input"), tensor("a", 8)], [at("b")])
    rows = op("sum", "rows", [at("b")], [tensor("s", 4)])
    after = op("exp", "after", [tensor("s", 4)], [tensor("e", 4)])
    stored = fuse(Graph("g", (small, wide, rows, after), "fp16", outputs=("a", "b", "e")), TRITON).graph
    assert [len(one.attrs.get("parts", (one,))) for one in stored.ops] == [1, 3]  # a sum's loop goes over its elements and its results
    computed = fuse(Graph("g", (small, wide, rows, after), "fp16", outputs=("b", "e")), TRITON).graph
    (only,) = computed.ops
    assert only.work.read == ROW + 8 * 2.0


def test_a_lookup_is_made_where_it_is_read():
    found = op("gather", "found", [at("table", "input"), tensor("which", 4, dtype="int64", role="input")], [at("rows")])
    one = op("add", "one", [at("x", "input"), at("rows")], [at("y")])
    other = op("sum", "other", [at("rows")], [tensor("s", 8)], axis=0)
    fused = fuse(Graph("g", (found, one, other), "fp16", outputs=("y", "s")), TRITON).graph
    assert sum(one.work.written for one in fused.ops) == ROW + 8 * 2.0  # the rows themselves are not stored


def test_a_number_that_nobody_reads_is_left_out():
    number = op("exp", "number", [tensor("scale", role="weight")], [tensor("n")])
    ops = (number, op("relu", "act", [at("x", "input")], [at("a")]), op("exp", "last", [at("a")], [at("b")]))
    assert [one.name for one in fuse(Graph("g", ops, "fp16", outputs=("b",)), TRITON).graph.ops] == ["act…last"]
    assert len(fuse(Graph("g", ops, "fp16", outputs=("b", "n")), TRITON).graph.ops) == 2
