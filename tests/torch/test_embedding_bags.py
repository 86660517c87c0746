"""A bag's gradient is that of the rows it sums: many of them are sorted first, by some thirty kernels; and a line's depthwise gradient
stays as it is when it is compiled."""

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

import ironlaw as il  # noqa: E402

H200 = il.hardware("h200_sxm")


class Bag(nn.Module):
    def __init__(self, sparse=False):
        super().__init__()
        self.bag = nn.EmbeddingBag(500, 16, mode="sum", sparse=sparse)

    def forward(self, ids):
        return self.bag(ids).square().sum()


class Rows(nn.Module):
    def __init__(self):
        super().__init__()
        self.rows = nn.Embedding(500, 16)

    def forward(self, ids):
        return self.rows(ids).square().sum()


def gradient(model, ids):
    graph = il.capture(model, (ids,), training=True)
    assert not graph.settings["unknown"]
    return next(row for row in il.predict(graph, H200).ops if row.kind == "embedding_backward")


@pytest.mark.parametrize(("tokens", "kernels"), [(1024, 3), (4096, 31)])
def test_a_bags_gradient_is_that_of_its_rows(tokens, kernels):
    ids = torch.zeros(tokens // 4, 4, dtype=torch.long)
    bag, rows = gradient(Bag(), ids), gradient(Rows(), ids)
    assert bag.kernels == rows.kernels == kernels
    assert bag.op.inputs[0].shape[-1] == 16 and float(bag.op.inputs[0].size) == float(rows.op.inputs[0].size) == tokens * 16
    assert bag.op.outputs[0].shape == rows.op.outputs[0].shape == (500, 16)
    assert bag.seconds == pytest.approx(rows.seconds)


def test_thirty_kernels_are_launched_one_by_one():
    short, long = (gradient(Bag(), torch.zeros(n, 4, dtype=torch.long)) for n in (256, 1024))
    assert long.launch_s > 5 * short.launch_s


@pytest.mark.parametrize("sides", [1, 2])
def test_only_images_are_turned_round(sides):
    """A depthwise convolution of more taps than cuDNN has kernels for: along a line the compiler leaves it, of an image it does not."""
    convolution, shape, taps = ((nn.Conv1d, (8, 256, 4096), 33), (nn.Conv2d, (8, 256, 64, 64), 7))[sides - 1]
    net = nn.Sequential(*(convolution(256, 256, taps, padding=taps // 2, groups=256, bias=False) for _ in range(3)))
    graph = il.capture(net, (torch.zeros(shape),), training=True)
    eager, compiled = (
        sum(float(row.seconds) for row in il.predict(graph, H200, mode).ops if row.kind == "conv_backward")
        for mode in ("eager", "compiled")
    )
    assert compiled == pytest.approx(eager, rel=0.05) if sides == 1 else compiled > 2 * eager
