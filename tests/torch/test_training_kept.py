"""What autograd keeps, byte for byte: the engine's rules against PyTorch's saved tensors."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from ironlaw.backends import require  # noqa: E402
from ironlaw.engine.training.autograd import kept  # noqa: E402
from ironlaw.engine.training.loss import with_loss  # noqa: E402
from ironlaw.engine.training.recipes import parameters, static  # noqa: E402
from ironlaw.measure.models.builders import HERE, inputs, model  # noqa: E402
from ironlaw.registry.families import FAMILIES  # noqa: E402
from ironlaw.tracing import capture  # noqa: E402

CPU = require("cpu").saving
# each registry family in small: parameters, classes, batch, tokens
SMALL = {
    "gpt2": ({"vocab": 101, "max_positions": 64, "layers": 2, "hidden": 32, "heads": 4, "ffn": 128}, None, 3, 24),
    "bert": (
        {"vocab": 101, "positions": 64, "token_types": 2, "layers": 2, "hidden": 32, "heads": 4, "ffn": 128, "pooler": True}, None, 3, 24,
    ),
    "vit": ({"layers": 2, "hidden": 32, "heads": 4, "ffn": 128, "patch": 8, "image": 32}, 10, 3, 0),
    "resnet": ({"block": "basic", "depths": [2, 2, 2, 2], "widths": [8, 16, 24, 32], "stem": 8, "image": 64}, 10, 3, 0),
    "mobilenet": ({"stem": 8, "stages": [[1, 8, 1, 1], [6, 16, 2, 2]], "last": 32, "image": 32}, 10, 3, 0),
    "llama": (
        {"vocab": 101, "layers": 2, "hidden": 32, "heads": 4, "kv_heads": 2, "head_dim": 8, "ffn": 64, "tied": True}, None, 3, 24,
    ),
    "ds_cnn": (
        {"blocks": 2, "channels": 8, "frames": 49, "features": 10, "kernel": [10, 4], "stride": 2, "padding": [5, 1]}, 12, 3, 0,
    ),
    "unet": ({"channels": 16, "out_channels": 16, "time": 24, "groups": 4, "size": 8}, None, 2, 0),
    "mlp": ({"layers": 3, "width": 32}, None, 5, 0),
}  # fmt: skip


def saved_bytes(module, loss):
    """Storages that autograd saves while `loss()` runs, each once, without the module's own."""
    own = {t.untyped_storage().data_ptr() for t in (*module.parameters(), *module.buffers())}
    storages = {}

    def pack(t):
        if t.untyped_storage().data_ptr() not in own:
            storages[t.untyped_storage().data_ptr()] = t.untyped_storage().nbytes()
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        alive = loss()
    assert alive.requires_grad
    return sum(storages.values())


def cross_entropy(out):
    rows = out.reshape(-1, out.shape[-1])
    return functional.cross_entropy(rows.float(), torch.zeros(len(rows), dtype=torch.int64))


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
@pytest.mark.parametrize("family", SMALL)
def test_kept_is_what_pytorch_saves(family, dtype):
    params, classes, batch, seq = SMALL[family]
    torch.set_default_dtype({"fp32": torch.float32, "bf16": torch.bfloat16}[dtype])
    try:
        module, args = model(family, params, classes).train(family in HERE), inputs(family, params, batch, seq)
    finally:
        torch.set_default_dtype(torch.float32)
    kwargs = {"use_cache": False} if family in ("gpt2", "llama") else {}

    def loss():
        out = module(*args, **kwargs)
        if family == "bert":
            return out.last_hidden_state.sum() + out.pooler_output.sum()
        return out.sum() if family in ("mlp", "unet") else cross_entropy(getattr(out, "logits", out))

    settings = {"batch": batch, "dtype": dtype} | ({"seq": seq} if seq else {}) | ({"classes": classes} if classes else {})
    graph = with_loss(FAMILIES[family](**params, **settings))
    assert kept(graph, CPU).bytes == saved_bytes(module, loss)


class Block(nn.Module):
    """A GPT layer between an embedding and a head, with attention in one kernel or in three."""

    def __init__(self, width=32, heads=4, stored=False, dropout=0.0, vocab=50):
        super().__init__()
        self.heads, self.stored, self.drop = heads, stored, nn.Dropout(dropout)
        self.words = nn.Embedding(vocab, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down, self.head = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), nn.Linear(width, vocab)

    def forward(self, ids):
        x = self.words(ids)
        b, s, h = x.shape
        q, k, v = (t.view(b, s, self.heads, -1).transpose(1, 2) for t in self.qkv(self.norm1(x)).chunk(3, -1))
        if self.stored:
            y = self.drop(torch.softmax(q @ k.transpose(-1, -2) * (h / self.heads) ** -0.5, -1)) @ v
            y = y.transpose(1, 2).reshape(b, s, h)
        else:
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, s, h)
        x = x + self.drop(self.out(y))
        return self.head(x + self.drop(self.down(functional.gelu(self.up(self.norm2(x))))))


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("dropout", [0.0, 0.1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_captured_block_with_and_without_dropout(dtype, dropout, stored):
    block = Block(dropout=dropout, stored=stored).to(dtype).train()
    ids = torch.zeros(2, 24, dtype=torch.int64)
    graph = with_loss(capture(block, (ids,)))
    assert kept(graph, CPU).bytes == saved_bytes(block, lambda: cross_entropy(block(ids)))


class AfterLinear(nn.Module):
    """A trained product, or convolution, and one function of it."""

    def __init__(self, function, image):
        super().__init__()
        self.first, self.function = nn.Conv2d(3, 8, 1, bias=False) if image else nn.Linear(16, 16, bias=False), function

    def forward(self, x):
        return self.function(self.first(x))


@pytest.mark.parametrize(
    "function",
    [
        lambda h: h.pow(1.5), lambda h: h.abs() ** h.sigmoid(), lambda h: h / (h + 1), lambda h: torch.ones(4, 16) / h,
        lambda h: h.topk(3)[0], lambda h: h.sort()[0], lambda h: h.amax(-1), lambda h: functional.avg_pool2d(h, 2),
        lambda h: functional.adaptive_avg_pool2d(h, 2),
        lambda h: functional.adaptive_avg_pool2d(h, 1), lambda h: functional.max_pool2d(h, 2), lambda h: torch.where(h > 0, h, -h),
    ],
    ids=["pow", "pow_of_both", "div", "div_by", "topk", "sort", "amax", "avg_pool", "adaptive", "global", "max_pool", "where"],
)  # fmt: skip
def test_what_one_function_keeps(function, request):
    image = "pool" in request.node.callspec.id or request.node.callspec.id in ("adaptive", "global")
    module, x = AfterLinear(function, image).train(), torch.randn(2, 3, 8, 8) if image else torch.randn(4, 16)
    assert kept(capture(module, (x,)), CPU).bytes == saved_bytes(module, lambda: module(x).sum())


@pytest.mark.parametrize(("name", "make"), [
    ("adamw", torch.optim.AdamW),
    ("sgd", torch.optim.SGD),
    ("momentum", lambda p: torch.optim.SGD(p, momentum=0.9)),
    ("adafactor", torch.optim.Adafactor),
])  # fmt: skip
def test_state_is_what_the_optimiser_holds(name, make):
    block = Block()
    ids = torch.zeros(2, 24, dtype=torch.int64)
    optimiser = make(block.parameters())
    cross_entropy(block(ids)).backward()
    optimiser.step()
    states = [(key, t) for state in optimiser.state.values() for key, t in state.items() if t is not None]
    counted = sum(t.numel() * t.element_size() for key, t in states if key != "step")
    assert static(parameters(capture(block, (ids,))), "fp32", name).optimiser == counted
