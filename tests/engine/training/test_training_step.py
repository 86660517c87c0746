"""A step followed op by op, every moment worked out by hand. Tensors of 2 × 4 numbers have 32 bytes in FP32, weights of 4 × 4 have 64."""

import pytest

from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.work import op
from ironlaw.engine.training.loss import chunked, top_of, with_loss
from ironlaw.engine.training.outline import in_chunks, outline
from ironlaw.engine.training.recipes import RECIPES
from ironlaw.engine.training.rewrites import autocast
from ironlaw.engine.training.training_ledger import ROWS, training_ledger
from ironlaw.registry.workloads import workload

T, W = 32, 64
L = 4  # the loss, one number that the caller holds; its gradient is another, there throughout the backward pass


def weight(name, *shape):
    return Tensor(name, shape or (4, 4), "fp32", "weight")


def tensor(name, *shape, role="activation", dtype="fp32"):
    return Tensor(name, shape or (2, 4), dtype, role)


def linear(name, x, w):
    return op("linear", name, (x, w), (tensor(name, *x.shape[:-1], w.shape[0]),))


def moments(graph, **settings):
    """(phase, op) -> (kept, head, passing, gradients)."""
    told = {}
    for m in training_ledger(graph, optimiser="sgd", **settings).profile:
        rows = dict(zip(ROWS, m.bytes, strict=True))
        told.setdefault((m.phase, m.op), (rows["kept"], rows["head"], rows["passing"], rows["gradients"]))
    return told


def branch():
    """h = x·a; s = h + gelu(h)·b: a tensor with two readers, one of them an add."""
    h = linear("h", tensor("x", role="input"), weight("a"))
    g = op("gelu", "g", h.outputs, (tensor("g"),))
    y = linear("y", g.outputs[0], weight("b"))
    return Graph("branch", (h, g, y, op("add", "s", (h.outputs[0], y.outputs[0]), (tensor("s"),))), "fp32")


def test_a_branch_moment_by_moment():
    told = moments(branch())
    assert told == {
        ("forward", "h"): (2 * T, 0, 0, 0),  # x for a's gradient, h for the GELU
        ("forward", "g"): (3 * T, 0, 0, 0),  # g for b's gradient
        ("forward", "y"): (3 * T, 0, T, 0),
        ("forward", "s"): (3 * T, 0, 2 * T, 0),
        ("forward", "loss.sum0"): (3 * T, T + L, 0, 0),  # y is gone
        ("between", ""): (3 * T, 0, L, 0),
        ("backward", "loss.sum0"): (3 * T, 2 * L, 0, 0),  # the gradient of a sum is one number, expanded
        ("backward", "s"): (3 * T, 0, 2 * L, 0),  # and passes the add as it is
        ("backward", "y"): (3 * T, 0, T + 2 * L, W),  # g's gradient, b's
        ("backward", "g"): (2 * T, 0, 3 * T + 2 * L, W),  # g's, the new part of h's, and both parts added
        ("backward", "h"): (T, 0, T + 2 * L, 2 * W),
        ("update", "optimiser"): (0, 0, T + L, 2 * W),  # the batch itself
    }


def test_added_up_over_micro_batches():
    """Gradients are there from the start, and each new one stands beside them until it is added."""
    once, often = moments(branch()), moments(branch(), accumulate=3)
    for place, (kept, head, passing, _) in once.items():
        new = W if place in (("backward", "y"), ("backward", "h")) else 0
        assert often[place] == (kept, head, passing + new, 2 * W)


def test_a_gradient_that_two_tensors_share_is_one():
    """Two adds in a row: one buffer serves all of their inputs until one of them gets a second part."""
    x = tensor("x", role="input")
    a, b = linear("a", x, weight("wa")), linear("b", x, weight("wb"))
    n = op("layer_norm", "n", (a.outputs[0], weight("gain", 4)), (tensor("n"),))
    ops = (
        a,
        b,
        n,
        op("add", "s", (a.outputs[0], b.outputs[0]), (tensor("s"),)),
        op("mul", "m", (tensor("s"), tensor("n")), (tensor("m"),)),
    )
    told = moments(Graph("shared", ops, "fp32"))
    assert told["backward", "m"][2] == 2 * T + 2 * L  # the gradients of both factors; that of the sum is one number
    assert told["backward", "s"][2] == 2 * T + 2 * L  # a and b share what the add got
    assert told["backward", "n"][2] == 2 * T + 2 * T + 2 * L  # n's, the shared one; a's new part and the sum, since b still needs the other
    assert told["backward", "b"][2] == 2 * T + 2 * L


def test_a_gradient_that_passes_is_added_without_a_copy():
    """h is read by an add and later by a GELU: what the add passes on is added to the GELU's part where it lies."""
    x = tensor("x", role="input")
    h, b = linear("h", x, weight("a")), linear("b", x, weight("wb"))
    ops = (
        h,
        b,
        op("add", "s", (tensor("h"), tensor("b")), (tensor("s"),)),
        op("gelu", "g", h.outputs, (tensor("g"),)),
        op("mul", "m", (tensor("s"), tensor("g")), (tensor("m"),)),
    )
    told = moments(Graph("passing", ops, "fp32"))
    assert told["backward", "g"][2] == 3 * T + 2 * L  # the gradients of s, g and h
    assert told["backward", "s"][2] == 2 * T + 2 * L  # s's, which becomes b's as well, and h's
    assert told["backward", "b"][2] == 2 * T + 2 * L and told["backward", "h"][2] == T + 2 * L


def order(graph, **settings):
    return [(m.phase, m.op) for m in training_ledger(graph, optimiser="sgd", **settings).profile]


def test_every_op_runs_once_forward_and_once_back():
    names = ["h", "g", "y", "s", "loss.sum0"]
    back = [("backward", name) for name in reversed(names)]
    assert order(branch()) == [*(("forward", name) for name in names), ("between", ""), *back, ("update", "optimiser")]


def test_each_chunk_goes_forward_and_back_before_the_layers_do():
    head = ["top", "loss.log_softmax", "loss.pick"]
    chunk = [*(("forward", name) for name in head), *(("backward", name) for name in reversed(head))]
    end = [("between", ""), ("backward", "e"), ("update", "optimiser")]
    assert order(tied(), loss_chunks=2) == [("forward", "e"), *chunk, *chunk, *end]


def tied():
    table = weight("table", 10, 4)
    ids = tensor("ids", 2, 3, role="input", dtype="int64")
    e = op("embedding", "e", (table, ids), (tensor("e", 2, 3, 4),))
    return Graph("tied", (e, linear("top", e.outputs[0], table)), "fp32")


def test_a_table_that_is_also_the_head():
    logits, hidden, ids, table = 2 * 3 * 10 * 4, 2 * 3 * 4 * 4, 2 * 3 * 8, 10 * 4 * 4
    kept = 2 * ids + hidden  # ids and labels, and what the head reads
    told = moments(tied())
    assert told["forward", "e"] == (kept, 0, 0, 0)
    assert told["forward", "top"] == (kept, logits, 0, 0)
    assert told["forward", "loss.log_softmax"] == (kept, 2 * logits, 0, 0)
    assert told["forward", "loss.pick"] == (kept, 2 * logits + 4 + 4, 0, 0)  # the loss, and the weight that it divides by
    assert told["between", ""] == (kept, logits + 4, L, 0)  # the caller has dropped the logits
    assert told["backward", "loss.pick"] == (kept, 2 * logits + 4 + 2 * L, 0, 0)
    assert told["backward", "loss.log_softmax"] == (kept, 3 * logits + 2 * L, 0, 0)
    assert told["backward", "top"] == (kept, logits + hidden + 2 * L, 0, table)
    assert told["backward", "e"] == (2 * ids, 0, hidden + table + 2 * L, table)  # a second gradient of the table, until it is added


def test_the_loss_in_chunks_moment_by_moment():
    logits, hidden, ids, table = 2 * 3 * 10 * 4 / 2, 2 * 3 * 4 * 4, 2 * 3 * 8, 10 * 4 * 4
    ledger = training_ledger(tied(), optimiser="sgd", loss_chunks=2)
    rows = [dict(zip(ROWS, m.bytes, strict=True)) | {"at": (m.phase, m.op)} for m in ledger.profile]
    first, second = (row for row in rows if row["at"] == ("backward", "loss.log_softmax"))
    kept = ids + ids / 2 + hidden  # the labels of one chunk
    assert (first["kept"], first["head"], first["gradients"]) == (kept, 3 * logits + L, 0)
    assert (second["kept"], second["head"], second["gradients"]) == (
        kept,
        3 * logits + hidden + 2 * L,
        table,
    )  # beside the hidden states' gradient
    one, two = (row for row in rows if row["at"] == ("backward", "top"))
    assert one["head"] == logits + hidden + hidden / 2 + L  # the chunk's gradient, the whole, and the part that goes into it
    assert two["head"] == logits + hidden + hidden / 2 + table + 2 * L
    assert ledger.kept == kept - hidden  # nothing of head and loss is left when the layers' backward pass begins


def test_written_in_place():
    """ReLU over its input: one tensor, kept once. Its gradient is computed into new memory, and the one above goes after that."""
    h = linear("h", tensor("x", role="input"), weight("a"))
    r = op("relu", "r", h.outputs, (tensor("r"),), inplace=True)
    told = moments(Graph("inplace", (h, r, linear("y", tensor("r"), weight("b"))), "fp32", outputs=("r",)))
    assert told["forward", "r"] == told["forward", "h"] == (2 * T, 0, 0, 0)
    assert told["backward", "r"][2] == told["backward", "h"][2] + T


def test_gradients_of_parts_are_put_together_when_what_was_kept_is_gone():
    """Attention over the thirds of one product: the gradients of q, k and v, then a tensor of all three beside them."""
    h = linear("h", tensor("x", role="input"), weight("a", 12, 4))
    parts = [Tensor(f"h:{i}", (1, 1, 2, 4), "fp32") for i in range(3)]
    views = tuple(op("view", part.name, h.outputs, (part,)) for part in parts)
    out = op("attention", "o", tuple(parts), (Tensor("o", (1, 1, 2, 4), "fp32"),), impl="flash", causal=False)
    ledger = training_ledger(Graph("parts", (h, *views, out), "fp32"), optimiser="sgd")
    first, second = (dict(zip(ROWS, m.bytes, strict=True)) for m in ledger.profile if (m.phase, m.op) == ("backward", "o"))
    sums = 32 * 4  # of rows, of which attention in FP32 has at least 32
    assert (first["kept"], first["passing"]) == (T + 3 * T + T + sums, 3 * T + 2 * L)
    assert (second["kept"], second["passing"]) == (T, 3 * T + 3 * T + 2 * L)


def layers(count):
    """Linear and GELU, all alike."""
    x, ops = tensor("x", role="input"), []
    for i in range(count):
        ops.append(linear(f"l.{i}.linear", x, weight(f"l.{i}.w")))
        ops.append(op("gelu", f"l.{i}.gelu", ops[-1].outputs, (tensor(f"l.{i}.gelu"),)))
        x = ops[-1].outputs[0]
    return Graph("layers", tuple(ops), "fp32")


def test_checkpoints_moment_by_moment():
    told = moments(layers(2), checkpoint=2)
    assert told["forward", "l.0.linear"] == (T, 0, T, 0)  # the input; what the layer makes only passes
    assert told["forward", "l.0.gelu"] == (2 * T, 0, T, 0)  # what comes into the next segment is kept
    assert told["forward", "l.1.gelu"] == (2 * T, 0, 2 * T, 0)
    assert told["between", ""] == (2 * T, 0, L, 0)
    assert told["again", "l.1.linear"] == (3 * T, 0, 2 * L, 0)  # now it is kept
    assert told["again", "l.1.gelu"][0] == 3 * T
    assert told["backward", "l.1.linear"][0] == 2 * T
    assert told["again", "l.0.linear"] == (2 * T, 0, T + 2 * L, W)  # beside the gradient of what it makes
    plain = moments(layers(2))
    assert plain["between", ""][0] == 4 * T
    assert ("again", "l.0.linear") not in plain


@pytest.mark.parametrize(("recipe", "each"), [("mixed", 2), ("mixed_fp32_grads", 4)])
def test_buffers_of_gradients_are_always_there(recipe, each):
    graph = layers(1)
    half = Graph("half", tuple(_in_bf16(one) for one in graph.ops), "bf16")
    ledger = training_ledger(half, recipe, "sgd")
    first = dict(zip(ROWS, ledger.profile[0].bytes, strict=True))
    assert first["gradients"] == (each * 16 if RECIPES[recipe].buffers else 0)
    last = dict(zip(ROWS, ledger.profile[-2].bytes, strict=True))
    assert last["gradients"] == each * 16


def _in_bf16(one):
    def turn(t):
        return Tensor(t.name, t.shape, "bf16", t.role)

    return op(one.kind, one.name, tuple(map(turn, one.inputs)), tuple(map(turn, one.outputs)), **one.attrs)


@pytest.mark.parametrize("model", ["gpt2", "qwen2_0_5b", "bert_base", "resnet50"])
def test_an_outline_in_chunks_is_the_one_of_the_graph_in_chunks(model):
    """The short way, which lets all that stands before the head be as it is, beside the long one."""
    for graph in (with_loss(workload(model, batch=2, dtype="bf16")), with_loss(autocast(workload(model, batch=2, dtype="fp32")))):
        if top_of(graph):
            for chunks in (2, 8):
                parts = chunked(graph, chunks)
                assert in_chunks(outline(graph), parts, chunks) == outline(parts)
