"""How long what a run makes stays in memory: as Python holds it, counted by hand in units of one tensor."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

import ironlaw as il  # noqa: E402
from ironlaw.engine.device.memory import live_profile  # noqa: E402

X = torch.empty(1000, 1000)
H200 = il.hardware("h200_sxm")


def lives(call, *args):
    """Tensors like X alive before the first op, then while each op runs."""
    graph = il.capture(call, args or (X,))
    return [round(live / X.nbytes) for live in live_profile(graph)]


def test_a_name_holds_its_tensor_until_it_is_bound_again_or_deleted_or_the_function_returns():
    def chain(x):
        x = x + 1
        x = x * 2
        return x.relu()

    def named(x):
        a = x + 1
        b = a * 2
        return b.relu()

    def deleted(x):
        a = x + 1
        b = a * 2
        del a
        return b.relu()

    assert lives(chain) == [1, 2, 3, 3]  # the input and two of the chain
    assert lives(named) == [1, 2, 3, 4]
    assert lives(deleted) == [1, 2, 3, 3]


def test_a_list_holds_what_is_in_it_and_a_view_holds_the_whole():
    def listed(x):
        every = []
        for _ in range(3):
            x = x + 1
            every.append(x)
        return torch.stack(every)

    def viewed(x):
        row = (x + 1)[0]
        y = x * 2
        y = y.relu()
        return y[0] + row

    assert lives(listed) == [1, 2, 3, 4, 7]
    assert lives(viewed) == [1, 2, 3, 4, 3]


def test_writing_in_place_makes_nothing_and_writing_a_part_makes_the_whole():
    def in_place(x):
        y = x + 1
        y.mul_(2)
        y[0].add_(1)
        return y

    def parts(x):
        y = torch.empty(2, 1000, 1000)
        y[0] = x
        y[1] = x
        return y

    assert lives(in_place) == [1, 2, 2, 2]
    assert lives(parts) == [1, 3, 3]


def test_a_backward_pass_frees_what_it_has_used():
    def step(x):
        x = x.detach().requires_grad_()
        loss = x.exp().exp().exp().sum()
        loss.backward()

    # forward: each exp keeps its result; backward: while a gradient is made, the one before it and the result that it is made of are there
    assert lives(step) == [1, 2, 3, 4, 4, 4, 5, 5, 4]


def test_attention_inside_a_layer_that_trains_is_one_op():
    with torch.device("meta"):
        layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    graph = il.capture(layer, (torch.empty(2, 16, 64, device="meta"),), training=True)
    kinds = [op.kind for op in graph.ops]
    assert kinds.count("attention") == kinds.count("attention_backward") == 1
    assert "softmax" not in kinds


def test_a_convolution_holds_its_conversions_while_it_runs():
    with torch.device("meta"):
        conv = nn.Conv2d(64, 64, 3, padding=1, bias=False).bfloat16()
    x = torch.empty(8, 64, 128, 128, device="meta", dtype=torch.bfloat16)
    own = 64 * 64 * 9 * 2
    for layout, extra in ((torch.contiguous_format, 2 * x.nbytes + own), (torch.channels_last, 0)):
        memory = il.predict(il.capture(conv.to(memory_format=layout), (x.to(memory_format=layout),)), H200).memory
        assert memory.activations == pytest.approx(2 * x.nbytes + extra)


def test_what_a_product_is_added_to_lies_in_its_result():
    """`baddbmm` copies the summand into its output and multiplies into that: one tensor of the output's size, not two."""
    with torch.device("meta"):
        inputs = torch.randn(64, 64), torch.randn(32, 64, 64), torch.randn(32, 64, 64)
    graph = il.capture(torch.baddbmm, inputs)
    size = 32 * 64 * 64 * 4
    assert max(live_profile(graph)) == sum(x.numel() for x in inputs) * 4 + size
