"""`ironlaw measure --for`: a model's own calls, written down, made again and timed; its predictions on this machine then rest on them."""

import json
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")


import ironlaw as il  # noqa: E402
from ironlaw.backends.evidence_moves import captured_params  # noqa: E402
from ironlaw.backends.evidence_ops import OPS  # noqa: E402
from ironlaw.calibration import local_machine  # noqa: E402
from ironlaw.calibration.traits import identity  # noqa: E402
from ironlaw.cli import main, measure  # noqa: E402
from ironlaw.measure.devices.device import Unsupported  # noqa: E402
from ironlaw.measure.devices.torch_cpu import TorchCpu  # noqa: E402
from ironlaw.measure.noise import Noise  # noqa: E402
from ironlaw.measure.suites import model_sweep  # noqa: E402
from ironlaw.measure.suites.model_calls import prepare  # noqa: E402
from ironlaw.registry.loader import folder  # noqa: E402
from ironlaw.systems.model_operators import in_order, operators  # noqa: E402
from ironlaw.tracing.op_calls import calls_of  # noqa: E402

CPU = TorchCpu()
FILE = """
import torch
from torch import nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(50, 32)
        self.norm = nn.LayerNorm(32)
        self.wide = nn.Linear(32, 96)
        self.cell = nn.LSTM(32, 16, batch_first=True)
        self.line = nn.Conv1d(16, 16, 3, padding=1)

    def forward(self, ids, picks):
        x = self.norm(self.table(ids))
        q, k, v = (each.unflatten(-1, (2, 16)).transpose(1, 2) for each in self.wide(x).chunk(3, -1))
        x = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        x = self.line(self.cell(x)[0].transpose(1, 2)).transpose(1, 2)
        x = torch.cat((x, x.relu()), -1)
        return x[:, picks].masked_fill(x[:, picks] > 1, float("-inf")).softmax(-1)


net = Net
net_inputs = (torch.zeros(2, 8, dtype=torch.int64), torch.zeros(5, dtype=torch.int64))
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "net.py"
    path.write_text(FILE)
    return path


@pytest.fixture
def known(file):
    """The graph and its calls, as another process would get them."""
    space = {}
    exec(FILE, space)
    with torch.device("meta"):
        net = space["Net"]().eval()
    graph, calls = calls_of(net, space["net_inputs"])
    return graph, json.loads(json.dumps(calls))


def test_every_call_is_made_again_and_gives_what_its_op_does(known):
    graph, calls = known
    kinds = [op.kind for op in graph.ops]
    assert {"embedding", "layer_norm", "linear", "attention", "recurrent", "conv2d", "cat", "relu", "gather", "softmax"} <= set(kinds)
    for op, call in zip(graph.ops, calls, strict=True):
        if op.name.startswith("masked_fill"):  # a copy and a fill: the time of the call is neither's
            assert call is None
            continue
        with torch.no_grad():
            out = prepare(CPU, call)()
        first = out[0] if isinstance(out, (tuple, list)) else out
        assert first.numel() == op.outputs[0].size, op
        assert all(torch.isfinite(first).flatten()) or op.kind not in ("linear", "conv2d", "attention"), op


def test_a_row_holds_the_very_op(known):
    for op in known[0].ops:
        again = OPS["captured"](json.loads(json.dumps(captured_params(op))))
        assert identity(again) == identity(op) and again.work == op.work


def test_weights_are_cold_and_activations_stay(known, monkeypatch):
    """A linear layer walks through copies of its weight that together outgrow the last cache; what it reads is one tensor."""
    monkeypatch.setattr(CPU, "caches", lambda: {"l2": 1e5})
    graph, calls = known
    call = prepare(CPU, next(c for op, c in zip(graph.ops, calls, strict=True) if op.kind == "linear"))
    weights, activations = set(), set()
    function = torch.ops.aten.addmm.default

    def seen(bias, x, weight):
        weights.add(weight.data_ptr())
        activations.add(x.data_ptr())
        return function(bias, x, weight)

    turns = dict(zip(call.__code__.co_freevars, (cell.cell_contents for cell in call.__closure__), strict=True))["following"]
    for _ in range(40):
        args, _ = next(turns)
        seen(*args)
    assert len(weights) == 16 and len(activations) == 1  # 2e5 bytes of 96 × 32 weights and 96 of bias


def test_what_has_no_room_or_no_function_is_not_called(known, monkeypatch):
    call = known[1][0]
    with pytest.raises(Unsupported, match="not a function of PyTorch's"):
        prepare(CPU, call | {"func": "mine.triton_kernel.default"})
    monkeypatch.setattr(CPU, "free_memory", lambda: 10.0)
    with pytest.raises(Unsupported, match="too large"):
        prepare(CPU, call)


def test_the_most_telling_come_first_and_less_is_left_unknown(known):
    machine = il.hardware("neoverse_n1_2core")
    found = operators(*known, machine)
    asked, sds = in_order(found)
    assert sum(one.share for one in found) == pytest.approx(1.0, abs=0.02)
    assert {id(one) for one in asked} == {id(one) for one in found if one.call}
    assert sds == sorted(sds, reverse=True) and asked[0].share > 1 / len(asked)


@pytest.fixture
def here(ironlaw_home, monkeypatch):
    """This machine is a Neoverse that was measured on a quiet day, and operators take three times as long as its curves say."""
    curves = il.hardware("neoverse_n1_2core").calibration
    for name, text in (
        ("hardware/this_machine.toml", (folder("hardware") / "neoverse_n1_2core.toml").read_text()),
        ("calibration/this_machine.json", json.dumps(curves.to_json())),
        ("evidence/this_machine/machine.json", json.dumps({"machine": CPU.machine(), "rows": []})),
    ):
        (ironlaw_home / name).parent.mkdir(parents=True, exist_ok=True)
        (ironlaw_home / name).write_text(text)
    monkeypatch.setattr(measure, "settled", lambda *_: Noise(0.0, 0.0, 0.0))

    class Here:
        others, slower = 0.0, 3.0

    def session(device, group, stop, watch):
        machine = il.hardware("neoverse_n1_2core")
        rows = []
        for one in group:
            assert one.prepared(device)() is not None
            seconds = float(machine.calibration.fitted_cost(OPS["captured"](one.params), machine, il.Plan()).device)
            others = {"others": Here.others} if Here.others else {}
            rows.append({"kind": "op", "op": "captured", "params": one.params, "wall_s": Here.slower * seconds, **others})
        return rows

    monkeypatch.setattr(model_sweep, "_session", session)
    return Here


def told(capsys, file, *argv):
    code = main(["measure", "--for", f"{file}:net", "--device", "cpu", *argv, "--json"])
    out, err = capsys.readouterr()
    return code, json.loads(out) if out else None, err


def test_predictions_of_the_model_rest_on_its_operators(here, capsys, file, known):
    code, said, _ = told(capsys, file)
    assert code == 0 and said["share"] > 0.9 and said["another_minute"] is None
    assert said["after"]["busy_s"] / said["before"]["busy_s"] == pytest.approx(3.0, rel=0.05)
    low, high = said["after"]["interval"]
    assert high / low < said["before"]["interval"][1] / said["before"]["interval"][0]
    this = il.hardware("this")
    assert float(il.predict(known[0], this).busy_s) == pytest.approx(said["after"]["busy_s"])
    assert any("corrected by" in caveat for caveat in this.caveats)
    elsewhere = replace(this, calibration=local_machine.calibration())
    assert float(il.predict(known[0], elsewhere).busy_s) == pytest.approx(said["before"]["busy_s"])


def test_what_is_measured_again_replaces_what_there_was(here, capsys, file):
    first = told(capsys, file)[1]
    here.slower = 1.5
    second = told(capsys, file)[1]
    assert second["before"]["busy_s"] == pytest.approx(first["after"]["busy_s"])
    assert second["after"]["busy_s"] / second["before"]["busy_s"] == pytest.approx(0.5, rel=0.05)


def test_rows_of_another_device_are_not_used(here, capsys, file, ironlaw_home):
    told(capsys, file)
    assert local_machine.model_rows()
    path = ironlaw_home / "evidence/this_machine/machine.json"
    path.write_text(json.dumps({"machine": CPU.machine() | {"cpu": "another"}, "rows": []}))
    assert not local_machine.model_rows()


def test_ctrl_c_keeps_what_is_there(here, capsys, file, monkeypatch):
    real, seen = model_sweep._session, []

    def interrupted(*given):
        if len(seen) == 4:
            raise KeyboardInterrupt
        seen.append(1)
        return real(*given)

    monkeypatch.setattr(model_sweep, "_session", interrupted)
    code, said, _ = told(capsys, file)
    assert code == 130 and said["interrupted"] and len(said["operators"]) == 4 == len(local_machine.model_rows())
    assert said["another_minute"]["then"] < said["another_minute"]["now"]


def test_a_busy_machine_is_refused_unless_forced(here, capsys, file):
    here.others = 0.5
    code, said, err = told(capsys, file)
    assert (code, said["schema"]) == (2, "ironlaw-error/1") and "nothing was stored" in err and "--force" in err
    assert not local_machine.model_rows()
    code, said, _ = told(capsys, file, "--force")
    assert code == 0 and len(local_machine.model_rows()) == len(said["operators"])


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("--short",), "--short and --for can't be combined"),
        (("--full",), "--full and --for can't be combined"),
        (("--mode", "eager"), "--mode and --for can't be combined"),
        (("--for", "resnet50", "--input", "2x2"), "resnet50 is the registry's and takes --batch, --seq and --dtype"),
        (("--for", "no_such_model"), "no_such_model"),
    ],
)
def test_bad_input(here, capsys, file, argv, words):
    code, _, err = told(capsys, file, *argv)
    assert code == 2 and words in err


def test_the_words(here, capsys, file):
    assert main(["measure", "--for", f"{file}:net", "--device", "cpu"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    for word in ("predicted before", "predicted now", "of the predicted time", "can't be called alone", "--on this", "linear"):
        assert word in out, word
