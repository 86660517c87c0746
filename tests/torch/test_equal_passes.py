"""Equal passes of a training step are captured once: the graph is that of a capture that runs them all, to the last name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

from ironlaw.engine.device.machine import Plan  # noqa: E402
from ironlaw.engine.device.memory import footprint  # noqa: E402
from ironlaw.engine.device.predict import predict  # noqa: E402
from ironlaw.engine.device.repeats import kernels_to_compile  # noqa: E402
from ironlaw.registry.machines import hardware  # noqa: E402
from ironlaw.tracing.capture import captured  # noqa: E402
from ironlaw.tracing.graph_json import to_json  # noqa: E402
from ironlaw.tracing.rehearsal import Rehearsal  # noqa: E402
from ironlaw.tracing.step_choices import one_pass  # noqa: E402

Step = Callable[..., Any]


class Counted(nn.Module):
    """Counts the passes that are run, and keeps some of its layers' results from its gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Linear(8 * 36, 10)
        self.runs = 0

    def forward(self, x: Any) -> Any:
        self.runs += 1
        return self.last(checkpoint(self.inner, x, use_reentrant=False).flatten(1))

    def inner(self, x: Any) -> Any:
        return functional.relu(self.norm(self.first(x)))


@dataclass
class Output:
    """As libraries return it: not a tensor, and with a state that nobody asked for."""

    logits: Any
    state: Any


class Wrapped(Counted):
    def forward(self, x: Any) -> Any:
        out = super().forward(x)
        return Output(out, {"kept": object(), "norm": out.detach().norm()})


def microbatches(net: Any, optimiser: Any) -> Step:
    def step(x: Any, y: Any) -> Any:
        total = torch.zeros(())
        for i in range(5):
            loss = functional.cross_entropy(net(x[4 * i : 4 * i + 4]), y[4 * i : 4 * i + 4]) / 5
            loss.backward()
            total = total + loss.detach()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()
        return total

    return step


def steps(net: Any, optimiser: Any) -> Step:
    def step(x: Any, y: Any) -> None:
        for _ in range(6):
            optimiser.zero_grad()
            functional.cross_entropy(net(x), y).backward()
            optimiser.step()

    return step


def objects(net: Any, optimiser: Any) -> Step:
    def step(x: Any, y: Any) -> None:
        for _ in range(4):
            out = net(x)
            (functional.cross_entropy(out.logits, y) + 0.0 * out.state["norm"]).backward()
        optimiser.step()
        optimiser.zero_grad()

    return step


def last_is_other(net: Any, optimiser: Any) -> Step:
    def step(x: Any, y: Any) -> None:
        for i in range(4):
            out = net(x)
            (functional.cross_entropy(out, y) if i < 3 else out.square().mean()).backward()
        optimiser.step()
        optimiser.zero_grad()

    return step


def by_turns(net: Any, optimiser: Any) -> Step:
    other = nn.Linear(10, 2)

    def step(x: Any, y: Any) -> None:
        for _ in range(3):
            net(x).sum().backward()
            other(net(x)).sum().backward()
        optimiser.step()
        optimiser.zero_grad()

    return step


def graphs(kind: type[Counted], make: Callable[..., Step], alike: bool) -> tuple[Any, int, bool]:
    torch.manual_seed(0)
    net = kind()
    before = Rehearsal(alike=alike)
    step = make(net, torch.optim.AdamW(net.parameters(), foreach=True))
    graph = captured(step, (torch.zeros(20, 3, 8, 8), torch.zeros(20, dtype=torch.long)), before=before)
    return graph, net.runs, before.alike


@pytest.mark.parametrize(
    ("kind", "make", "passes", "runs"),
    [
        (Counted, microbatches, 5, 2),  # what is added up comes before the second, not the first
        (Counted, steps, 6 + 6, 2 + 2),  # it leaves gradients behind, so that it runs twice
        (Wrapped, objects, 4, 2),
        (Counted, last_is_other, 4, 3 - 1 + 4),  # seen too late: all is run again
        (Counted, by_turns, 6 + 6, 2 + 12),  # they begin alike, and end otherwise
    ],
)
def test_the_same_graph(kind: type[Counted], make: Callable[..., Step], passes: int, runs: int):
    whole, every, _ = graphs(kind, make, alike=False)
    graph, run, alike = graphs(kind, make, alike=True)
    assert every == passes and run == runs and alike == (make not in (last_is_other, by_turns))
    first, second = to_json(whole), to_json(graph)
    assert first["ops"] == second["ops"] and first["tensors"] == second["tensors"]
    assert footprint(graph) == footprint(whole)
    for name in {*whole.settings} - {"calls", "held"}:
        assert whole.settings[name] == graph.settings[name], name
    assert [name for name, _ in whole.settings["calls"]] == [name for name, _ in graph.settings["calls"]]


def test_equal_microbatches_are_compiled_once():
    """What the other four add: their slices of the batch, and the sums of gradients and losses."""
    graph, _, _ = graphs(Counted, microbatches, alike=True)
    all_five, first = (predict(each, hardware("h100_sxm"), Plan("compiled")) for each in (graph, one_pass(graph)))
    assert float(all_five.kernels) > 2.5 * float(first.kernels)
    assert float(kernels_to_compile(first)) <= float(kernels_to_compile(all_five)) < 1.5 * float(kernels_to_compile(first))
