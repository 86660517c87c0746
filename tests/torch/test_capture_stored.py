"""Weights stored in integers as PyTorch itself runs them, recurrent layers as cuDNN does, and backward ops under their modules."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

import ironlaw as il  # noqa: E402
from ironlaw.engine.device.stored_weights import quantised  # noqa: E402

H200 = il.hardware("h200_sxm")


class Stored(nn.Module):
    def __init__(self, bits: int, n: int = 256, k: int = 512) -> None:
        super().__init__()
        self.bits = bits
        shape = (n, k) if bits == 8 else (n, k // 2)
        self.register_buffer("weight", torch.zeros(shape, dtype=torch.int8 if bits == 8 else torch.uint8))
        self.register_buffer("scales", torch.zeros((n,) if bits == 8 else (k // 128, n, 2), dtype=torch.bfloat16))

    def forward(self, x: Any) -> Any:
        if self.bits == 8:
            return torch.ops.aten._weight_int8pack_mm(x, self.weight, self.scales)
        return torch.ops.aten._weight_int4pack_mm_for_cpu(x, self.weight, 128, self.scales)


@pytest.mark.parametrize("bits", [8, 4])
def test_pytorchs_own_products_with_stored_weights(bits: int) -> None:
    graph = il.capture(Stored(bits), (torch.empty(4, 512, dtype=torch.bfloat16),))
    (one,) = graph.ops
    assert (one.kind, one.dtype, one.inputs[1].dtype) == ("quantised_linear", "bf16", f"int{bits}")
    assert graph.flops == 2 * 4 * 256 * 512
    scales = 256 * 2 if bits == 8 else 4 * 256 * 2 * 2
    assert one.work.read == 4 * 512 * 2 + 256 * 512 * bits / 8 + scales
    assert graph.settings["unknown"] == {}
    kernels = [row.kernels for row in il.predict(graph, H200).ops]
    assert kernels == [4 if bits == 8 else 1]


def test_a_captured_model_stored() -> None:
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 256, bias=False)).half()
    own = il.capture(model, (torch.empty(4, 256, dtype=torch.half),))
    int8 = quantised(own, "int8")
    assert [op.kind for op in int8.ops] == ["quantised_linear", "relu", "quantised_linear"]
    assert int8.flops == own.flops == 2 * 4 * 256 * 512 * 2
    assert int8.weight_bytes == 2 * 256 * 512 + 512 * 2 + (512 + 256) * 2  # the bias, and a scale for each output


@pytest.mark.filterwarnings("ignore")
def test_dynamic_quantisation(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch.ao's linear layers hold their weights packed away: INT8, whatever goes in and comes out."""
    from torch.ao.quantization import quantize_dynamic

    monkeypatch.setattr(torch.backends.quantized, "engine", "qnnpack")  # runs on every processor
    model = quantize_dynamic(nn.Sequential(nn.Linear(64, 32), nn.ReLU()), {nn.Linear}, dtype=torch.qint8)
    graph = il.capture(model, (torch.empty(4, 64),))
    assert [op.kind for op in graph.ops] == ["quantised_linear", "relu"]
    assert graph.flops == 2 * 4 * 64 * 32
    assert graph.ops[0].inputs[1].bytes == 64 * 32
    assert graph.settings["unknown"] == {}


def test_quantise_and_dequantise_are_element_wise() -> None:
    def f(x: Any) -> Any:
        y = torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -128, 127)
        return y + 1

    graph = il.capture(f, (torch.empty(64, 64),))
    assert graph.settings["unknown"] == {}
    assert [op.kind for op in graph.ops] == ["scale", "shift"]


# ---- recurrent layers


@pytest.mark.parametrize(
    ("module", "shape", "flops"),
    [
        (nn.LSTM(8, 16), (5, 2, 8), 5 * 2 * 2 * 64 * (8 + 16)),
        (nn.LSTM(8, 16, 2, bidirectional=True, batch_first=True), (2, 5, 8), 5 * 2 * 2 * 64 * 2 * ((8 + 16) + (32 + 16))),
        (nn.GRU(8, 16, bias=False), (5, 2, 8), 5 * 2 * 2 * 48 * (8 + 16)),
        (nn.RNN(8, 16, nonlinearity="relu"), (5, 2, 8), 5 * 2 * 2 * 16 * (8 + 16)),
    ],
)
def test_a_recurrent_layer_is_one_op(module: nn.Module, shape: tuple[int, ...], flops: int) -> None:
    graph = il.capture(module, (torch.empty(shape),))
    assert [op.kind for op in graph.ops if op.kind != "fill"] == ["recurrent"]
    assert graph.flops == flops
    assert graph.params == sum(w.numel() for w in module.parameters())
    assert graph.settings["unknown"] == {}


def test_what_comes_after_goes_on() -> None:
    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.lstm, self.head = nn.Embedding(100, 32), nn.LSTM(32, 64), nn.Linear(64, 10)

        def forward(self, ids: Any) -> Any:
            out, (h, c) = self.lstm(self.embed(ids))
            return self.head(out), h, c

    graph = il.capture(Tagger(), (torch.zeros(20, 4, dtype=torch.long),))
    assert [op.kind for op in graph.ops if op.kind != "fill"] == ["embedding", "recurrent", "linear"]
    assert graph.ops[-2].outputs[0].name == graph.ops[-1].inputs[0].name


@pytest.mark.parametrize(("module", "gates"), [(nn.LSTM(8, 16, batch_first=True), 64), (nn.GRU(8, 16, batch_first=True), 48)])
def test_gradients_of_a_recurrent_layer_are_one_op(module: nn.Module, gates: int) -> None:
    """The products once forward and twice back; nobody asks for the gradient of what comes in."""
    step = il.capture(module, (torch.empty(2, 5, 8),), training=True)
    there, back = (op for op in step.ops if op.kind == "recurrent")
    assert (there.attrs.get("training"), back.attrs.get("backward")) == (True, True)
    each = 2 * 5 * 2 * gates
    assert (there.work.matmul_flops, back.work.matmul_flops) == (each * (8 + 16), each * (8 + 2 * 16))
    assert {t.shape for t in back.outputs} >= {tuple(w.shape) for w in module.parameters()}
    assert step.settings["unknown"] == {}


def test_a_gradient_goes_back_through_the_last_state_and_what_comes_in() -> None:
    class Summary(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.read, self.write = nn.Linear(4, 8), nn.LSTM(8, 16), nn.LSTM(8, 16)

        def forward(self, x: Any) -> Any:
            _, state = self.read(self.embed(x))
            return self.write(x.new_zeros(3, x.shape[1], 8), state)[0]

    step = il.capture(Summary(), (torch.empty(5, 2, 4),), training=True)
    backward = [op for op in step.ops if op.attrs.get("backward")]
    assert [op.inputs[0].shape for op in backward] == [(3, 2, 8), (5, 2, 8)]
    assert backward[1].outputs[0].shape == (5, 2, 8)  # wanted by the embedding
    assert any(op.name.startswith("embed") for op in step.ops[step.ops.index(backward[1]) :])


def test_projections_go_step_by_step() -> None:
    graph = il.capture(nn.LSTM(8, 16, proj_size=4), (torch.empty(3, 2, 8),))
    assert "recurrent" not in [op.kind for op in graph.ops]
    assert graph.flops == 3 * 2 * 2 * (64 * (8 + 4) + 4 * 16)


# ---- a backward pass under the names of its modules


def test_backward_ops_are_named_after_their_modules() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.norm, self.last = nn.Linear(8, 16), nn.LayerNorm(16), nn.Linear(16, 4)

        def forward(self, x: Any) -> Any:
            return self.last(torch.relu(self.norm(self.first(x))))

    step = il.capture(Net(), (torch.empty(2, 8),), training=True)
    names = [op.name for op in step.ops]
    assert "norm.native_layer_norm_backward" in names
    backward = names[names.index("last.addmm") + 1 :]
    assert [name.split(".")[0] for name in backward if name.startswith(("last.mm", "first.mm"))] == ["last", "last", "first"]
    assert any(name.startswith("first.sum") for name in backward)  # of its bias
