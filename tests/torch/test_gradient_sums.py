"""Where autograd adds a gradient to another in place, the capture does too; PyTorch's own profiler says where."""

import pytest

torch = pytest.importorskip("torch")

from ironlaw.tracing import capture  # noqa: E402


def over_two_ways(x, w):
    return (x.relu().sin() * 2 + x.relu().cos() * 3).sum()


def beside_a_product(x, w):
    y = x.relu()
    return (y + torch.relu(y @ w)).relu().sum()


def held_by_another(x, w):
    """The first gradient of y is that of z too, which comes later."""
    first = x.relu()
    z, y = first.cos(), first * 2
    late = y.sin()
    return ((y + z) + late).sum()


def expanded(x, w):
    y = x.relu()
    return y.cos().sum() + y.sum()


def transposed(x, w):
    y = x.relu()
    return (y.cos() * 3 + y.t().sin().t()).sum()


@pytest.mark.parametrize("loss", [over_two_ways, beside_a_product, held_by_another, expanded, transposed])
def test_the_sums_that_are_in_place(loss):
    def leaves():
        return [torch.randn(4, 4, requires_grad=True) for _ in range(2)]

    wanted = loss(*leaves())
    with torch.profiler.profile() as profile:
        wanted.backward()
    named = [event.name for event in sorted(profile.events(), key=lambda event: event.time_range.start)]
    truth = [name.endswith("_") for name in named if name in ("aten::add", "aten::add_")]

    def step(x, w):
        loss(x, w).backward()

    graph = capture(step, tuple(leaves()))
    sums = [op for op in graph.ops if op.kind == "add" and graph.settings["phases"].get(op.name) == "backward"]
    assert truth
    assert [bool(op.attrs.get("inplace")) for op in sums] == truth
