"""`ironlaw memory` counts by rules from a forward pass what `analyze --training` counts from the captured step: the same bytes."""

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from ironlaw.engine.advice.action_names import AGAIN  # noqa: E402
from ironlaw.engine.device.memory import footprint, live_profile  # noqa: E402
from ironlaw.engine.device.types import Graph, Tensor  # noqa: E402
from ironlaw.engine.device.work import op  # noqa: E402
from ironlaw.engine.training.setup import Setup, ledger  # noqa: E402
from ironlaw.errors import BadValue  # noqa: E402
from ironlaw.systems.questions.memory import _own_recipe  # noqa: E402
from ironlaw.tracing import capture  # noqa: E402
from ironlaw.tracing.adapters import EIGHT_BIT, adapt  # noqa: E402
from ironlaw.tracing.capture import captured, unwritten  # noqa: E402
from ironlaw.tracing.target import Target  # noqa: E402

IDS = torch.zeros(2, 16, dtype=torch.long)
IMAGES = torch.zeros(4, 3, 16, 16)
LABELS = torch.zeros(4, dtype=torch.long)


class Block(nn.Module):
    def __init__(self, norm, linear=nn.Linear):
        super().__init__()
        self.norm, self.mixed, self.out = norm(32), linear(32, 96), linear(32, 32)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (2, 16)).transpose(1, 2) for part in self.mixed(self.norm(x)).chunk(3, -1))
        return x + self.out(functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))


class Adapted(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.base, self.down, self.up = (nn.Linear(a, b, bias=False) for a, b in ((inner, outer), (inner, 4), (4, outer)))
        self.base.weight.requires_grad_(False)

    def forward(self, x):
        return self.base(x) + self.up(self.down(x))


class Quantised(nn.Module):
    """Weights of four bits, unpacked before each product."""

    def __init__(self, inner, outer):
        super().__init__()
        self.register_buffer("packed", torch.zeros(outer, inner // 2, dtype=torch.uint8))
        self.down, self.up = nn.Linear(inner, 4, bias=False), nn.Linear(4, outer, bias=False)

    def forward(self, x):
        base = torch.stack((self.packed & 15, self.packed >> 4), -1).flatten(1).to(x.dtype)
        return functional.linear(x, base) + self.up(self.down(x))


class Deep(nn.Module):
    """A name holds the first activation until the last block is done, as transformers' decoders do; no gradient needs it."""

    def __init__(self):
        super().__init__()
        self.words, self.blocks = (
            nn.Embedding(50, 32).requires_grad_(False),
            nn.Sequential(*(Block(nn.LayerNorm, Adapted) for _ in range(12))),
        )

    def forward(self, x):
        first = self.words(x)
        y = first.mul(2.0)
        y = self.blocks(y)
        return y if first is not None else first


class Parted(nn.Module):
    """One weight for several experts, of which each product reads a part."""

    def __init__(self):
        super().__init__()
        self.experts = nn.Parameter(torch.zeros(3, 64, 64))

    def forward(self, x):
        return torch.cat([functional.linear(part, weight) for part, weight in zip(x.chunk(3), self.experts, strict=True)])


class Bottleneck(nn.Module):
    """Its input has two readers, whose gradients autograd adds up in place."""

    def __init__(self):
        super().__init__()
        self.ways = nn.Sequential(nn.Conv2d(16, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True))

    def forward(self, x):
        return functional.relu(x + self.ways(x), inplace=True)


class Placed(nn.Module):
    """The mask is learned, as T5's positions are."""

    def __init__(self, batch=2):
        super().__init__()
        self.words, self.places, self.out = nn.Embedding(50, 32), nn.Parameter(torch.zeros(batch, 2, 16, 16)), nn.Linear(32, 50)

    def forward(self, x):
        y = self.words(x).unflatten(-1, (2, 16)).transpose(1, 2)
        return self.out(functional.scaled_dot_product_attention(y, y, y, attn_mask=self.places).transpose(1, 2).flatten(2))


class Loss(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x, wanted):
        return functional.cross_entropy(self.model(x).flatten(0, -2).float(), wanted.flatten())


def decoder(norm, linear=nn.Linear):
    return nn.Sequential(nn.Embedding(50, 32), *(Block(norm, linear) for _ in range(2)), norm(32), nn.Linear(32, 50, bias=False))


def images():
    first = [nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.GroupNorm(2, 8), nn.SiLU()]
    return nn.Sequential(*first, nn.Flatten(), nn.Dropout(0.1), nn.Linear(8 * 8 * 8, 10))


def residual():
    """Deep enough that what the forward pass kept is long gone at the end."""
    first = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), *(Bottleneck() for _ in range(40)))
    return nn.Sequential(first, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))


def quantised():
    return nn.Sequential(Quantised(64, 64), nn.GELU(), Quantised(64, 64))


def small():
    return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))


def frozen(model):
    for weight in list(model.parameters())[:-2]:
        weight.requires_grad_(False)
    return model


MODELS = {
    "a decoder": (lambda: Loss(decoder(nn.LayerNorm)), (IDS, IDS)),
    "in half precision": (lambda: Loss(decoder(nn.LayerNorm)).bfloat16(), (IDS, IDS)),
    "RMS norms": (lambda: Loss(decoder(nn.RMSNorm)).bfloat16(), (IDS, IDS)),
    "LoRA": (lambda: Loss(decoder(nn.LayerNorm, Adapted)), (IDS, IDS)),
    "QLoRA, whose outputs are summed": (lambda: quantised().bfloat16(), (torch.zeros(32, 64).bfloat16(),)),
    "a name that holds an activation": (
        lambda: Loss(nn.Sequential(Deep(), nn.Linear(32, 2000, bias=False).requires_grad_(False))),
        (IDS, IDS),
    ),
    "a weight that is read in parts": (lambda: nn.Sequential(nn.Linear(64, 64), Parted(), nn.GELU()), (torch.zeros(48, 64),)),
    "residual images": (lambda: Loss(residual()), (IMAGES, LABELS)),
    "one of residual weights that is large": (lambda: Loss(nn.Sequential(residual(), nn.Linear(10, 90_000))), (IMAGES, LABELS)),
    "a mask that is learned": (lambda: Loss(Placed()), (IDS, IDS)),
    "a mask that is learned, and shared by the batch": (lambda: Loss(Placed(1)), (IDS, IDS)),
    "images": (lambda: Loss(images()), (IMAGES, LABELS)),
    "a frozen backbone": (lambda: Loss(frozen(images())), (IMAGES, LABELS)),
    "where the optimiser needs most": (lambda: Loss(small()), (torch.zeros(4, 64), LABELS)),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_same_bytes(name):
    make, args = MODELS[name]
    forward, step = capture(make(), args), capture(make(), args, training=True)
    assert ledger(lambda *_: forward, Setup(_own_recipe(forward))).peak == footprint(step).total


class Unpacking(torch.autograd.Function):
    """As bitsandbytes' products with four bits: the weight is unpacked for each, and gone after it."""

    @staticmethod
    def forward(ctx, x, *stored):
        ctx.stored = stored
        return functional.linear(x, unpacked(*stored))

    @staticmethod
    def backward(ctx, gradient):
        return gradient @ unpacked(*ctx.stored), None, None, None, None


@torch.library.custom_op("ironlaw_tests::unpacked", mutates_args=())
def unpacked(codes: torch.Tensor, scales: torch.Tensor, second: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    return torch.empty(codes.shape[0], 2 * codes.shape[1], dtype=torch.bfloat16, device=codes.device)


@unpacked.register_fake
def _(codes, scales, second, table):
    return torch.empty(codes.shape[0], 2 * codes.shape[1], dtype=torch.bfloat16, device=codes.device)


class FourBits(nn.Module):
    """A linear layer as QLoRA has it: NF4 with double quantisation, and an adapter beside it."""

    def __init__(self, inner, outer, rank=4, quantised=True):
        super().__init__()
        blocks = -(-inner * outer // 64)
        self.frozen = None if quantised else nn.Linear(inner, outer, bias=False).bfloat16().requires_grad_(False)
        if quantised:
            self.register_buffer("codes", torch.zeros(outer, inner // 2, dtype=torch.uint8))
            self.register_buffer("scales", torch.zeros(blocks, dtype=torch.uint8))
            self.register_buffer("second", torch.zeros(-(-blocks // 256)))
            self.register_buffer("table", torch.zeros(17))
        self.down, self.up = nn.Linear(inner, rank, bias=False).bfloat16(), nn.Linear(rank, outer, bias=False).bfloat16()

    def forward(self, x):
        base = self.frozen(x) if self.frozen is not None else Unpacking.apply(x, self.codes, self.scales, self.second, self.table)
        return base + self.up(self.down(x)) * 2.0


class Again(nn.Module):
    def __init__(self, block):
        super().__init__()
        self.block = block

    def forward(self, x):
        return torch.utils.checkpoint.checkpoint(self.block, x, use_reentrant=False)


class WideNorm(nn.Module):
    """As Llama's: in FP32 whatever comes in."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width, dtype=torch.bfloat16))

    def forward(self, x):
        return self.weight * functional.rms_norm(x.float(), x.shape[-1:]).to(x.dtype)


class Layer(nn.Module):
    def __init__(self, linear, width):
        super().__init__()
        self.norm, self.up, self.down = WideNorm(width), linear(width, 3 * width), linear(3 * width, width)

    def forward(self, x):
        return x + self.down(functional.silu(self.up(self.norm(x))))


class Writer(nn.Module):
    def __init__(self, linear, checkpoints, width, words):
        super().__init__()
        self.words, self.norm = nn.Embedding(words, width).bfloat16(), WideNorm(width)
        layers = (Layer(linear, width) for _ in range(LAYERS))
        self.layers = nn.Sequential(*(map(Again, layers) if checkpoints else layers))
        self.out = nn.Linear(width, words, bias=False).bfloat16()

    def forward(self, ids):
        return self.out(self.norm(self.layers(self.words(ids))))


def deep(linear, checkpoints, width=64, words=96):
    model = Loss(Writer(linear, checkpoints, width, words))
    model.requires_grad_(False)
    for adapted in (part for part in model.modules() if isinstance(part, FourBits)):
        adapted.down.requires_grad_(True)
        adapted.up.requires_grad_(True)
    return model


LAYERS, TOKENS = 5, torch.zeros(2, 24, dtype=torch.long)


@pytest.mark.parametrize(("quantised", "checkpoints"), [(False, False), (True, False), (False, True), (True, True)])
def test_adapters_that_are_added_by_rules_take_what_a_step_with_them_does(quantised, checkpoints):
    base = capture(deep(lambda inner, outer: nn.Linear(inner, outer, bias=False).bfloat16(), False), (TOKENS, TOKENS))
    model = deep(lambda inner, outer: FourBits(inner, outer, quantised=quantised), checkpoints)
    trained = [name for name, weight in model.named_parameters() if weight.requires_grad]
    assert len(trained) == 20
    step = capture(model, (TOKENS, TOKENS), training=True)
    setup = Setup("pure", checkpoint=LAYERS * checkpoints, lora=4, quantised=quantised)
    assert ledger(lambda *_: base, setup).peak == footprint(step).total


@pytest.mark.parametrize(("quantised", "checkpoints"), [(False, False), (True, False), (False, True), (True, True)])
def test_adapters_that_analyze_puts_in_are_those_written_by_hand(quantised, checkpoints):
    plain = Target("deep", deep(lambda inner, outer: nn.Linear(inner, outer, bias=False).bfloat16(), checkpoints), (TOKENS, TOKENS), {})
    adapt(plain, capture(plain.call, plain.args), 4, quantised)
    by_hand = deep(lambda inner, outer: FourBits(inner, outer, quantised=quantised), checkpoints)
    steps = [capture(model, (TOKENS, TOKENS), training=True) for model in (plain.call, by_hand)]
    assert len({footprint(step).total for step in steps}) == 1 and len({step.flops for step in steps}) == 1
    assert "10 linear layers" in plain.notes[-1]


def test_the_usual_qlora_agrees_with_its_recipe():
    """The step as `analyze --training --qlora` captures it, and the recipe as `memory --qlora` counts it."""
    target = Target(
        "deep", deep(lambda inner, outer: nn.Linear(inner, outer, bias=False).bfloat16(), False, 320, 500), (TOKENS, TOKENS), {}
    )
    base = capture(target.call, target.args)
    adapt(target, base, 310, True)
    step = captured(target.call, target.args, training=True, changes=(AGAIN, EIGHT_BIT))
    assert step.settings["checkpoints"] == LAYERS and not step.settings["unknown"]
    setup = Setup("pure", "paged_adam8bit", checkpoint=LAYERS, lora=310, quantised=True)
    assert ledger(lambda *_: base, setup).peak == footprint(step).total
    updates = [one for one in step.ops if one.name.startswith("eight_bit_update")]
    assert len(updates) == 20 and {len(one.inputs) for one in updates} == {4, 6}  # paged from 100,000 weights on


def test_what_has_no_layers_to_adapt_says_so():
    images = Target("images", nn.Sequential(nn.Conv2d(3, 8, 3), nn.Flatten(), nn.Linear(8 * 36, 10)), (torch.zeros(1, 3, 8, 8),), {})
    with pytest.raises(BadValue, match="nothing to adapt"):
        adapt(images, capture(images.call, images.args), 4, False)
    with pytest.raises(BadValue, match="name the nn"):
        adapt(Target("f", lambda x: x, (IMAGES,), {}), None, 4, False)


def test_experts_that_no_token_went_to_have_a_gradient_too():
    x, weight = Tensor("x", (3, 4), "fp32", "input"), Tensor("w", (5, 4), "fp32", "weight")
    ops = tuple(op("linear", f"expert {i}", (x, weight), (Tensor("gradient", (3, 5), "fp32"),)) for i in range(2))
    settings = {"captured": True, "parts": unwritten(ops, {"gradient": (24, 5)})}
    assert max(live_profile(Graph("two of eight", ops, "fp32", settings, ("gradient",)))) == 4 * (3 * 4 + 24 * 5)
