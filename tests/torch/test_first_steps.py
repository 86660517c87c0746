"""A training step is run once where its optimiser's state is all that it leaves behind: the graph is that of a second run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from ironlaw.tracing import first_steps  # noqa: E402
from ironlaw.tracing.capture import captured  # noqa: E402
from ironlaw.tracing.graph_json import to_json  # noqa: E402

Step = Callable[[Any], Any]
runs: list[str] = []


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(8, 16, bias=False), nn.BatchNorm1d(16), nn.ReLU())
        self.head = nn.Linear(16, 4)
        self.kept: Any = None

    def forward(self, x: Any) -> Any:
        runs.append("")
        return self.head(self.inner(x))


def plain(net: Net) -> Step:
    optimiser = torch.optim.AdamW(net.parameters(), foreach=False)
    later = torch.optim.lr_scheduler.StepLR(optimiser, 2)

    def step(x: Any) -> Any:
        loss = net(x).square().mean()
        loss.backward()
        optimiser.step()
        later.step()
        optimiser.zero_grad()
        return loss.detach()

    return step


def two(net: Net) -> Step:
    first, second = torch.optim.SGD(net.inner.parameters(), momentum=0.9), torch.optim.Adam(net.head.parameters(), foreach=True)

    def step(x: Any) -> None:
        functional.cross_entropy(net(x), x[:, 0].long()).backward()
        for optimiser in (first, second, first):
            optimiser.step()
        for optimiser in (first, second):
            optimiser.zero_grad()

    return step


def keeps(net: Net) -> Step:
    """Its first run makes what later ones find."""
    optimiser = torch.optim.AdamW(net.parameters())

    def step(x: Any) -> None:
        if net.kept is None:
            net.kept = x.cos() * 2.0
        net(x + net.kept).sum().backward()
        optimiser.step()
        optimiser.zero_grad()

    return step


def leaves(net: Net) -> Step:
    """Gradients of the step before lie there until they are set to none."""
    optimiser = torch.optim.AdamW(net.parameters())

    def step(x: Any) -> None:
        loss = net(x).sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    return step


def asks(net: Net) -> Step:
    optimiser = torch.optim.AdamW(net.parameters())

    def step(x: Any) -> None:
        loss = net(x).sum()
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        loss.item()

    return step


def closes(net: Net) -> Step:
    optimiser = torch.optim.AdamW(net.parameters())

    def step(x: Any) -> None:
        def loss() -> Any:
            optimiser.zero_grad()
            out = net(x).sum()
            out.backward()
            return out

        optimiser.step(loss)
        optimiser.zero_grad()

    return step


def graph(make: Callable[[Net], Step]) -> tuple[Any, int]:
    torch.manual_seed(0)
    runs.clear()
    net = Net()
    found = captured(make(net), (torch.ones(4, 8),))
    return found, len(runs)


@pytest.mark.parametrize(("make", "count"), [(plain, 1), (two, 1), (keeps, 2), (leaves, 2), (asks, 2), (closes, 2)])
def test_the_same_as_a_second_run(make: Callable[[Net], Step], count: int, monkeypatch: pytest.MonkeyPatch):
    once, ran = graph(make)
    monkeypatch.setattr(first_steps, "READS", {"step"})  # which each of them names
    twice, every = graph(make)
    assert (ran, every) == (count, 2)
    first, second = to_json(once), to_json(twice)
    assert first["ops"] == second["ops"] and first["tensors"] == second["tensors"] and first["outputs"] == second["outputs"]
    for name in {*twice.settings} - {"calls"}:
        assert once.settings[name] == twice.settings[name], name
    assert [name for name, _ in once.settings["calls"]] == [name for name, _ in twice.settings["calls"]]
