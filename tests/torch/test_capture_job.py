"""A graph that comes back from a worker equals the one captured in this process: every op, tensor, attribute, byte and key."""

from __future__ import annotations

import argparse
import json

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from torch import nn  # noqa: E402

from ironlaw.engine.device.machine import Plan  # noqa: E402
from ironlaw.engine.device.predict import predict  # noqa: E402
from ironlaw.engine.device.stored_weights import OWN  # noqa: E402
from ironlaw.registry.machines import hardware  # noqa: E402
from ironlaw.systems.captures import capture_all, capture_phases  # noqa: E402
from ironlaw.tracing import capture, capture_job  # noqa: E402
from ironlaw.tracing.graph_json import from_json, to_json  # noqa: E402
from ironlaw.worker import worker_session  # noqa: E402

SMALL = {"num_hidden_layers": 2, "hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4, "vocab_size": 100}


def images() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    net = nn.Sequential(
        nn.Conv2d(3, 16, 3, stride=2), nn.BatchNorm2d(16), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 5)
    )
    return net.to(memory_format=torch.channels_last), (torch.empty(2, 3, 32, 32).to(memory_format=torch.channels_last),)


def recurrent() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    return nn.LSTM(16, 32, 2), (torch.empty(5, 3, 16),)


def attention() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    return nn.TransformerEncoderLayer(64, 4, 128, batch_first=True).to(torch.bfloat16), (torch.empty(2, 8, 64, dtype=torch.bfloat16),)


class Odd(nn.Module):
    """Ops with lists, floats, infinities and no inputs among their attributes, and one that is unknown."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        mask = torch.full((8, 8), float("-inf")).triu(1)
        y = x.permute(1, 0).softmax(-1) + mask
        return torch.cumsum(y, 0), y.flip(0), torch.einsum("ij,kj->ik", y, x), torch.linalg.svdvals(x), torch.kthvalue(x, 2)[0]


def transformers_model(config: str) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    with torch.device("meta"):
        made = getattr(transformers, config)(**SMALL)
        model = transformers.AutoModelForCausalLM.from_config(made).to(torch.bfloat16)
    return model.eval(), (torch.empty(2, 12, dtype=torch.long, device="meta"),)


CALLS = {
    "images": images,
    "recurrent": recurrent,
    "attention": attention,
    "odd": lambda: (Odd(), (torch.empty(8, 8),)),
    "llama": lambda: transformers_model("LlamaConfig"),
    "mixtral": lambda: transformers_model("MixtralConfig"),
}


TRAINED = ("images", "attention", "llama")


@pytest.mark.parametrize(("name", "training"), [*((name, False) for name in CALLS), *((name, True) for name in TRAINED)])
def test_a_graph_there_and_back(name: str, training: bool):
    module, args = CALLS[name]()
    graph = capture(module, args, {"use_cache": False} if hasattr(module, "config") else {}, training=training)
    back = from_json(json.loads(json.dumps(to_json(graph))))
    assert back == graph
    assert [op.key for op in back.ops] == [op.key for op in graph.ops] and back.tensors == graph.tensors
    assert (back.work, back.params, back.flops) == (graph.work, graph.params, graph.flops)
    machine = hardware("h200_sxm")
    assert predict(back, machine, Plan("eager")) == predict(graph, machine, Plan("eager"))


FILE = """
import torch
from torch import nn

print("on standard output", flush=True)


def net(width=32):
    return nn.Sequential(nn.Conv2d(3, width, 3), nn.BatchNorm2d(width), nn.ReLU()), (torch.empty(2, 3, 8, 8),)
"""


def asked(target: str, **more) -> argparse.Namespace:
    options = {"target": target, "input": [], "batch": None, "dtype": None, "seq": None, "training": False, "set": [], "limit": 60.0}
    return argparse.Namespace(**(options | {"weights": (OWN,)} | more))


def test_a_worker_gives_what_this_process_gives(tmp_path, monkeypatch, capsys):
    """The graphs at each batch, and how memory grows. What the file prints stays away from standard output."""
    (tmp_path / "my.py").write_text(FILE)
    args = asked(f"{tmp_path}/my.py:net", batch=[2, 4], set=[("width", 8)], dtype="fp16")
    here = capture_all(args)
    monkeypatch.setattr("ironlaw.worker.run", worker_session.run)
    capsys.readouterr()
    apart = capture_all(args)
    out, err = capsys.readouterr()
    assert (apart.own, apart.graphs, apart.growths, apart.unsized) == (here.own, here.graphs, here.growths, here.unsized)
    assert [batch for batch, _ in apart.graphs] == [2, 4] and len(apart.growths) == 1
    assert (out, err) == ("", "on standard output\n")


def test_a_size_that_can_not_be_captured_is_a_reason(tmp_path):
    (tmp_path / "my.py").write_text("import torch\n\n\ndef f(x):\n    assert len(x) < 3\n    return x + 1\n")
    parts = []
    request = {"target": f"{tmp_path}/my.py:f", "input": ["2x4"], "batch": None, "dtype": None, "seq": None, "training": False}
    sizes = capture_job.job(request | {"set": {"dict": []}, "progress": True, "phases": {}}, parts.append)
    assert sizes == {"": {"batch": 2, "tokens": None, "positions": None, "kept": None}}
    assert [(part["what"], part["size"], "graph" in part) for part in parts] == [("asked", 2, True), ("batch", 8, False)]
    assert "AssertionError" in parts[1]["reason"]


def test_phases_of_a_language_model():
    args = asked("hf:LlamaConfig", set=[*SMALL.items()], batch=[1, 2], dtype="bf16")
    phases = capture_phases(args, {"prefill": 8, "decode": 24})
    prompt, step = phases["prefill"], phases["decode"]
    assert (prompt.kept, step.kept) == (2 * 2 * 64 * 2 * 8, 2 * 2 * 64 * 2 * 24)
    for (batch, _), graph in step.graphs.items():
        assert graph.cache_bytes == batch * step.kept and graph.settings["context"] == 24 and graph.settings["batch"] == batch
    assert [growth.what for growth in prompt.growths] == ["batch", "tokens"] and [growth.what for growth in step.growths] == ["batch"]
    assert step.growths[0].held_at(3) == step.main.weight_bytes + 3 * step.kept


def test_a_model_in_fp32_is_captured_in_fp16_too(tmp_path):
    """At the batch at hand and at the grown one, as a library runs it there: Llama's norms are computed in FP32, between two casts."""
    captures = capture_all(asked("hf:LlamaConfig", set=[*SMALL.items()], seq=16))
    assert [growth.what for growth in captures.growths] == ["batch", "tokens"]
    assert set(captures.sources.half) == {1, 4} and set(captures.sources.larger) == {4}
    wide, half = captures.main, captures.sources.half[1]
    assert (wide.dtype, half.dtype) == ("fp32", "fp16") and half.flops == wide.flops
    assert sum(op.kind == "cast" for op in half.ops) > sum(op.kind == "cast" for op in wide.ops)
    (tmp_path / "my.py").write_text(FILE)
    assert capture_all(asked(f"{tmp_path}/my.py:net", batch=[2], set=[("width", 8)], dtype="fp16")).sources.half == {}
