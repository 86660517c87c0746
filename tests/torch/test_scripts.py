"""A script is run up to a step without its data, and the step comes out as if a function of it had been captured."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import ironlaw as il  # noqa: E402
from ironlaw.engine.device.host_links import LINK, PAGEABLE, WAITS  # noqa: E402
from ironlaw.engine.device.memory import footprint  # noqa: E402
from ironlaw.engine.device.types import Graph  # noqa: E402
from ironlaw.engine.device.work import BYTES, COLLECTIVE, RANKS  # noqa: E402
from ironlaw.errors import BadValue, IronlawError, MissingExtra  # noqa: E402
from ironlaw.systems.script_captures import is_script  # noqa: E402
from ironlaw.tracing import replay  # noqa: E402
from ironlaw.tracing.equal_passes import Differs  # noqa: E402
from ironlaw.tracing.graph_json import to_json  # noqa: E402
from ironlaw.tracing.scripts.real_steps import timed_steps  # noqa: E402
from ironlaw.tracing.scripts.run_script import Script, run_script  # noqa: E402

TRAIN = """
import argparse, sys, torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

def main():
    options = argparse.ArgumentParser()
    options.add_argument("--batch-size", type=int, required=True)
    batch = options.parse_args().batch_size
    device = "cuda" if torch.cuda.is_available() else "cpu"
    assert device == "cuda" and torch.cuda.device_count() == 1 and sys.argv[0].endswith("train.py")
    data = TensorDataset(torch.randn(1000, 16), torch.randint(0, 4, (1000,)))
    loader = DataLoader(data, batch, shuffle=True, num_workers=4, pin_memory=True, persistent_workers=True)
    net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)).to(device)
    optimizer = torch.optim.AdamW(net.parameters())
    for epoch in range(1_000_000):
        net.eval()
        with torch.no_grad():
            for x, y in loader:
                net(x.to(device))
        net.train()
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            print(loss.item())
        torch.save(net.state_dict(), "net.pt")

if __name__ == "__main__":
    main()
"""


def written(folder: Path, text: str, name: str = "train.py") -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


def captured(folder: Path, text: str, *arguments: str, **settings: Any) -> Graph:
    return run_script(Script(written(folder, text), arguments, **settings))


def steps_of(graph: Graph) -> tuple[int, int, int]:
    """Forward products, backward passes, optimisers."""
    phases = graph.settings["phases"]
    forward = sum(op.kind == "linear" for op in graph.ops if op.name not in phases)
    return forward, len(graph.settings["backwards"]), sum(phase == "optimiser" for phase in phases.values()) > 0


def test_the_third_step_of_a_training_loop(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    graph = captured(tmp_path, TRAIN, "--batch-size", "64")
    assert (graph.name, graph.settings["batch"], graph.settings["training"]) == ("Sequential", 64, True)
    assert steps_of(graph) == (2, 1, True)
    assert graph.flops == 2 * 64 * (16 * 32 * 2 + 32 * 4 * 3)  # forward and both gradients, but none for the data
    assert {t.name for op in graph.ops for t in op.inputs if t.role == "weight"} == {"0.weight", "0.bias", "2.weight", "2.bias"}
    copies = [(op.inputs[0].role, op.attrs[LINK]) for op in graph.ops if op.attrs.get(WAITS)]
    assert sorted(copies) == [("buffer", PAGEABLE), ("input", PAGEABLE), ("input", PAGEABLE)]  # the last loss, and the batch
    assert graph.settings["backwards"] and not (tmp_path / "net.pt").exists()
    notes = " ".join(graph.settings["notes"])
    assert "optimiser step 3" in notes and "676 weights, AdamW, a loader that gives batches of 64" in notes
    assert "an evaluation on the way is one batch long" in notes


def test_it_is_the_step_that_a_function_would_have_been(tmp_path):
    """The same ops as a captured step of the same net, but for the copies of the batch and the loss that is read."""
    from torch import nn

    net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
    optimizer = torch.optim.AdamW(net.parameters())

    def step(x: Any, y: Any) -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()

    function = il.capture(step, (torch.empty(64, 16), torch.empty(64, dtype=torch.int64)))
    script = captured(tmp_path, TRAIN, "--batch-size", "64")
    inside = [(op.kind, [t.shape for t in op.inputs]) for op in script.ops if not op.attrs.get(WAITS)]
    assert inside == [(op.kind, [t.shape for t in op.inputs]) for op in function.ops]


def test_more_of_the_batch_and_under_autocast(tmp_path):
    graph = captured(tmp_path, TRAIN, "--batch-size", "8", times=4, changes=("autocast",))
    products = [op for op in graph.ops if op.work.matmul_flops and op.name not in graph.settings["phases"]]
    assert {op.dtype for op in products} == {"bf16"} and {op.inputs[0].shape[0] for op in products} == {32}


def test_what_is_read_for_real_lies_on_the_host_at_every_batch(tmp_path):
    """So that more of the batch runs the same operators, and the largest batch is known."""
    text = """
import torch
from torch.utils.data import DataLoader, Dataset
class Rows(Dataset):
    def __len__(self):
        return 1000
    def __getitem__(self, i):
        return torch.zeros(8)
class Batch:  # as a tokenizer makes it
    def __init__(self, rows):
        self.x = torch.stack(rows)
net = torch.nn.Linear(8, 8).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for batch in DataLoader(Rows(), 4, collate_fn=Batch):
    net(batch.x.cuda()).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
    one, four = captured(tmp_path, text), captured(tmp_path, text, times=4)
    assert [op.kind for op in one.ops] == [op.kind for op in four.ops] and sum(bool(op.attrs.get(WAITS)) for op in four.ops) == 1


def test_accumulated_steps_are_one_unit(tmp_path):
    text = """
import torch
net = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(100):
    net(torch.randn(4, 8)).sum().backward()
    if i % 3 == 2:
        optimizer.step()
        optimizer.zero_grad()
"""
    assert steps_of(captured(tmp_path, text)) == (3, 3, True)


PARTS = """
import sys, torch
sys.passes = []
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = torch.nn.Linear(8, 16), torch.nn.BatchNorm1d(16), torch.nn.Linear(16, 4)
    def forward(self, x):
        sys.passes.append(1)
        return self.last(self.norm(self.first(x)).relu())
net = Net()
optimizer = torch.optim.AdamW(net.parameters())
for step in range(100):
    for part in range(5):
        out = net(torch.randn(4, 8))
        loss = (LOSS) / 5
        loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item())
"""


def test_equal_microbatches_of_a_script_are_captured_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = PARTS.replace("LOSS", "out.square().mean()")
    whole, passes = captured(tmp_path, text), len(sys.passes)
    graph = captured(tmp_path, text, alike=True)
    assert (passes, len(sys.passes)) == (3 * 5, 3 * 2) and steps_of(graph) == steps_of(whole) == (10, 5, True)
    first, second = to_json(graph), to_json(whole)
    assert first["ops"] == second["ops"] and first["tensors"] == second["tensors"] and footprint(graph) == footprint(whole)
    differing = {name for name in whole.settings if whole.settings[name] != graph.settings[name]}
    assert differing <= {"calls", "held", "taken"}  # a loss that is read is another number, which nobody knows either way


def test_a_script_whose_microbatches_end_otherwise_is_run_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = PARTS.replace("LOSS", "out.square().mean() if part < 4 else out.logsumexp(1).mean()")
    with pytest.raises(Differs):
        captured(tmp_path, text, alike=True)
    ops = il.analyze(written(tmp_path, text), on="h100", modes="eager").graph.ops
    assert [op.kind for op in ops] == [op.kind for op in captured(tmp_path, text).ops]


def test_two_optimisers_take_turns_in_one_unit(tmp_path):
    text = """
import torch
nets = [torch.nn.Linear(8, 8) for _ in range(2)]
optimizers = [torch.optim.SGD(net.parameters(), lr=0.1) for net in nets]
for i in range(100):
    for net, optimizer in zip(nets, optimizers):
        optimizer.zero_grad()
        net(torch.randn(4, 8)).sum().backward()
        optimizer.step()
"""
    assert steps_of(captured(tmp_path, text)) == (2, 2, True)


def test_values_on_the_host_are_true_ones(tmp_path):
    text = """
import torch
text = "what a script reads it may count"
ids = torch.tensor([ord(c) for c in text])
size = int(ids.max()) + 1
assert size == ord("y") + 1 and len(ids) == 32
net = torch.nn.Embedding(size, 8).cuda()
optimizer = torch.optim.AdamW(net.parameters(), fused=False)
while True:
    starts = torch.randint(len(ids) - 8, (4,))
    x = torch.stack([ids[i : i + 8] for i in starts]).pin_memory().to("cuda", non_blocking=True)
    loss = net(x).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
"""
    graph = captured(tmp_path, text)
    assert any(op.kind == "embedding" and op.outputs[0].shape == (4, 8, 8) for op in graph.ops)


def test_inference_is_one_call_of_the_model(tmp_path):
    text = """
import torch
net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 2)).cuda().eval()
with torch.no_grad():
    for _ in range(10):
        net(torch.randn(4, 8, device="cuda"))
"""
    graph = captured(tmp_path, text)
    assert not graph.settings["training"] and [op.kind for op in graph.ops if op.kind == "linear"] == ["linear"] * 2


def test_what_a_run_takes_from_the_one_before(tmp_path):
    """Numbers that were read once are not worked out again, and where two steps are alike the second is enough."""
    lines = ["net = torch.nn.Linear(8, 8)", "best = torch.optim.SGD(net.parameters(), 0.1)", "net = torch.compile(net)"]
    loop = ["loss = net(torch.ones(4, 8)).sum()", "loss.backward()", "best.step()", "read.append(loss.item())"]
    text = "\n".join(["import torch", "read = []", *lines, "for _ in range(9):", *(f"    {line}" for line in loop)])
    first = captured(tmp_path, text)
    taken = first.settings["taken"]
    assert taken["steps"] == 2 and [*map(len, taken["numbers"].values())] == [2]
    again = captured(tmp_path, text, steps=taken["steps"], numbers={line: [7.0] for line in taken["numbers"]})
    assert [op.name for op in again.ops] == [op.name for op in first.ops]
    assert [*again.settings["taken"]["numbers"].values()] == [[7.0]]
    assert first.settings["compiles"] and "torch.compile" in first.settings["notes"][1]


def test_inference_mode_is_taken(tmp_path):
    """A view of what was made outside of it, which inference tensors refuse."""
    text = "import torch\nnet = torch.nn.Linear(8, 8)\nx = torch.rand(4, 8)\nwith torch.inference_mode():\n    y = net(x[:2])"
    graph = captured(tmp_path, text)
    assert [op.kind for op in graph.ops] == ["linear"] and not graph.settings["training"]


def test_a_script_that_ends_early_gives_its_last_step(tmp_path):
    text = "import torch\nnet = torch.nn.Linear(8, 8)\n"
    text += "o = torch.optim.SGD(net.parameters())\nnet(torch.ones(2, 8)).sum().backward()\no.step()\n"
    graph = captured(tmp_path, text)
    assert steps_of(graph) == (1, 1, True) and "optimiser step 1" in graph.settings["notes"][0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("print('hello')", "nothing to analyze"),
        ("import argparse\np = argparse.ArgumentParser()\np.add_argument('--data', required=True)\np.parse_args()", "after --"),
        ("import torch\ntorch.nn.Linear(3, 4)(torch.ones(2, 5))", "train.py:2 (torch.nn.Linear(3, 4)(torch.ones(2, 5)))"),
    ],
)
def test_what_cannot_be_found_is_said(tmp_path, text, words):
    with pytest.raises(IronlawError) as refused:
        captured(tmp_path, text)
    assert words in str(refused.value)


def test_on_the_command_line(sh, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path, TRAIN)
    code, out, _ = sh("analyze", "train.py", "--on", "h100", "--json", "--", "--batch-size", "16")
    data = json.loads(out[out.index("{\n") :] if "{\n" in out else out[out.index("{") :])
    assert code == 0
    assert data["verdict"] and {row["mode"] for row in data["predictions"]} == {"eager", "compiled"}
    code, _, problem = sh("analyze", "train.py", "--on", "h100", "--batch", "3", "--", "--batch-size", "16")
    assert code == 2 and "--batch" in problem and "after --" in problem


PACKAGE = {
    "pkg/__init__.py": "",
    "pkg/layers.py": "from torch import nn\nclass Layer(nn.Linear):\n    pass\n",
    "pkg/model.py": "from .layers import Layer\nclass Net(Layer):\n    def __init__(self):\n        super().__init__(8, 8)\n",
    "pkg/train.py": "import torch\nfrom .model import Net\nnet = Net()\no = torch.optim.SGD(net.parameters())\n"
    "while True:\n    net(torch.ones(4, 8)).sum().backward()\n    o.step()\n    o.zero_grad()\n",
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    (tmp_path / "pkg").mkdir()
    for name, text in PACKAGE.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] == "pkg"]:
        del sys.modules[name]


@pytest.mark.parametrize("target", ["pkg.model:Net", "pkg/model.py:Net"])
def test_a_model_in_a_package(package, target):
    assert il.analyze(target, input=("4x8",), on="h100").graph.flops == 2 * 4 * 8 * 8


@pytest.mark.parametrize(("place", "module"), [("pkg.train", True), ("pkg/train.py", False)])
def test_a_script_in_a_package(package, place, module):
    assert steps_of(run_script(Script(place, module=module))) == (1, 1, True)


@pytest.mark.parametrize(
    ("target", "kind", "words"),
    [
        ("no_such_package.models:net", MissingExtra, "pip install no_such_package"),
        ("pkg.modle:Net", BadValue, "pkg has no module pkg.modle"),
        ("nothing:net", BadValue, "no file and no module nothing"),
    ],
)
def test_a_module_that_is_not_there(package, target, kind, words):
    with pytest.raises(kind) as refused:
        il.analyze(target, input=("4x8",), on="h100")
    assert words in str(refused.value)


def test_a_function_that_trains_is_no_factory(tmp_path):
    text = """
import torch
def main():
    net = torch.nn.Linear(8, 8)
    net(torch.ones(2, 8)).sum().backward()
    torch.optim.SGD(net.parameters()).step()
"""
    place = written(tmp_path, text, "other.py")
    with pytest.raises(BadValue) as refused:
        il.analyze(f"{place}:main", on="h100")
    assert "main() trains a model" in str(refused.value)


def test_which_targets_are_scripts():
    assert is_script("train.py") and is_script("package.train")
    assert not any(map(is_script, ("train.py:net", "resnet50", "hf:GPT2Config", "model.pt2:x")))


DDP = """
import os, torch, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
dist.init_process_group("nccl")
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
assert dist.get_world_size() == 8 and torch.cuda.device_count() == 8
model = DistributedDataParallel(nn.Sequential(*[nn.Linear(1024, 1024, bias=False) for _ in range(3)]).to(rank), device_ids=[rank])
optimizer = torch.optim.SGD(model.parameters())
while True:
    loss = model(torch.randn(16, 1024, device=rank)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
FSDP = """
import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
mesh = init_device_mesh("cuda", (8,))
model = nn.Sequential(*[nn.Linear(1024, 1024, bias=False) for _ in range(2)])
for layer in model:
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters())
while True:
    model(torch.randn(16, 1024, device="cuda")).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
LAYER = 4 * 1024 * 1024


def collectives(graph: Graph) -> list[tuple[str, int, float]]:
    return [(op.attrs[COLLECTIVE], op.attrs[RANKS], op.attrs[BYTES]) for op in graph.ops if COLLECTIVE in op.attrs]


def test_gradients_are_summed_up_in_buckets(tmp_path):
    """The first bucket is full with the last layer, of 4 MiB; both others share one of 25 MiB."""
    graph = captured(tmp_path, DDP, world=8)
    assert collectives(graph) == [("all_reduce", 8, LAYER), ("all_reduce", 8, 2 * LAYER)]
    assert not graph.settings["unknown"] and steps_of(graph) == (3, 1, True)


def test_weights_are_gathered_and_gradients_scattered(tmp_path):
    graph = captured(tmp_path, FSDP, world=8)
    found = Counter(collectives(graph))
    assert found[("all_gather", 8, LAYER)] in (3, 4) and found[("reduce_scatter", 8, LAYER)] == 2  # the last layer may stay gathered
    assert not graph.settings["unknown"]
    kept = {t.name: t.shape for op in graph.ops for t in op.inputs if t.role == "weight"}
    assert set(kept.values()) == {(1024 * 1024 // 8,)} or (128, 1024) in kept.values()


def test_without_a_world_the_option_is_named(tmp_path):
    for text in (DDP, FSDP):
        with pytest.raises(BadValue, match="--world 8"):
            captured(tmp_path, text)
    assert not torch.distributed.is_initialized()


def test_a_scaler_and_a_loss_that_is_read_take_no_gradients(tmp_path):
    """Neither replays the backward pass: a step of ResNet-50 took minutes so."""
    text = """
import torch
net = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.Linear(512, 512)).cuda()
optimizer, scaler = torch.optim.AdamW(net.parameters()), torch.amp.GradScaler("cuda")
while True:
    with torch.autocast("cuda", torch.float16):
        loss = net(torch.randn(64, 512, device="cuda")).square().mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    assert loss.item() > 0
"""
    ran: list[str] = []
    before = replay.Replay.computed

    def computed(self: Any, call: Any, name: str) -> bool:
        ran.append(name)
        return before(self, call, name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replay.Replay, "computed", computed)
        graph = captured(tmp_path, text)
    assert graph.dtype == "fp16" and steps_of(graph)[1:] == (1, True)
    assert "aten::addmm" in ran and "aten::mm" not in ran  # those of the forward pass, none of the backward pass


def test_large_tensors_are_not_worked_out_for_a_loss(tmp_path):
    text = """
import torch
net = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(net.parameters())
x = torch.randn(2_000_000, 64)
for _ in range(20):
    y = net(x)
    for _ in range(10):
        y = y.relu()
    loss = y.mean()
    loss.backward()
    optimizer.step()
    print(loss.item())
"""
    ran: list[int] = []
    before = replay.Replay.computed

    def computed(self: Any, call: Any, name: str) -> bool:
        ran.append(sum(t.numel() for t in call.outputs))
        return before(self, call, name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replay.Replay, "computed", computed)
        captured(tmp_path, text)
    assert sum(ran) <= 2 * replay.MOVED


REAL = """
import sys
import torch
net = torch.nn.Linear(4, 1)
before = net.weight.clone()
optimiser = torch.optim.SGD(net.parameters(), 0.1)
for step in range(int(sys.argv[1])):
    optimiser.zero_grad()
    net(torch.ones(8, 4)).sum().backward()
    optimiser.step()
    open("steps.txt", "a").write(f"{step} {bool((net.weight != before).all())}\\n")
"""


def test_a_script_is_trained_for_real_only_if_asked(tmp_path, monkeypatch):
    """Three steps warm up, the rest is timed up to the number that was asked for, and the script goes no further."""
    monkeypatch.chdir(tmp_path)
    place = written(tmp_path, REAL)
    real = timed_steps(Script(place, ("30",), steps=4))
    assert (real["steps"], real["device"], real["peak_bytes"]) == (4, "cpu", None) and 0 < real["seconds"] < 10
    lines = (tmp_path / "steps.txt").read_text().splitlines()
    assert [line.split() for line in lines] == [[str(i), "True"] for i in range(6)]  # it is stopped within its seventh step
    (tmp_path / "steps.txt").unlink()
    run_script(Script(place, ("30",)))
    assert len((tmp_path / "steps.txt").read_text().splitlines()) == 2  # its third step ends what is asked
    assert timed_steps(Script(place, ("5",), steps=4))["steps"] == 2
    with pytest.raises(BadValue, match="took 3 optimiser steps"):
        timed_steps(Script(place, ("3",), steps=4))


def test_real_training_is_for_scripts():
    with pytest.raises(BadValue, match="measure model"):
        il.analyze("resnet50", on="h200", real=5)
