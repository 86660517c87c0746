"""Attention written out, as torch.compile recognises it: which forms, and what goes with them."""

import pytest
from small_graphs import tensor

from ironlaw.backends.attention_patterns import recognised
from ironlaw.engine.device.types import Graph
from ironlaw.engine.device.work import op

SCORES = (2, 3, 16, 16)


def written_out(
    scale: str = "div", mask: bool = False, copies: bool = False, flat: bool = False, outputs: tuple[str, ...] = ("y",)
) -> Graph:
    shape = (6, 16, 16) if flat else SCORES
    q, k, v = tensor("q", 6, 16, 8), tensor("k", 6, 8, 16), tensor("v", 6, 16, 8)
    ops = []
    if copies:
        ops = [op("copy", "turn", [tensor("q0", 2, 16, 3, 8)], [q])]
    ops.append(op("bmm", "scores", [q, k], [tensor("s", 6, 16, 16)]))
    here = tensor("s", *shape)
    if scale:
        ops.append(op("scale", f"attention.{scale}", [here], [tensor("scaled", *shape)]))
        here = tensor("scaled", *shape)
    if mask:
        ops.append(op("add", "mask", [here, tensor("m", 2, 1, 16, 16, role="input")], [tensor("masked", *shape)]))
        here = tensor("masked", *shape)
    ops += [
        op("softmax", "softmax", [here], [tensor("p", *shape)]),
        op("bmm", "result", [tensor("p", 6, 16, 16), v], [tensor("y", 6, 16, 8)]),
    ]
    return Graph("g", tuple(ops), "fp16", outputs=outputs)


@pytest.mark.parametrize(
    ("form", "found"),
    [
        ({"scale": "div"}, True), ({"scale": "div", "mask": True}, True), ({"scale": "div", "copies": True}, True),
        ({"scale": "mul"}, True), ({"scale": "mul", "copies": True}, False), ({"scale": "mul", "mask": True}, False),
        ({"scale": "", "flat": True}, True), ({"scale": ""}, False), ({"scale": "div", "outputs": ("y", "p")}, False),
    ],
)  # fmt: skip
def test_the_forms_of_pytorchs_patterns(form, found):
    graph = written_out(**form)
    kinds = [one.kind for one in recognised(graph).ops]
    assert kinds == (["attention"] if found else [one.kind for one in graph.ops])


def test_its_operands_are_those_of_the_products():
    (one,) = recognised(written_out(mask=True, copies=True)).ops
    assert [(t.name, t.shape) for t in one.inputs] == [
        ("q0", (2, 3, 16, 8)), ("k", (2, 3, 16, 8)), ("v", (2, 3, 16, 8)), ("m", (2, 1, 16, 16)),
    ]  # fmt: skip
    assert [(t.name, t.shape) for t in one.outputs] == [("y", (2, 3, 16, 8))]
    assert one.work.matmul_flops == sum(part.work.matmul_flops for part in written_out().ops)


def test_a_graph_without_it_is_the_same():
    graph = Graph("g", (op("relu", "r", [tensor("x", 4)], [tensor("y", 4)]),), "fp16")
    assert recognised(graph) is graph
