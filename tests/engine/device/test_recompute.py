"""What a compiler computes again where it is read, counted by hand."""

from small_graphs import tensor

from ironlaw.backends.inductor import TRITON
from ironlaw.engine.device.fusion import fuse
from ironlaw.engine.device.recompute import expressions
from ironlaw.engine.device.types import Graph
from ironlaw.engine.device.work import op

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


def test_a_reductions_loop_goes_no_further_than_what_it_reduces():
    """x · mean(small): the mean's loop is over the small tensor; the product's kernel reads it."""
    mean = op("mean", "mean", [tensor("v", 4, 8, role="input")], [tensor("m", 4, 1)])
    scale = op("mul", "mul", [tensor("x", 4, 512, role="input"), tensor("m", 4, 1)], [tensor("y", 4, 512)])
    kinds = [[part.name for part in group.ops] for group in fuse(Graph("g", (mean, scale), "fp16"), TRITON).groups]
    assert kinds == [["mean"], ["mul"]]
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
