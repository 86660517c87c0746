"""Code that looks at a tensor's values goes the way that real values go, and a note says which where they had to be drawn."""

from __future__ import annotations

import re
import sys
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
from torch import nn  # noqa: E402

import ironlaw as il  # noqa: E402
from ironlaw.engine.device.types import Graph  # noqa: E402
from ironlaw.errors import BadValue  # noqa: E402

X = torch.empty(2, 8, device="meta")
REAL = torch.arange(-6.0, 10.0).view(2, 8)  # nine are above zero
SMALL = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32, "vocab_size": 50}


def kinds(graph: Graph) -> list[str]:
    assert graph.settings["unknown"] == {}
    return [op.kind for op in graph.ops]


def nan_check(x: Any) -> Any:
    if torch.isnan(x).any():
        raise ValueError("not a number")
    return x * 2


def picks(x: Any) -> Any:
    return x[x > 0] * 2


def to_numpy(x: Any) -> Any:
    return torch.from_numpy(x.numpy() * 2).to(x.device) + x


def chooses(x: Any) -> Any:
    return torch.cond(x.sum() > 0, lambda x: x.exp(), lambda x: x.sin(), (x,))


def loops(x: Any) -> Any:
    while x.abs().max() > 1:
        x = x / 2
    return x


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (nan_check, ["compare", "amax", "copy", "scale"]),
        (picks, ["compare", "fill", "sum", "copy", "cumsum", "gather", "gather", "scale"]),  # waits for the count, finds the places
        (to_numpy, ["copy", "add"]),
        (chooses, ["sum", "compare", "fill", "exp"]),  # they sum to 24; the host waits to know
        (loops, [*["abs", "amax", "compare", "copy", "scale"] * 4, "abs", "amax", "compare", "copy"]),  # 9, 4.5, 2.25, 1.125, 0.5625
        (lambda x: x * x.max().item(), ["amax", "copy", "scale"]),
        (lambda x: x * x[0].tolist()[0], ["copy", "scale"]),
    ],
)
def test_values_that_were_handed_in_decide(call: Any, expected: list[str]) -> None:
    graph = il.capture(call, (REAL,))
    assert kinds(graph) == expected
    assert not any("went on with" in note for note in graph.settings.get("notes", ()))  # nothing was drawn


def test_sizes_are_those_of_the_values() -> None:
    assert il.capture(picks, (REAL,)).ops[-1].outputs[0].shape == (9,)
    unique = il.capture(lambda x: torch.unique(x.int() // 4) + 1, (REAL,))
    assert unique.ops[-1].outputs[0].shape == (len({int(v) // 4 for v in REAL.int().flatten()}),)


def test_what_was_changed_in_place_counts() -> None:
    """A write through a view, and one to the whole: the value asked for is the one after both."""

    def f(x: Any) -> Any:
        y = x.clone()
        z = y.view(-1)
        z[3:5] = 7
        before = int(z.sum().item())
        y.zero_()
        assert (before, z.sum().item()) == (int(x.sum().item()) + 3 + 2 + 14, 0.0)
        return y + before

    assert kinds(il.capture(f, (REAL,)))[-1] == "shift"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (nan_check, r"test_capture_values\.py:\d+ \(if torch\.isnan\(x\)\.any\(\):\): .* went on with False, from x \(normal values\)"),
        (picks, r"test_capture_values\.py:\d+ \(return x\[x > 0\] \* 2\): .* went on with a result of \d+, from"),
        (chooses, r"went on with (True|False), from"),
    ],
)
def test_a_note_says_which_way_was_taken(call: Any, said: str) -> None:
    (note,) = il.capture(call, (X,)).settings["notes"]
    assert re.search(said, note), note


def test_a_branch_behind_weights_is_taken_as_after_initialisation() -> None:
    class Gate(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.linear = nn.LayerNorm(8), nn.Linear(8, 8)

        def forward(self, x: Any) -> Any:
            h = self.linear(self.norm(x))
            return h.exp() if h.abs().mean() < 3 else h

    with torch.device("meta"):
        model = Gate()
    graph = il.capture(model, (X,))
    assert kinds(graph)[-1] == "exp" and "weights as after initialisation" in graph.settings["notes"][0]


def test_a_result_that_is_too_much_work_is_drawn() -> None:
    wide = torch.empty(20_000, 20_000, device="meta")
    graph = il.capture(lambda w: (w @ w)[:2, :2].softmax(-1).argmax().item() * w, (wide,))
    assert "the result of " in graph.settings["notes"][0]


@pytest.mark.parametrize(
    ("call", "elements", "said"),
    [
        (lambda w: w[w > 0].exp(), 2 * 10**8, "half of 400,000,000 elements pass"),
        (lambda w: w.masked_select(w > 0).exp(), 2 * 10**8, "half of 400,000,000 elements pass"),
        (lambda w: w.unique().exp(), 4 * 10**8, "400,000,000 values all differ"),
    ],
)
def test_a_size_that_lies_in_too_many_values_is_supposed(call: Any, elements: int, said: str) -> None:
    graph = il.capture(call, (torch.empty(20_000, 20_000, device="meta"),))
    assert graph.ops[-1].kind == "exp" and graph.ops[-1].outputs[0].shape == (elements,)
    assert said in graph.settings["notes"][0]


@pytest.mark.parametrize("name", ["Electra", "RoFormer", "MPNet", "SqueezeBert", "MobileBert", "Bert"])
def test_encoders_with_a_mask_as_an_input(name: str) -> None:
    """The library asks whether the mask is all ones. It is, so that the mask is left out where it can be."""
    more = {"embedding_size": 32, "intra_bottleneck_size": 32, "q_groups": 1, "k_groups": 1, "v_groups": 1, "post_attention_groups": 1}
    groups = {} if name != "SqueezeBert" else {f"{part}_groups": 1 for part in ("intermediate", "output")}
    with torch.device("meta"):
        model = getattr(transformers, f"{name}Model")(getattr(transformers, f"{name}Config")(**SMALL, **more, **groups)).eval()
    ids = torch.empty(2, 6, dtype=torch.long, device="meta")
    masked = il.capture(model, (ids,), {"attention_mask": ids.clone()})
    assert masked.flops == il.capture(model, (ids,)).flops
    for note in masked.settings.get("notes", ()):
        assert "went on with True" in note and "attention_mask (all ones)" in note


def test_bart_in_half_precision() -> None:
    """It asks whether a result is infinite before it clamps."""
    small = {"d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "vocab_size": 50}
    config = transformers.BartConfig(**small, encoder_attention_heads=2, decoder_attention_heads=2)
    with torch.device("meta"):
        model = transformers.BartForConditionalGeneration(config).half().eval()
    graph = il.capture(model, (torch.empty(1, 6, dtype=torch.long, device="meta"),), {"use_cache": False})
    assert graph.dtype == "fp16" and graph.flops > 0


def test_deberta_with_its_buckets() -> None:
    """What it adds to the scores it looks up by distance, in tables of its own."""
    config = transformers.DebertaV2Config(**SMALL, relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=4)
    with torch.device("meta"):
        model = transformers.DebertaV2Model(config).eval()
    ids = torch.empty(2, 6, dtype=torch.long, device="meta")
    assert kinds(il.capture(model, (ids,), {"attention_mask": ids.clone()})).count("gather") == 2  # one for each table


def test_whisper_generates() -> None:
    """A loop that ends where a value says so: the encoder once, the decoder for each token."""
    layers = {
        f"{part}_{what}": n for part in ("encoder", "decoder") for what, n in (("layers", 1), ("attention_heads", 2), ("ffn_dim", 16))
    }
    ids = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
    sizes = {"d_model": 16, "vocab_size": 60, "max_source_positions": 20, "max_target_positions": 12, "num_mel_bins": 8}
    config = transformers.WhisperConfig(**layers, **ids, **sizes, suppress_tokens=None, begin_suppress_tokens=None)
    with torch.device("meta"):
        model, sound = transformers.WhisperForConditionalGeneration(config).eval(), torch.empty(1, 8, 40)
    graph = il.capture(lambda x: model.generate(x, max_new_tokens=3, do_sample=False), (sound,))
    assert sum(op.outputs[0].shape[-1] == 60 for op in graph.ops if op.kind == "linear") == 3  # the head of each token
    assert kinds(graph).count("conv2d") == 2 and any("unfinished_sequences" in note for note in graph.settings["notes"])


# ---- operators of others


@torch.library.custom_op("odd::kept", mutates_args=())
def kept(x: torch.Tensor) -> torch.Tensor:
    """As many places as there are large values, as when boxes are suppressed."""
    if x.dtype == torch.half:
        raise NotImplementedError("not implemented for Half")
    return torch.nonzero(x > 0)[:, 0]


def test_an_operator_that_the_processor_has_not_in_half_precision() -> None:
    x = torch.tensor([1.0, -1.0, 2.0, 3.0], dtype=torch.half)
    graph = il.capture(lambda x: x[kept(x)] + 1, (x,))
    assert graph.ops[-1].outputs[0].shape == (3,) and graph.ops[-1].dtype == "fp16"


@torch.library.custom_op("odd::mystery", mutates_args=())
def mystery(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


@torch.library.custom_op("odd::gpu_only", mutates_args=(), device_types="cuda")
def gpu_only(x: torch.Tensor, n: int) -> torch.Tensor:
    raise NotImplementedError


def test_an_operator_without_a_fake_runs_once() -> None:
    graph = il.capture(lambda x: mystery(x) + 1, (REAL,))
    assert [op.kind for op in graph.ops] == ["unknown", "shift"]
    assert graph.settings["unknown"] == {"odd::mystery": 1} and graph.ops[0].work.bytes == 2 * 64


def test_an_operator_that_runs_nowhere_here_is_bounded_by_its_tensors() -> None:
    graph = il.capture(lambda x: gpu_only(x, 3) + 1, (X,))
    assert [op.kind for op in graph.ops] == ["unknown", "shift"]
    assert any("odd::gpu_only" in note and "shape" in note for note in graph.settings["notes"])


def test_a_registered_cost_is_what_counts() -> None:
    il.register_cost("odd::gpu_only", lambda x, n: {"flops": n * x.numel(), "bytes": 1e9, "unit": "matrix"})
    try:
        graph = il.capture(lambda x: gpu_only(x, 3), (X,))
    finally:
        from ironlaw.tracing.registered_costs import COSTS

        del COSTS["odd::gpu_only"]
    (op,) = graph.ops
    assert (op.kind, op.work.matmul_flops, op.work.bytes, graph.settings["unknown"]) == ("custom", 48.0, 1e9, {})
    machine = il.hardware("h200_sxm")
    assert il.predict(graph, machine, il.Plan(calibrated=False)).data_s == pytest.approx(1e9 / machine.bandwidth)


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        (lambda x: {"flop": 1}, "flop"),
        (lambda x: {"flops": -1}, "flops=-1; give a number that is not negative"),
        (lambda x: {"unit": "tensor"}, "did you mean vector"),
        (lambda: {}, "the cost registered for odd::mystery fails: TypeError"),
    ],
)
def test_a_bad_cost_is_refused(cost: Any, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from ironlaw.tracing.registered_costs import COSTS

    monkeypatch.setitem(COSTS, "odd::mystery", cost)
    with pytest.raises(il.IronlawError, match=said):
        il.capture(mystery, (REAL,))
    with pytest.raises(BadValue, match="give a function"):
        il.register_cost("odd::mystery", 3)  # type: ignore[arg-type]


def test_boxes_are_suppressed_at_once_as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """torchvision goes class by class from 4,000 numbers on a processor and from 100,000 on a GPU."""
    boxes = ModuleType("torchvision.ops.boxes")
    vars(boxes).update(
        _batched_nms_coordinate_trick=lambda boxes, *_: boxes.abs(),
        _batched_nms_vanilla=lambda boxes, *_: boxes.exp(),
        batched_nms=lambda *_: pytest.fail("the choice is not the GPU's"),
    )
    monkeypatch.setitem(sys.modules, "torchvision.ops.boxes", boxes)
    ran = {n: kinds(il.capture(lambda x: boxes.batched_nms(x, x, x, 0.5), (torch.empty(n, 4),))) for n in (2000, 25_000, 25_001)}
    assert ran == {2000: ["abs"], 25_000: ["abs"], 25_001: ["exp"]}


def test_a_write_to_no_place_runs_nothing() -> None:
    """A mask that is false everywhere: an expert that no token chose, say."""
    graph = il.capture(lambda x: x.index_put_((torch.tensor([], dtype=torch.long),), torch.ones(0, 8)).add(1), (torch.zeros(2, 8),))
    assert "write" not in kinds(graph) and kinds(graph)[-1] == "shift"
    one = il.capture(lambda x: x.index_fill(0, torch.tensor([1]), 0.0), (torch.zeros(2, 8),))
    assert il.predict(one, il.hardware("h200_sxm")).kernels > 0


def test_membership_is_a_comparison_of_all_pairs() -> None:
    graph = il.capture(lambda x: torch.isin(x, torch.tensor([1, 2, 3])), (torch.empty(8, dtype=torch.long, device="meta"),))
    assert kinds(graph) == ["compare", "amax"] and graph.ops[0].outputs[0].shape == (8, 3)


def test_what_numpy_computes_is_said_to_be_missing() -> None:
    (note,) = il.capture(to_numpy, (REAL,)).settings["notes"]
    assert "test_capture_values.py" in note and "what it computes on the host is not in the prediction" in note


def grouped_products(dtype: Any) -> tuple[il.Graph, il.Graph]:
    """16 rows in 4 groups of 4, 0, 8 and 4 meet matrices of 8 x 24; and as in a backward pass."""
    x = torch.empty(16, 8, dtype=dtype, device="meta")
    w = torch.empty(4, 8, 24, dtype=dtype, device="meta", requires_grad=True)
    ends = torch.tensor([4, 4, 12, 16], dtype=torch.int32)
    along = il.capture(lambda x, w: torch._grouped_mm(x, w, offs=ends), (x, w))
    across = il.capture(lambda a, b: torch._grouped_mm(a, b, offs=ends), (x.T, torch.empty(16, 24, dtype=dtype, device="meta")))
    assert along.flops == across.flops == 2 * 16 * 8 * 24
    return along, across


def test_grouped_products_are_one_kernel_in_bf16() -> None:
    along, across = grouped_products(torch.bfloat16)
    assert [op.outputs[0].shape for op in along.ops] == [(16, 24)] and [op.outputs[0].shape for op in across.ops] == [(4, 8, 24)]


def test_grouped_products_run_group_by_group_in_fp16() -> None:
    """PyTorch's grouped kernel takes BF16 alone: in other formats the host reads where the groups end and runs a product for each."""
    along, across = grouped_products(torch.float16)
    assert [op.kind for op in along.ops] == ["copy", "matmul", "matmul", "matmul"]  # a group without rows runs nothing
    assert [op.outputs[0].shape for op in along.ops[1:]] == [(4, 24), (8, 24), (4, 24)]
    assert [along.tensors[along.ops[1].outputs[0].name].shape] == [(16, 24)]  # in one tensor
    assert [op.inputs[0].shape for op in across.ops[1:]] == [(8, 4), (8, 8), (8, 4)]
