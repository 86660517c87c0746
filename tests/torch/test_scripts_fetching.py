"""What the scripts of documentations do on the way to their first step: fetch weights, metrics and data, start processes, wrap models."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import ironlaw as il  # noqa: E402
from ironlaw.engine.device.types import Graph, Tensor  # noqa: E402
from ironlaw.engine.device.work import COLLECTIVE, RANKS, op  # noqa: E402
from ironlaw.errors import IronlawError  # noqa: E402
from ironlaw.tracing.scripts.absent_data import Absent  # noqa: E402
from ironlaw.tracing.scripts.run_script import Script, run_script  # noqa: E402

LOOP = """
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
while True:
    net(x).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def captured(folder: Path, text: str, **settings: Any) -> Graph:
    (folder / "train.py").write_text(text, encoding="utf-8")
    return run_script(Script(str(folder / "train.py"), **settings))


def collectives(graph: Graph) -> Counter[tuple[str, int]]:
    return Counter((op.attrs[COLLECTIVE], op.attrs[RANKS]) for op in graph.ops if COLLECTIVE in op.attrs)


def test_pretrained_weights_are_not_fetched(tmp_path):
    text = """
import torch
net = torch.nn.Linear(8, 8)
state = torch.hub.load_state_dict_from_url("https://example.org/net.pth", progress=False)
net.load_state_dict({name.removeprefix("module."): weight for name, weight in state.items()})
x = torch.ones(4, 8)
"""
    notes = captured(tmp_path, text + LOOP).settings["notes"]
    assert sum("pretrained weights are not fetched" in note for note in notes) == 1


def test_a_checkpoint_that_is_given_is_still_checked(tmp_path):
    with pytest.raises(IronlawError, match="loading state_dict for Linear"):
        captured(tmp_path, "import torch\ntorch.nn.Linear(8, 8).load_state_dict({})\n")


def test_a_metric_that_is_on_a_hub(tmp_path, monkeypatch):
    (tmp_path / "evaluate.py").write_text("def load(*names):\n    raise FileNotFoundError('on the hub')\n", encoding="utf-8")
    text = """
import evaluate, torch
metric = evaluate.load("glue", "mrpc")
net, x = torch.nn.Linear(8, 8), torch.ones(4, 8)
metric.add_batch(predictions=net(x), references=x)
assert metric.compute()["f1"] == 0
"""
    monkeypatch.delitem(sys.modules, "evaluate", raising=False)
    notes = captured(tmp_path, text + LOOP).settings["notes"]
    monkeypatch.delitem(sys.modules, "evaluate", raising=False)
    assert any("the metric glue can't be fetched here" in note for note in notes)


def test_columns_are_those_that_the_script_names():
    text = """load_dataset("some/answers"); tokenizer(examples["question"], rows["answers.text"]); data["train"]; batch["input_ids"]"""
    assert Absent(text).columns() == ("question", "answers.text", "text", "label")


SPAWN = """
import torch, torch.distributed as dist, torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
def main(rank, ranks):
    dist.init_process_group("nccl", rank=rank, world_size=ranks)
    torch.cuda.set_device(rank)
    net = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8))).to(rank)
    net = DDP(net, device_ids=[rank])
    assert not net.static_graph and dist.is_torchelastic_launched()
    x = torch.randn(4, 3, 16, 16, device=rank)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    while True:
        with net.no_sync():
            net(x).sum().backward()
        net(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
if __name__ == "__main__":
    mp.spawn(main, args=(torch.cuda.device_count(),), nprocs=torch.cuda.device_count())
"""


def test_processes_that_a_script_starts_and_norms_over_ranks(tmp_path):
    """Each of two microbatches gathers its means and adds up two sums; gradients are summed up once."""
    graph = captured(tmp_path, SPAWN, world=4)
    assert collectives(graph) == {("all_gather", 4): 2, ("all_reduce", 4): 2 + 1}
    assert not graph.settings["unknown"]


META = """
import torch
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
torch.distributed.init_process_group("nccl")
with torch.device("meta"):
    net = nn.Sequential(*[nn.Linear(64, 64, bias=False) for _ in range(3)])
policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
for layer in net:
    fully_shard(layer, mp_policy=policy)
fully_shard(net, mp_policy=policy)
net.to_empty(device="cuda")
for layer in net:
    layer.reset_parameters()
net[0].set_modules_to_forward_prefetch([net[1]])
optimizer = torch.optim.Adam(net.parameters())
while True:
    net.unshard()
    net(torch.randn(8, 64, device="cuda")).sum().backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
"""


def test_a_model_without_weights_is_sharded_and_then_filled(tmp_path):
    graph = captured(tmp_path, META, world=8)
    found = collectives(graph)
    assert found[("reduce_scatter", 8)] == 3 and found[("all_gather", 8)] in (5, 6)
    assert found[("all_reduce", 8)] == 1  # the norm of all gradients, to clip them
    assert {t.shape for op in graph.ops if op.kind == "foreach" for t in op.inputs if len(t.shape) == 2} == {(8, 64)}  # a rank's own rows
    assert {op.dtype for op in graph.ops if op.work.matmul_flops} == {"bf16"} and not graph.settings["unknown"]


def test_the_compiler_picks_a_single_element():
    from ironlaw.backends.cuda.generated import PICKED, each_element

    one, index = Tensor("x", (), "fp32", "activation"), Tensor("i", (), "int64", "input")
    picked = op("gather", "pick", [one, index], [replace(one, name="y")])
    assert each_element(picked) == PICKED


def test_the_compiler_stacks_numbers():
    """As where gradients' norms are put together to clip them: of a captured step no number is an input."""
    net = torch.nn.Sequential(torch.nn.Linear(8, 8, bias=False), torch.nn.LayerNorm(8), torch.nn.Linear(8, 3))

    def step(x):
        net(x).softmax(-1).sum().backward()
        norms = torch.stack([p.grad.norm() for p in net.parameters()])
        return norms.norm() * norms.softmax(0)

    for mode in ("eager", "compiled"):
        assert il.predict(il.capture(step, (torch.empty(4, 8),)), "h100", mode).seconds > 0
    from ironlaw.backends.cuda.generated import PER_PIECE, each_element

    norms = tuple(Tensor(f"norm {i}", (), "fp32") for i in range(5))
    assert each_element(op("cat", "stack", norms, [Tensor("norms", (5,), "fp32")])) >= 5 * PER_PIECE
    assert each_element(op("cat", "stack", [], [Tensor("norms", (5,), "fp32")])) >= 0


def test_a_line_that_only_opens_a_bracket_is_shown_with_the_next(tmp_path):
    from ironlaw.tracing.source_lines import in_words

    (tmp_path / "a.py").write_text("if (\n    loss.isnan()\n):\n    pass\n")
    assert (
        in_words(str(tmp_path / "a.py"), 1, "if (\n") == "if (loss.isnan() …"
        and in_words(str(tmp_path / "a.py"), 4, "    pass\n") == "pass"
    )
