"""`capture` against the registry's own graphs, PyTorch's FLOP counter, and modules with something odd in them."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from how_thorough import RELEASE

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from test_workloads_torch import inputs_of, model_of  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

import ironlaw as il  # noqa: E402
from ironlaw.engine.device.memory import live_activations, unread  # noqa: E402
from ironlaw.engine.device.types import Graph  # noqa: E402
from ironlaw.errors import BadValue  # noqa: E402
from ironlaw.registry.workloads import about  # noqa: E402

transformers.logging.set_verbosity_error()
warnings.filterwarnings("ignore", category=UserWarning)
H200 = il.hardware("h200_sxm")


def kinds(graph: Graph) -> list[str]:
    return [op.kind for op in graph.ops]


def on_meta(slug: str) -> tuple[nn.Module, Any, dict[str, Any]]:
    data = about(slug)
    defaults, params = data["defaults"], data["params"]
    with torch.device("meta"):
        model = model_of(data["family"], params, defaults.get("classes")).to(torch.bfloat16).eval()
    args = inputs_of(data["family"], params, 2, defaults.get("seq", 0), torch.bfloat16, "meta")
    return model, args, {"use_cache": False} if "phase" in defaults and not params.get("bare") else {}


# ---- the registry's graphs were written by hand from what PyTorch runs; capture finds the same ops


APART = {"mobilenet_v2", "llama3_70b", "gpt2_medium", "vit_l16"}
# of the same family as a smaller one: before a release (the sizes of most are counted in test_workloads_torch.py every time)
LARGER = {"bert_base", "llama3_8b", "resnet101", "wrn_28_10", "wrn_70_16", "wrn_94_16"}
LATER = set() if RELEASE else LARGER


@pytest.mark.parametrize("slug", [w for w in il.workloads() if w not in APART | LATER])
def test_as_the_registry_has_it(slug: str) -> None:
    found, known = il.capture(*on_meta(slug)), il.workload(slug, batch=2, dtype="bf16")
    same = {"scale": "div"} if slug == "moe_small" else {}  # a division by a number
    assert [same.get(k, k) for k in kinds(found)] == [same.get(k, k) for k in kinds(known)]
    assert (found.params, found.flops, found.dtype) == (known.params, known.flops, "bf16")
    assert found.settings["unknown"] == {}
    assert found.bytes == pytest.approx(known.bytes, rel=1e-4)
    for mode in ("eager", "compiled"):
        ours, theirs = (il.predict(g, H200, il.Plan(mode=mode)) for g in (found, known))
        waits = [row.cost for row in ours.ops if row.op.attrs.get("waits")]  # a copy to the host; by hand an op like any other
        assert ours.kernels - (len(waits) if mode == "compiled" else 0) == theirs.kernels
        assert ours.busy_s - sum(cost.device for cost in waits) == pytest.approx(theirs.busy_s, rel=5e-3)
        assert ours.memory.weights - unread(found, "weights") == theirs.memory.weights
        if mode == "compiled":
            assert ours.memory.activations == pytest.approx(theirs.memory.activations, rel=1e-3)
        else:  # a captured model's modules hold what they were called with
            assert 0.999 * live_activations(known) <= live_activations(found) <= 2.0 * live_activations(known)


def test_decoding_with_a_cache() -> None:
    model, _, _ = on_meta("llama3_2_1b")
    ids = torch.zeros(2, 100, dtype=torch.long, device="meta")
    with torch.no_grad():
        cache = model(ids, use_cache=True).past_key_values
    found = il.capture(model, (ids[:, :1],), {"past_key_values": cache, "use_cache": True})
    known = il.workload("llama3_2_1b", phase="decode", context=100, batch=2, dtype="bf16")
    assert found.flops == known.flops
    assert il.predict(found, H200).kernels == pytest.approx(il.predict(known, H200).kernels, rel=0.02)


# ---- architectures beyond the registry: parameters and FLOPs by PyTorch's own counter on meta tensors

SMALL = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 100}
TEXT = {
    "albert": ("AlbertModel", "AlbertConfig", SMALL | {"embedding_size": 32}),
    "bert": ("BertModel", "BertConfig", SMALL),
    "bloom": ("BloomForCausalLM", "BloomConfig", {"hidden_size": 64, "n_layer": 2, "n_head": 4, "vocab_size": 100}),
    "camembert": ("CamembertModel", "CamembertConfig", SMALL),
    "codegen": ("CodeGenForCausalLM", "CodeGenConfig", {"n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 100, "rotary_dim": 8}),
    "deberta_v2": ("DebertaV2Model", "DebertaV2Config", SMALL),
    "distilbert": ("DistilBertModel", "DistilBertConfig", {"dim": 64, "n_layers": 2, "n_heads": 4, "hidden_dim": 128, "vocab_size": 100}),
    "electra": ("ElectraModel", "ElectraConfig", SMALL | {"embedding_size": 32}),
    "ernie": ("ErnieModel", "ErnieConfig", SMALL),
    "falcon": ("FalconForCausalLM", "FalconConfig", {
        "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100}),
    "gemma": ("GemmaForCausalLM", "GemmaConfig", SMALL | {"num_key_value_heads": 2, "head_dim": 16}),
    "gemma2": ("Gemma2ForCausalLM", "Gemma2Config", SMALL | {"num_key_value_heads": 2, "head_dim": 16}),
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", {"n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 100}),
    "gpt_neo": ("GPTNeoForCausalLM", "GPTNeoConfig", {
        "hidden_size": 64, "num_layers": 2, "num_heads": 4, "vocab_size": 100, "attention_types": [[["global", "local"], 1]]}),
    "gpt_neox": ("GPTNeoXForCausalLM", "GPTNeoXConfig", SMALL),
    "gptj": ("GPTJForCausalLM", "GPTJConfig", {"n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 100, "rotary_dim": 8}),
    "llama": ("LlamaForCausalLM", "LlamaConfig", SMALL | {"num_key_value_heads": 2}),
    "mistral": ("MistralForCausalLM", "MistralConfig", SMALL | {"num_key_value_heads": 2}),
    "mpnet": ("MPNetModel", "MPNetConfig", SMALL),
    "opt": ("OPTForCausalLM", "OPTConfig", {
        "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 128, "vocab_size": 100, "word_embed_proj_dim": 64}),
    "phi": ("PhiForCausalLM", "PhiConfig", SMALL),
    "phi3": ("Phi3ForCausalLM", "Phi3Config", SMALL | {"num_key_value_heads": 2, "pad_token_id": 0}),
    "qwen2": ("Qwen2ForCausalLM", "Qwen2Config", SMALL | {"num_key_value_heads": 2}),
    "qwen3": ("Qwen3ForCausalLM", "Qwen3Config", SMALL | {"num_key_value_heads": 2, "head_dim": 16}),
    "roberta": ("RobertaModel", "RobertaConfig", SMALL),
    "stablelm": ("StableLmForCausalLM", "StableLmConfig", SMALL | {"num_key_value_heads": 2}),
    "t5 encoder": ("T5EncoderModel", "T5Config", {
        "d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4, "vocab_size": 100}),
    "xlm_roberta": ("XLMRobertaModel", "XLMRobertaConfig", SMALL),
}  # fmt: skip
PICTURES = {
    "beit": ("BeitModel", "BeitConfig", {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}),
    "convnext": ("ConvNextModel", "ConvNextConfig", {"hidden_sizes": [16, 32], "depths": [1, 1], "num_stages": 2}),
    "deit": ("DeiTModel", "DeiTConfig", {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}),
    "mobilenet_v1": ("MobileNetV1Model", "MobileNetV1Config", {}),
    "mobilenet_v2": ("MobileNetV2Model", "MobileNetV2Config", {}),
    "regnet": ("RegNetModel", "RegNetConfig", {"hidden_sizes": [16, 32], "depths": [1, 1], "embedding_size": 16, "groups_width": 8}),
    "resnet": ("ResNetModel", "ResNetConfig", {"hidden_sizes": [32, 64], "depths": [1, 1], "embedding_size": 16}),
    "swin": ("SwinModel", "SwinConfig", {"embed_dim": 16, "depths": [1, 1], "num_heads": [2, 2], "image_size": 64, "window_size": 4}),
    "vit": ("ViTModel", "ViTConfig", {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}),
}  # fmt: skip


@pytest.mark.parametrize("name", [*TEXT, *PICTURES] if RELEASE else [*TEXT, *PICTURES][::3])
def test_parameters_and_flops(name: str) -> None:
    model_name, config_name, settings = (TEXT | PICTURES)[name]
    config = getattr(transformers, config_name)(**settings)
    with torch.device("meta"):
        model = getattr(transformers, model_name)(config).eval()
    size = getattr(config, "image_size", 224)
    given = torch.zeros(2, 16, dtype=torch.long) if name in TEXT else torch.zeros(2, 3, size, size)
    found = il.capture(model, (given,))
    assert found.params <= sum(w.numel() for w in model.parameters())  # a weight that the call does not touch is not there
    assert found.params >= 0.9 * sum(w.numel() for w in model.parameters())
    assert found.settings["unknown"] == {}
    assert found.flops == counted(model, given)
    assert il.predict(found, H200).seconds > 0


def counted(model: nn.Module, given: Any) -> float:
    """FLOPs by PyTorch's counter. On a CPU it takes attention as nothing, so it is run apart and counted by its two products."""
    attention = 0.0
    plain = F.scaled_dot_product_attention

    def sdpa(q: Any, k: Any, v: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal attention
        attention += 2.0 * q.numel() * k.shape[-2] + 2.0 * q.numel() // q.shape[-1] * k.shape[-2] * v.shape[-1]
        return q.new_empty((*q.shape[:-1], v.shape[-1]))

    real = model.to_empty(device="cpu")
    for t in (*real.parameters(), *real.buffers()):
        t.data.zero_()
    try:
        F.scaled_dot_product_attention = torch.nn.functional.scaled_dot_product_attention = sdpa
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            real(given)
    finally:
        F.scaled_dot_product_attention = torch.nn.functional.scaled_dot_product_attention = plain
    return counter.get_total_flops() + attention


# ---- one thing at a time


def test_a_function_and_what_it_closes_over() -> None:
    w = torch.randn(8, 8)
    graph = il.capture(lambda x: torch.relu(x @ w), (torch.empty(4, 8),))
    assert kinds(graph) == ["matmul", "relu"]
    assert [t.role for t in graph.ops[0].inputs] == ["input", "buffer"]
    assert graph.flops == 2 * 4 * 8 * 8


def test_views_cost_nothing_and_keep_the_thread() -> None:
    graph = il.capture(lambda x: (x.view(8, 4).t()[1:] + 1).transpose(0, 1).exp(), (torch.empty(4, 8),))
    assert kinds(graph) == ["shift", "exp"]
    assert graph.ops[1].inputs[0].name == graph.ops[0].outputs[0].name
    assert graph.ops[0].inputs[0].shape == (3, 8)
    assert graph.ops[0].attrs["strided"]


def test_in_place_ops_hold_no_memory_of_their_own() -> None:
    def fresh(x: Any) -> Any:
        return x.add(1).relu()

    def in_place(x: Any) -> Any:
        return x.add_(1).relu_()

    x = torch.empty(256)
    assert [op.attrs.get("inplace", False) for op in il.capture(in_place, (x,)).ops] == [True, True]
    assert il.predict(il.capture(in_place, (x,)), H200).memory.activations == 1024
    assert il.predict(il.capture(fresh, (x,)), H200).memory.activations == 3 * 1024


def test_tied_weights_count_once() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.head = nn.Embedding(100, 16), nn.Linear(16, 100, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, ids: Any) -> Any:
            return self.head(self.embed(ids))

    assert il.capture(Tied(), (torch.zeros(2, 3, dtype=torch.long),)).params == 1600


def test_an_expanded_tensor_is_read_once() -> None:
    graph = il.capture(lambda x, b: x + b.expand(64, 8), (torch.empty(64, 8), torch.empty(1, 8)))
    assert sum(graph.ops[0].reads) == 64 * 8 * 4 + 8 * 4


def test_grouped_query_attention() -> None:
    q, k = torch.empty(2, 8, 16, 32), torch.empty(2, 2, 16, 32)
    graph = il.capture(lambda: F.scaled_dot_product_attention(q, k, k, is_causal=True, enable_gqa=True))
    assert kinds(graph) == ["attention"]
    assert graph.flops == 4 * 2 * 8 * 16 * 16 * 32
    assert graph.ops[0].attrs["causal"]


def test_channels_last_converts_nothing() -> None:
    model = nn.Sequential(nn.Conv2d(8, 16, 3), nn.BatchNorm2d(16), nn.ReLU()).eval().half()
    x = torch.empty(1, 8, 8, 8, dtype=torch.half)
    plain = il.capture(model, (x,))
    last = il.capture(model.to(memory_format=torch.channels_last), (x.to(memory_format=torch.channels_last),))
    assert kinds(plain) == kinds(last) == ["conv2d", "batch_norm", "relu"]
    assert not any(op.attrs.get("strided") for op in last.ops)
    assert il.predict(last, H200).kernels < il.predict(plain, H200).kernels


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_autocast_casts(device: str) -> None:
    class Cast(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(8, 8)

        def forward(self, x: Any) -> Any:
            with torch.autocast(device, dtype=torch.bfloat16):
                return self.linear(x)

    graph = il.capture(Cast(), (torch.empty(2, 8),))
    assert kinds(graph) == ["cast", "cast", "cast", "matmul"]
    assert graph.ops[-1].dtype == graph.dtype == "bf16"


class HalfInPart(nn.Module):
    def __init__(self, device: str) -> None:
        super().__init__()
        self.device, self.linear, self.norm = device, nn.Linear(8, 8), nn.LayerNorm(8)

    def forward(self, x: Any) -> Any:
        with torch.autocast(self.device, dtype=torch.float16):
            y = self.norm(self.linear(x).softmax(-1))
            return (y**2).sum(), F.scaled_dot_product_attention(x, x, x)


def test_autocast_for_a_gpu_takes_the_gpus_lists() -> None:
    """On a GPU softmax, norms, powers and sums give FP32 (the list is in PyTorch's manual); on a processor they stay in half precision."""
    formats = {
        device: {op.kind: op.outputs[0].dtype for op in il.capture(HalfInPart(device), (torch.empty(2, 8),)).ops}
        for device in ("cuda", "cpu")
    }
    assert formats["cpu"]["softmax"] == formats["cpu"]["layer_norm"] == formats["cpu"]["square"] == formats["cpu"]["sum"] == "fp16"
    gpu = formats["cuda"]
    assert gpu["softmax"] == gpu["layer_norm"] == gpu["square"] == gpu["sum"] == "fp32" and gpu["attention"] == gpu["matmul"] == "fp16"
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.ones(2, 2, dtype=torch.bfloat16).softmax(-1).dtype == torch.bfloat16  # as before, after a capture


@pytest.mark.parametrize(
    ("module", "shape", "flops"),
    [
        (nn.Conv1d(4, 8, 3), (1, 4, 80), 2 * 8 * 78 * 4 * 3),
        (nn.Conv3d(4, 8, 3), (1, 4, 8, 8, 8), 2 * 8 * 6**3 * 4 * 27),
        (nn.ConvTranspose2d(4, 8, 3), (1, 4, 8, 8), 2 * 4 * 64 * 8 * 9),
        (nn.Conv2d(4, 8, 3, groups=2, dilation=2, stride=2), (1, 4, 16, 16), 2 * 8 * 6 * 6 * 2 * 9),
        (nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval(), (2, 4, 16), 2 * 8 * (16 * 64 + 2 * 16 * 32) + 4 * 2 * 4 * 4 * 16),
    ],
)
def test_flops_by_hand(module: nn.Module, shape: tuple[int, ...], flops: int) -> None:
    graph = il.capture(module, (torch.empty(shape),))
    assert graph.flops == flops
    assert graph.settings["unknown"] == {}


def test_an_op_that_nobody_knows_is_counted_and_listed() -> None:
    graph = il.capture(lambda x: torch.linalg.ldl_factor(x)[0].abs(), (torch.empty(4, 4),))
    assert graph.settings["unknown"] == {"linalg_ldl_factor_ex": 1}
    assert graph.ops[0].kind == "unknown"
    assert sum(graph.ops[0].reads) == 64
    assert il.predict(graph, H200).seconds > 0


def test_each_op_says_which_call_it_came_from() -> None:
    """The rows of one ATen call share its number; the copy that a softmax of columns needs first belongs to the softmax."""

    def call(x: torch.Tensor) -> torch.Tensor:
        return (x @ x).T.softmax(-1).relu_()

    graph = il.capture(call, (torch.zeros(8, 8),))
    assert kinds(graph) == ["matmul", "copy", "softmax", "relu"]
    names, numbers = zip(*graph.settings["calls"], strict=True)
    assert names == ("mm", "_softmax", "_softmax", "relu")
    assert numbers[0] < numbers[1] == numbers[2] < numbers[3]


def test_progress_is_told() -> None:
    seen: list[int] = []
    il.capture(nn.Sequential(nn.Linear(8, 8), nn.ReLU()), (torch.empty(2, 8),), progress=seen.append)
    assert seen == [1, 2]


def test_nothing_is_made_or_changed() -> None:
    with torch.device("meta"):
        model = nn.Linear(100_000, 100_000)  # 40 GB
    il.capture(model, (torch.empty(2, 100_000, device="meta"),))
    assert next(model.parameters()).device.type == "meta"
    real = nn.Linear(8, 8)
    before = real.weight.clone()
    il.capture(real, (torch.ones(2, 8),), training=True)
    assert torch.equal(real.weight, before)
    assert real.weight.grad is None


# ---- a training step


def test_a_training_step_is_three_times_the_forward_pass() -> None:
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.Dropout(0.1)).train()
    x = torch.empty(32, 64, requires_grad=True)
    step = il.capture(model, (x,), training=True)
    forward = 2 * 2 * 32 * 64 * 64
    # the backward pass is two products for each one, but nobody asks for the gradient of the input
    assert step.flops == forward + forward + forward // 2
    assert "dropout" in kinds(step)
    assert kinds(step).count("foreach") == 8
    memory = il.predict(step, H200).memory
    weights = sum(w.numel() for w in model.parameters()) * 4
    assert memory.weights == pytest.approx(3 * weights, rel=0.01)  # AdamW keeps two more of each


def test_a_training_step_of_a_language_model() -> None:
    config = transformers.LlamaConfig(**SMALL, num_key_value_heads=2)
    with torch.device("meta"):
        model = transformers.LlamaForCausalLM(config).train()
    ids = torch.zeros(2, 16, dtype=torch.long)
    step = il.capture(model, (ids,), {"labels": ids}, training=True)
    forward = il.capture(model.eval(), (ids,), {"use_cache": False})
    assert kinds(step).count("attention_backward") == 2
    assert step.settings["unknown"] == {}
    assert 2.9 < step.flops / forward.flops < 3.1  # attention's scores are computed once more


def test_a_convolution_trains() -> None:
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3)).train()
    step = il.capture(model, (torch.empty(2, 3, 16, 16),), training=True)
    one, two = 2 * 2 * 8 * 14 * 14 * 27, 2 * 2 * 8 * 12 * 12 * 72
    assert step.flops == 2 * one + 3 * two  # the first layer's input needs no gradient
    assert kinds(step).count("copy") == 0


# ---- branches; tests/torch/test_capture_values.py has more


def test_a_branch_on_what_is_known_goes_on() -> None:
    def f(x: Any) -> Any:
        places = torch.arange(x.shape[0])
        return x + 1 if (places.diff() == 1).all() else x

    assert kinds(il.capture(f, (torch.empty(4),)))[-1] == "shift"
    ids = torch.tensor([1, 2, 0])
    assert kinds(il.capture(lambda i: i + 1 if bool((i == 0).any()) else i, (ids,)))[-1] == "shift"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: il.capture(3), "capture needs an nn.Module or a function; this is an int"),
        (lambda: il.capture(nn.ReLU(), torch.empty(3)), r"as a tuple: capture\(model, \(x,\)\)"),
        (lambda: il.capture(nn.Linear(8, 8), (torch.empty(2, 7),)), r"same reduction dim, but got \[2, 7\] X \[8, 8\]"),
        (lambda: il.capture(lambda: 3), "ran no operator on a tensor"),
        (lambda: il.capture(lambda x: x, (torch.empty(3),), training=True), "needs an nn.Module"),
        (lambda: il.capture(nn.ReLU(), (torch.empty(3),), training=True), "no weight of the module needs a gradient"),
        (lambda: il.capture(lambda x: x.nope, (torch.empty(3),)), "AttributeError.*fix the model"),
    ],
)
def test_bad_calls(call: Any, said: str) -> None:
    with pytest.raises(BadValue, match=said):
        call()
