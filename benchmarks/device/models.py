"""Time whole models on one GPU and write the result as evidence.

    PYTHONPATH=src python3 benchmarks/device/models.py --out DIR [--seconds 270] [--limit N]

Writes DIR/models.json: one row per model, shape and mode (eager, compiled).
Weights are random, so nothing is downloaded. Needs torch and transformers.
"""

import argparse
import collections
import os
import statistics
import time
from pathlib import Path

import torch
import torch.nn.functional as F
import transformers as tf
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from ironlaw.formats import FORMATS
from ironlaw.measure import evidence_file
from ironlaw.measure.devices.kernel_times import profile
from ironlaw.measure.host import software
from ironlaw.measure.suites.cuda.launches import gpu_or_processor

GPU = gpu_or_processor()
DEVICE, sync = GPU.NAME, GPU.clock.sync
DTYPES = {name: FORMATS[name].in_torch(torch) for name in ("fp16", "bf16", "fp32", "tf32")}
METHOD = (
    "Inference under no_grad in eval mode, random weights and inputs. kernels, "
    "busy_s and list: GPU activity durations from torch.profiler (CUDA "
    "activity only), medians over 5 calls after 2 warm-up calls, a marker "
    "kernel before every call. wall_s: host clock around one call and a "
    "synchronise, median of 25 (fewer for slow models). piped_s: host clock "
    "over 10 calls queued back to back and one synchronise, per call, median "
    "of 5. "
    "Both are taken for all rows before the profiler is first started. "
    "compile_s: first call after torch.compile. aten: operators seen by a "
    "TorchDispatchMode in one eager call."
)
MODELS = []
COMPILED = []


def write(path, method, rows):
    """Write an evidence file of the H200."""
    told = GPU.machine() | {"hardware": "h200_sxm"}
    evidence_file.write(Path(path), machine=told, software=software(), method=method, rows=rows)


def model(name, dtype="fp16", compiled=(), **sweep):
    """Register a builder: sweep maps a parameter to the values it takes."""

    def register(build):
        batches = sweep.pop("batch", (1,))
        for batch in batches:
            params = {"batch": batch, **sweep, "dtype": dtype}
            MODELS.append((name, params, build))
            if batch in compiled:
                COMPILED.append((name, params, build))
        return build

    return register


def image(batch, channels=3, size=224):
    """A random image batch."""
    return torch.randn(batch, channels, size, size, device=DEVICE)


def tokens(batch, seq, vocab):
    """Random token ids."""
    return torch.randint(vocab, (batch, seq), device=DEVICE)


# ----------------------------------------------------------- vision models


@model("resnet18", batch=(1, 32), compiled=(32,), image=224)
def resnet18(p):
    config = tf.ResNetConfig(
        layer_type="basic",
        hidden_sizes=[64, 128, 256, 512],
        depths=[2, 2, 2, 2],
        num_labels=1000,
    )
    return tf.ResNetForImageClassification(config), (image(p["batch"]),), {}


@model("resnet101", batch=(1, 32), image=224)
def resnet101(p):
    config = tf.ResNetConfig(depths=[3, 4, 23, 3], num_labels=1000)
    return tf.ResNetForImageClassification(config), (image(p["batch"]),), {}


@model("convnext_tiny", batch=(1, 32), compiled=(32,), image=224)
def convnext_tiny(p):
    config = tf.ConvNextConfig(num_labels=1000)
    return tf.ConvNextForImageClassification(config), (image(p["batch"]),), {}


@model("swin_tiny", batch=(1, 32), image=224)
def swin_tiny(p):
    config = tf.SwinConfig(num_labels=1000)
    return tf.SwinForImageClassification(config), (image(p["batch"]),), {}


@model("vit_large", batch=(1, 16), image=224, patch=16, hidden=1024, layers=24,
       heads=16, ffn=4096)  # fmt: skip
def vit_large(p):
    config = tf.ViTConfig(
        hidden_size=1024,
        num_hidden_layers=24,
        num_attention_heads=16,
        intermediate_size=4096,
        num_labels=1000,
    )
    return tf.ViTForImageClassification(config), (image(p["batch"]),), {}


# --------------------------------------------------------- language models


@model("distilbert", batch=(1, 32), compiled=(32,), seq=128, hidden=768, layers=6,
       heads=12, ffn=3072)  # fmt: skip
def distilbert(p):
    config = tf.DistilBertConfig()
    return tf.DistilBertModel(config), (tokens(p["batch"], p["seq"], 30522),), {}


@model("roberta_base", batch=(8,), seq=512, hidden=768, layers=12, heads=12, ffn=3072)
def roberta_base(p):
    config = tf.RobertaConfig(vocab_size=50265, max_position_embeddings=514)
    return tf.RobertaModel(config), (tokens(p["batch"], p["seq"], 50265),), {}


@model("gpt2_medium", batch=(1, 4), compiled=(4,), seq=1024, hidden=1024, layers=24,
       heads=16, vocab=50257)  # fmt: skip
def gpt2_medium(p):
    config = tf.GPT2Config(n_embd=1024, n_layer=24, n_head=16)
    ids = tokens(p["batch"], p["seq"], 50257)
    return tf.GPT2LMHeadModel(config), (ids,), {"use_cache": False}


def causal(kind, p, **extra):
    """A causal language model from the parameters of its row."""
    config = getattr(tf, kind + "Config")(
        hidden_size=p["hidden"],
        num_hidden_layers=p["layers"],
        num_attention_heads=p["heads"],
        num_key_value_heads=p["kv_heads"],
        intermediate_size=p["ffn"],
        vocab_size=p["vocab"],
        **extra,
    )
    return getattr(tf, kind + "ForCausalLM")(config)


LLAMA = dict(hidden=2048, layers=16, heads=32, kv_heads=8, ffn=8192, vocab=128256)


def llama_1b(p):
    """Llama-3.2-1B's shape."""
    return causal("Llama", p, tie_word_embeddings=True, max_position_embeddings=131072)


@model("llama_1b_prefill", "bf16", batch=(1, 4), compiled=(4,), seq=512, **LLAMA)
def llama_prefill(p):
    ids = tokens(p["batch"], p["seq"], p["vocab"])
    return llama_1b(p), (ids,), {"use_cache": False}


class Decode(nn.Module):
    """One decoding step on a cache that is put back before every call."""

    def __init__(self, inner, batch, context):
        super().__init__()
        self.inner = inner
        heads = inner.config.num_key_value_heads
        width = inner.config.hidden_size // inner.config.num_attention_heads
        dtype = torch.get_default_dtype()
        self.saved = [
            torch.randn(2, batch, heads, context, width, device=DEVICE, dtype=dtype) for _ in range(inner.config.num_hidden_layers)
        ]

    def forward(self, ids):
        cache = tf.DynamicCache(config=self.inner.config)
        for layer, (keys, values) in zip(cache.layers, self.saved):
            layer.keys, layer.values = keys, values
            layer.is_initialized = True
            layer.dtype, layer.device = keys.dtype, keys.device
        return self.inner(ids, past_key_values=cache, use_cache=True).logits


@model("llama_1b_decode", "bf16", batch=(1, 16), seq=1, context=1024, **LLAMA)
def llama_decode(p):
    step = Decode(llama_1b(p), p["batch"], p["context"])
    return step, (tokens(p["batch"], 1, p["vocab"]),), {}


@model("qwen2_0.5b", "bf16", batch=(4,), seq=512, hidden=896, layers=24, heads=14,
       kv_heads=2, ffn=4864, vocab=151936)  # fmt: skip
def qwen2(p):
    built = causal("Qwen2", p, tie_word_embeddings=True)
    return built, (tokens(p["batch"], p["seq"], p["vocab"]),), {"use_cache": False}


@model("mistral_small", "bf16", batch=(1, 8), seq=512, hidden=1024, layers=12,
       heads=16, kv_heads=4, ffn=3584, vocab=32000)  # fmt: skip
def mistral_small(p):
    built = causal("Mistral", p)
    return built, (tokens(p["batch"], p["seq"], p["vocab"]),), {"use_cache": False}


@model("mixtral_small", "bf16", batch=(1,), seq=256, hidden=1024, layers=8, heads=16,
       kv_heads=4, ffn=3584, vocab=32000, experts=8, top_k=2)  # fmt: skip
def mixtral_small(p):
    built = causal("Mixtral", p, num_local_experts=8, num_experts_per_tok=2)
    return built, (tokens(p["batch"], p["seq"], p["vocab"]),), {"use_cache": False}


@model("t5_small_encoder", batch=(8,), seq=512, hidden=512, layers=6, heads=8, ffn=2048)
def t5_small_encoder(p):
    return tf.T5EncoderModel(tf.T5Config()), (tokens(p["batch"], p["seq"], 32128),), {}


@model("whisper_tiny_encoder", batch=(1, 8), frames=3000, hidden=384, layers=4, heads=6,
       ffn=1536)  # fmt: skip
def whisper_tiny_encoder(p):
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    config = tf.WhisperConfig(
        d_model=384,
        encoder_layers=4,
        encoder_attention_heads=6,
        encoder_ffn_dim=1536,
    )
    return WhisperEncoder(config), (torch.randn(p["batch"], 80, 3000, device=DEVICE),), {}


# ------------------------------------------------------ hand-written models


class ResidualBlock(nn.Module):
    """A diffusion U-Net's residual block."""

    def __init__(self, width, embedding=1280):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(32, width), nn.GroupNorm(32, width)
        self.conv1 = nn.Conv2d(width, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.time = nn.Linear(embedding, width)

    def forward(self, x, t):
        y = self.conv1(F.silu(self.norm1(x)))
        y = y + self.time(F.silu(t))[:, :, None, None]
        return x + self.conv2(F.silu(self.norm2(y)))


class Attention(nn.Module):
    """Multi-head attention over x, or over a context of another width."""

    def __init__(self, width, heads, context=None):
        super().__init__()
        self.heads = heads
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(context or width, width, bias=False)
        self.v = nn.Linear(context or width, width, bias=False)
        self.out = nn.Linear(width, width)

    def forward(self, x, context=None):
        context = x if context is None else context
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (self.q(x), self.k(context), self.v(context)))
        mixed = F.scaled_dot_product_attention(q, k, v)
        return self.out(mixed.transpose(1, 2).flatten(2))


class AttentionBlock(nn.Module):
    """A residual block, then self-attention, cross-attention and GEGLU."""

    def __init__(self, width=320, heads=8, context=768):
        super().__init__()
        self.residual = ResidualBlock(width)
        self.norm = nn.GroupNorm(32, width)
        self.enter, self.leave = nn.Conv2d(width, width, 1), nn.Conv2d(width, width, 1)
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(width) for _ in range(3))
        self.attend = Attention(width, heads)
        self.cross = Attention(width, heads, context)
        self.up, self.down = nn.Linear(width, 8 * width), nn.Linear(4 * width, width)

    def forward(self, x, t, context):
        x = self.residual(x, t)
        y = self.enter(self.norm(x))
        height = y.shape[2]
        y = y.flatten(2).transpose(1, 2)
        y = y + self.attend(self.norm1(y))
        y = y + self.cross(self.norm2(y), context)
        value, gate = self.up(self.norm3(y)).chunk(2, -1)
        y = y + self.down(value * F.gelu(gate))
        y = y.transpose(1, 2).unflatten(2, (height, -1))
        return x + self.leave(y.contiguous())


@model("unet_residual_block", batch=(1, 8), compiled=(8,), channels=320, size=64,
       embedding=1280)  # fmt: skip
def unet_residual_block(p):
    inputs = (image(p["batch"], 320, 64), torch.randn(p["batch"], 1280, device=DEVICE))
    return ResidualBlock(320), inputs, {}


@model("unet_attention_block", batch=(1, 8), channels=320, size=64, embedding=1280,
       heads=8, context=77, context_width=768)  # fmt: skip
def unet_attention_block(p):
    batch = p["batch"]
    inputs = (
        image(batch, 320, 64),
        torch.randn(batch, 1280, device=DEVICE),
        torch.randn(batch, 77, 768, device=DEVICE),
    )
    return AttentionBlock(), inputs, {}


@model("mlp", batch=(1, 256, 8192), compiled=(8192,), width=4096, layers=4)
def mlp(p):
    layers = [part for _ in range(4) for part in (nn.Linear(4096, 4096), nn.ReLU())]
    return nn.Sequential(*layers), (torch.randn(p["batch"], 4096, device=DEVICE),), {}


@model("vgg16", batch=(1, 32), image=224)
def vgg16(p):
    layers, before = [], 3
    for width in (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0,
                  512, 512, 512, 0):  # fmt: skip
        if width:
            layers += [nn.Conv2d(before, width, 3, padding=1), nn.ReLU(inplace=True)]
            before = width
        else:
            layers.append(nn.MaxPool2d(2))
    layers += [nn.Flatten(), nn.Linear(25088, 4096), nn.ReLU(inplace=True)]
    layers += [nn.Linear(4096, 4096), nn.ReLU(inplace=True), nn.Linear(4096, 1000)]
    return nn.Sequential(*layers), (image(p["batch"]),), {}


@model("transformer_encoder", batch=(16,), compiled=(16,), seq=256, hidden=512,
       layers=6, heads=8, ffn=2048)  # fmt: skip
def transformer_encoder(p):
    torch.backends.mha.set_fastpath_enabled(False)
    layer = nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True)
    built = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
    return built, (torch.randn(p["batch"], p["seq"], 512, device=DEVICE),), {}


@model("ds_cnn", batch=(1, 256), height=49, width=10, channels=64, blocks=4)
def ds_cnn(p):
    def convolution(c, out, kernel, **more):
        conv = nn.Conv2d(c, out, kernel, bias=False, **more)
        return [conv, nn.BatchNorm2d(out), nn.ReLU()]

    layers = convolution(1, 64, (10, 4), stride=2, padding=(5, 1))
    for _ in range(4):
        layers += convolution(64, 64, 3, padding=1, groups=64)
        layers += convolution(64, 64, 1)
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 12)]
    inputs = (torch.randn(p["batch"], 1, 49, 10, device=DEVICE),)
    return nn.Sequential(*layers), inputs, {}


# ---------------------------------------------------------------- measuring


class Count(TorchDispatchMode):
    """Counts the operators that reach the dispatcher."""

    def __init__(self):
        super().__init__()
        self.seen = collections.Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen[str(func).removeprefix("aten.")] += 1
        return func(*args, **(kwargs or {}))


def build_model(params, build):
    """The model on the device in its dtype, and the call that runs it."""
    dtype = DTYPES[params["dtype"]]
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with torch.device(DEVICE):
            built, args, kwargs = build(params)
    finally:
        torch.set_default_dtype(before)
    built = built.to(DEVICE, dtype).eval()
    args = tuple(a.to(dtype) if a.is_floating_point() else a for a in args)
    return built, args, kwargs


def clock(call):
    """Median synchronised seconds per call, and seconds per piped call."""
    sync()
    start = time.perf_counter()
    call()
    sync()
    once = time.perf_counter() - start
    groups, repeats = (5, 10) if once < 0.2 else (1, 3)
    walls, piped = [], []
    for _ in range(groups):
        for _ in range(repeats // 2):
            start = time.perf_counter()
            call()
            sync()
            walls.append(time.perf_counter() - start)
        start = time.perf_counter()
        for _ in range(repeats):
            call()
        sync()
        piped.append((time.perf_counter() - start) / repeats)
    return round(statistics.median(walls), 9), round(statistics.median(piped), 9)


def clock_row(name, params, build, mode):
    """A row with the host's times, and the call for the profiler."""
    row = {"kind": "model", "model": name, "params": params, "mode": mode}
    try:
        built, args, kwargs = build_model(params, build)
        row["parameters"] = sum(p.numel() for p in built.parameters())
        run = torch.compile(built) if mode == "compiled" else built

        def call():
            run(*args, **kwargs)

        sync()
        start = time.perf_counter()
        call()
        sync()
        if mode == "compiled":
            row["compile_s"] = round(time.perf_counter() - start, 3)
        call()
        row["wall_s"], row["piped_s"] = clock(call)
        if mode == "eager":
            with Count() as counted:
                call()
            row["aten"] = dict(sorted(counted.seen.items()))
        return row, call
    except Exception as error:
        row["error"] = f"{type(error).__name__}: {str(error)[:300]}"
        return row, None


def main():
    """Clock every model, compiled ones while time lasts, then profile them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=".", help="folder for models.json")
    parser.add_argument("--seconds", type=float, default=270.0)
    parser.add_argument("--limit", type=int, help="at most this many models")
    parser.add_argument("--only", help="only models whose name holds this")
    parser.add_argument("--no-compile", action="store_true")
    args = parser.parse_args()
    path = os.path.join(args.out, "models.json")
    torch.manual_seed(0)
    begun = time.monotonic()
    todo = [(*entry, "eager") for entry in MODELS]
    if not args.no_compile:
        todo += [(*entry, "compiled") for entry in COMPILED]
    todo = [entry for entry in todo if not args.only or args.only in entry[0]]
    found, slowest = [], 0.0
    with torch.no_grad():
        for name, params, build, mode in todo[: args.limit]:
            spent = time.monotonic() - begun
            # Profiling what was clocked takes about a tenth of the time.
            if spent + (slowest if mode == "compiled" else 0) > 0.85 * args.seconds:
                print("no time for", name, params["batch"], mode, flush=True)
                continue
            found.append(clock_row(name, params, build, mode))
            if mode == "compiled":
                slowest = max(slowest, time.monotonic() - begun - spent)
            write(path, METHOD, [row for row, _ in found])
        print(f"clocked in {time.monotonic() - begun:.1f} s", flush=True)
        for row, call in found:
            if call is not None:
                run = [lambda call=call: call]
                row.update(profile(GPU, run, warmup=2, iterations=5, keep=40)[0])
            print(
                f"{time.monotonic() - begun:6.1f} s",
                row["model"], row["params"]["batch"], row["mode"],
                row.get("kernels"), row.get("busy_s"), row.get("wall_s"),
                row.get("piped_s"), row.get("compile_s", ""),
                row.get("error", ""), flush=True,
            )  # fmt: skip
        write(path, METHOD, [row for row, _ in found])
    print("rows", len(found), f"in {time.monotonic() - begun:.1f} s", flush=True)


if __name__ == "__main__":
    main()
