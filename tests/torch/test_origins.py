"""Where a captured op comes from: its line of code and its phase, in the graph and in the predicted timeline."""

import json
from itertools import groupby, pairwise
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

import ironlaw as il  # noqa: E402
from ironlaw.report import chrome_trace, kineto  # noqa: E402
from ironlaw.report.report_layers import places  # noqa: E402
from ironlaw.report.trace_join import join  # noqa: E402
from ironlaw.tracing.graph_json import from_json, to_json  # noqa: E402

SOURCE = Path(__file__)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.enter, self.leave = nn.Linear(64, 128), nn.Linear(128, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.enter(x)
        y = torch.tanh(y) * y  # two operators
        return self.leave(y)


def line(text: str) -> str:
    """Where this file has such a line."""
    number = next(i for i, words in enumerate(SOURCE.read_text().splitlines(), 1) if words.strip().startswith(text))
    return f"{SOURCE.name}:{number}"


@pytest.fixture(scope="module")
def step() -> il.Graph:
    with torch.device("meta"):
        return from_json(to_json(il.capture(Net(), (torch.empty(32, 64),), training=True)))


def test_an_op_knows_its_line(step: il.Graph) -> None:
    lines = step.settings["lines"]
    assert lines["enter.addmm"] == line("y = self.enter(x)")
    assert lines["tanh"] == lines["mul"] == line("y = torch.tanh(y)")
    assert "_foreach_mul" not in lines  # the optimiser is called by nobody's code


def test_the_phases_follow_each_other(step: il.Graph) -> None:
    named = [step.settings["phases"].get(op.name, "forward") for op in step.ops]
    assert [phase for phase, _ in groupby(named)] == ["forward", "backward", "optimiser"]
    assert {op.kind for op, phase in zip(step.ops, named, strict=True) if phase == "optimiser"} == {"foreach"}


def test_a_step_of_ones_own_has_phases_too() -> None:
    net = Net()
    optimiser = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    def own(x: torch.Tensor) -> None:
        for part in x.chunk(2):
            net(part).square().mean().backward()
        optimiser.step()
        optimiser.zero_grad()

    graph = il.capture(own, (torch.randn(32, 64),))
    named = [graph.settings["phases"].get(op.name, "forward") for op in graph.ops]
    assert [phase for phase, _ in groupby(named)] == ["forward", "backward", "forward", "backward", "optimiser"]


def test_inference_has_no_phases() -> None:
    assert "phases" not in il.capture(Net(), (torch.empty(32, 64),)).settings


@pytest.mark.parametrize("mode", ["eager", "compiled", "graphs"])
def test_the_timeline_shows_modules_lines_and_phases(step: il.Graph, mode: str) -> None:
    p = il.predict(step, il.hardware("h200_sxm"), il.Plan(mode))
    found = json.loads(chrome_trace.text([p]))["traceEvents"]
    spans = [(e["name"], e["ts"], e["ts"] + e["dur"]) for e in found if e.get("cat") == "gpu_user_annotation"]
    if mode == "eager":  # a fused kernel may compute on both sides of the loss
        assert [name for name, _, _ in spans] == ["forward", "backward", "optimiser"]
    assert {name for name, _, _ in spans} == {"forward", "backward", "optimiser"} and spans[-1][0] == "optimiser"
    assert all(before[2] <= after[1] for before, after in pairwise(spans))
    kernels = [e for e in found if e.get("cat") == "kernel"]
    assert spans[0][1] == kernels[0]["ts"] and spans[-1][2] == pytest.approx(1e6 * p.seconds, abs=1 / chrome_trace.FINE)
    first = kernels[0]["args"]
    assert first["module"] == "enter" and first["line"] == line("y = self.enter(x)")
    fused = next(e["args"] for e in kernels if "tanh" in e["name"])
    assert line("y = torch.tanh(y)") in fused["line"]


def test_a_training_step_is_read_back_without_a_gap(step: il.Graph, tmp_path: Path) -> None:
    p = il.predict(step, il.hardware("h200_sxm"), il.Plan("eager"))
    joined = join(p, kineto.read(chrome_trace.write([p], tmp_path / "trace.json")))
    assert not joined.missing and not joined.extra
    assert joined.measured == pytest.approx(p.busy_s, rel=1e-4)


def test_the_host_waits_where_the_code_reads_a_value() -> None:
    def clipped(x: torch.Tensor) -> torch.Tensor:
        y = x @ x
        return y / float(y.norm())

    p = il.predict(il.capture(clipped, (torch.empty(768, 768),)), il.hardware("h200_sxm"), il.Plan("eager"))
    found = json.loads(chrome_trace.text([p]))["traceEvents"]
    (wait,) = (e for e in found if e["name"] == "wait for the device")
    kernels, launches = ([e for e in found if e.get("cat") == cat] for cat in ("kernel", "cpu_op"))
    last = launches[-1]
    assert wait["ts"] + wait["dur"] <= last["ts"] and wait["dur"] > 0
    before = [e for e in kernels if e["ts"] + e["dur"] <= last["ts"]]
    assert len(before) == len(kernels) - 1  # all but the division's
    assert wait["ts"] + wait["dur"] == max(e["ts"] + e["dur"] for e in before)


def test_gradients_of_one_layer_are_told_apart(step: il.Graph):
    """FLOPs by hand: a product of 32 rows each way; the first layer's input needs no gradient."""
    products = 2.0 * 32 * 64 * 128, 2.0 * 32 * 128 * 10
    found = {p.name: p.flops for p in places(il.predict(step, il.hardware("h200"))) if "grad)" in p.name}
    expected = {"enter.mm (weight grad)": products[0], "leave.mm (weight grad)": products[1], "leave.mm (input grad)": products[1]}
    assert found == expected
