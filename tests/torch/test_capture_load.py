"""What can be named on the command line: exported programs, makers that need real tensors, files written for a GPU, heads and folders of
transformers, caches as inputs; and Triton kernels and sparse tensors on the way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
from torch import nn  # noqa: E402

import ironlaw as il  # noqa: E402
from ironlaw.engine.device.types import Graph  # noqa: E402
from ironlaw.errors import BadValue, UnknownName  # noqa: E402
from ironlaw.tracing.load_target import load  # noqa: E402
from ironlaw.tracing.resize import resized  # noqa: E402

SMALL = {"num_hidden_layers": 1, "hidden_size": 32, "intermediate_size": 32, "num_attention_heads": 2, "vocab_size": 50}
HALVES = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 32, "encoder_attention_heads": 2, "decoder_attention_heads": 2}
FILE = """
import torch
from torch import nn

program = torch.export.export(nn.Sequential(nn.Linear(8, 4), nn.ReLU()), (torch.zeros(2, 8),))
module = program.module()
module_inputs = torch.zeros(2, 8)
torch.export.save(program, HERE + "/saved.pt2")
on_gpu = nn.Linear(8, 8).cuda()
scaler = torch.amp.GradScaler("cuda")
optimiser = torch.optim.SGD(on_gpu.parameters(), lr=0.1)


def step(x):
    with torch.autocast("cuda"):
        loss = on_gpu(x.to("cuda")).sum()
    scaler.scale(loss).backward()
    scaler.step(optimiser)
    scaler.update()
    optimiser.zero_grad()


def maker():
    widths = torch.unique(torch.tensor([3, 5, 5]))
    return nn.Linear(len(widths), 4)


class Dropped(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.drop = nn.Conv2d(3, 4, 3), nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(self.conv(x))
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("load")
    (folder / "mine.py").write_text(FILE.replace("HERE", repr(str(folder))))
    return str(folder / "mine.py")


def captured(text: str, *shapes: str, **more: Any) -> Graph:
    target = load(text, shapes, **more)
    return il.capture(target.call, target.args, target.kwargs, training=more.get("training", False))


def test_exported_programs(file: str) -> None:
    for text in (f"{file}:program", f"{file}:module", str(Path(file).parent / "saved.pt2")):
        graph = captured(text)
        assert ([op.kind for op in graph.ops], graph.flops) == (["linear", "relu"], 2 * 2 * 8 * 4)
    program = torch.export.export(nn.Linear(8, 4), (torch.zeros(2, 8),))
    assert il.capture(program).flops == il.capture(program, (torch.zeros(2, 8),)).flops == 2 * 2 * 8 * 4
    (Path(file).parent / "bad.pt2").write_text("nothing")
    with pytest.raises(BadValue, match=r"bad\.pt2 can't be read"):
        load(str(Path(file).parent / "bad.pt2"))


def test_a_maker_that_needs_real_tensors(file: str) -> None:
    target = load(f"{file}:maker", ["3x2"])
    assert target.call.weight.shape == (4, 2) and target.call.weight.device.type == "cpu"
    assert "maker() can't run on the meta device" in target.notes[0] and "built for real" in target.notes[0]


def test_a_file_written_for_a_gpu(file: str) -> None:
    graph = captured(f"{file}:step", "4x8")
    assert graph.dtype == "fp16" and graph.settings["training"] and graph.flops == 2 * (2 * 4 * 8 * 8)


def test_training_is_in_the_mode_of_training(file: str) -> None:
    assert "dropout" in [op.kind for op in captured(f"{file}:Dropped", "1x3x8x8", training=True).ops]
    assert "dropout" not in [op.kind for op in captured(f"{file}:Dropped", "1x3x8x8").ops]


@pytest.mark.parametrize(
    ("config", "more", "head"),
    [
        ("BartConfig", HALVES | {"vocab_size": 50}, "BartForConditionalGeneration"),
        ("WhisperConfig", HALVES | {"vocab_size": 50, "pad_token_id": 1, "max_source_positions": 20}, "WhisperForConditionalGeneration"),
        ("T5Config", {"num_layers": 1, "d_model": 32, "d_kv": 16, "num_heads": 2, "vocab_size": 50}, "T5ForConditionalGeneration"),
        ("BertConfig", SMALL, "BertModel"),
    ],
)
def test_a_configuration_with_several_heads(config: str, more: dict[str, Any], head: str) -> None:
    target = load(f"hf:{config}", seq=8, settings=dict(more))
    assert type(target.call).__name__ == head and f"built as {head}; another head with --set head=NAME" in target.notes[0]
    assert il.capture(target.call, target.args, target.kwargs).flops > 0


def test_another_head() -> None:
    target = load("hf:BertConfig", settings=SMALL | {"head": "BertForMaskedLM"})
    assert type(target.call).__name__ == "BertForMaskedLM" and not target.notes
    with pytest.raises(UnknownName, match="BertForMaskedLM"):
        load("hf:BertConfig", settings=SMALL | {"head": "BertForMaskedLN"})


def test_a_folder_with_a_configuration(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(SMALL | {"model_type": "llama", "architectures": ["LlamaForCausalLM"]}))
    target = load(f"hf:{tmp_path}", seq=8, settings={"num_hidden_layers": 2})
    assert type(target.call).__name__ == "LlamaForCausalLM" and target.call.config.num_hidden_layers == 2
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(BadValue, match="model_type"):
        load(f"hf:{tmp_path}")
    with pytest.raises(BadValue, match=r"nothing is fetched from the network here; save its config\.json .* hf:\./Llama"):
        load("hf:meta-llama/Llama-3.1-8B")


def test_a_batch_reaches_into_caches() -> None:
    """A decoding step at twice the batch: every product and every byte of the cache twice."""
    config = transformers.LlamaConfig(**SMALL)
    with torch.device("meta"):
        model = transformers.LlamaForCausalLM(config).eval()
    cache = transformers.DynamicCache()
    keys = torch.empty(1, 2, 16, 16, device="meta")
    cache.update(keys, keys.clone(), 0)
    from ironlaw.tracing.target import Target

    target = Target("decode", model, (torch.empty(1, 1, dtype=torch.long, device="meta"),), {"past_key_values": cache, "use_cache": True})
    one, two = (il.capture(t.call, t.args, t.kwargs) for t in (target, resized(target, batch=2)))
    assert two.flops == 2 * one.flops

    def cached(graph: Graph) -> float:
        return float(sum(t.bytes for op in graph.ops for t in op.inputs if t.role == "cache"))

    assert cached(two) == 2 * cached(one) > 0 and cache.layers[0].keys.shape[0] == 1


# ---- kernels and layouts


def test_triton_kernels_need_no_driver() -> None:
    triton = pytest.importorskip("triton")

    @triton.jit
    def add_kernel(x_ptr: Any, y_ptr: Any, out_ptr: Any, n: Any, BLOCK: Any) -> None:
        pass

    def add(x: Any, y: Any) -> Any:
        out = torch.empty_like(x)
        add_kernel[(1,)](x, y, out, x.numel(), BLOCK=64)
        return out * 2

    x = torch.empty(8, 8, device="meta")
    graph = il.capture(add, (x, x.clone()))
    assert [op.kind for op in graph.ops] == ["unknown", "scale"] and graph.settings["unknown"] == {"add_kernel": 1}
    assert graph.ops[0].work.bytes == 3 * 64 * 4 and graph.ops[1].inputs[0].name == graph.ops[0].outputs[0].name
    from ironlaw.tracing.registered_costs import COSTS

    il.register_cost("add_kernel", lambda x_ptr, n, **others: {"flops": n})
    try:
        (op, _) = il.capture(add, (x, x.clone())).ops
    finally:
        del COSTS["add_kernel"]
    assert (op.kind, op.work.flops, op.work.bytes) == ("custom", 64.0, 3 * 64 * 4)


def test_sparse_matrices_are_bounded_by_what_they_hold() -> None:
    matrix = torch.eye(16).to_sparse_csr()  # 16 values of 4 bytes, 16 + 17 indices of 8
    graph = il.capture(lambda x: matrix @ x, (torch.ones(16, 3),))
    (op,) = graph.ops
    assert op.kind == "unknown" and op.work.bytes == 16 * 4 + 33 * 8 + 2 * 16 * 3 * 4
    made = il.capture(lambda x: torch.sparse.mm(x.to_sparse_csr(), x), (torch.eye(16),))
    assert made.settings["unknown"] and made.ops[-1].outputs[0].shape == (16, 16)
