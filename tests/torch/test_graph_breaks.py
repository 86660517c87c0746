"""What capture says torch.compile leaves to Python, against Dynamo itself with a backend that counts the ops of its graphs."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import ironlaw as il
from ironlaw.engine.device.work import UNCOMPILED


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x):
        return F.relu(self.linear(x)) + 1


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last, self.lstm = Layer(), Layer(), nn.LSTM(8, 8)


class Straight(Base):
    def forward(self, x):
        return self.last(self.first(x))


class Value(Base):
    def forward(self, x):
        x = self.first(x)
        if x.sum() > 0:
            x = x + 1
        return self.last(x)


class Size(Base):
    def forward(self, x):
        x = self.first(x)
        return self.last(x[x[..., 0] > 0])


class Recurrent(Base):
    def forward(self, x):
        x = F.relu(self.first.linear(x))
        x = self.lstm(x)[0]
        return F.relu(self.last.linear(x)) + 1


class Loop(Base):
    def forward(self, x):
        for _ in range(3):
            if x.sum() > 0:
                x = x * 2
            x = self.first(x)
        return x


class Below(Base):
    """A function that is left to Python, called by one that goes on."""

    def __init__(self):
        super().__init__()
        self.loop = Loop()

    def forward(self, x):
        return self.last(self.loop(self.first(x)))


def seen_by_dynamo(module, x):
    """(linear layers that are in graphs, times that a graph is entered) of one call."""
    entered = []

    def backend(graph, inputs):
        count = sum("linear" in node.name for node in graph.graph.nodes if node.op.startswith("call"))

        def run(*args):
            entered.append(count)
            return graph.forward(*args)

        return run

    torch._dynamo.reset()
    compiled = torch.compile(module, backend=backend)
    with torch.no_grad():
        compiled(x)
        entered.clear()
        compiled(x)
    return sum(entered), len(entered)


@pytest.mark.parametrize("kind", [Straight, Value, Size, Recurrent, Loop, Below])
def test_layers_that_are_compiled_are_those_in_dynamos_graphs(kind):
    torch.manual_seed(0)
    module, x = kind().eval(), torch.rand(4, 8, 8) + 1
    graph = il.capture(module, (x,))
    linear = [op for op in graph.ops if op.kind == "linear"]
    layers, entries = seen_by_dynamo(module, x)
    assert sum(UNCOMPILED not in op.attrs for op in linear) == layers
    assert graph.settings["entries"] == entries


def test_a_layer_left_to_python_is_no_faster_compiled():
    torch.manual_seed(0)
    graph = il.capture(Recurrent().eval(), (torch.rand(4, 8, 8),))
    machine = il.hardware("h200")
    eager, compiled = (il.predict(graph, machine, il.Plan(mode=mode)) for mode in ("eager", "compiled"))
    left = [op.name for op in graph.ops if UNCOMPILED in op.attrs]
    times = [{row.name: row.seconds for row in p.ops if row.name in left} for p in (eager, compiled)]
    assert left
    assert times[0] == pytest.approx(times[1])


@pytest.mark.parametrize("model", [nn.Sequential(Straight(), nn.ReLU()), nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))])
def test_a_model_is_compiled_that_a_loop_with_backward_passes_calls(model):
    """Also one of PyTorch's own classes, which has no function of the user's; the loss beside it is not."""
    optimiser, loss = torch.optim.SGD(model.parameters(), 0.1), nn.MSELoss()

    def step(x):
        for part in x:
            loss(model(part), part).backward()
        optimiser.step()

    graph = il.capture(step, (torch.rand(2, 4, 8),))
    left = {op.kind for op in graph.ops if UNCOMPILED in op.attrs}
    assert not {"linear", "matmul", "relu"} & left and any("mse" in op.name and UNCOMPILED in op.attrs for op in graph.ops)
    assert 2 < graph.settings["entries"] <= 4  # forward and back, twice
