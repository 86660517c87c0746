"""Time models that nothing was fitted to, and training steps, for judging predictions of captured models.

    PYTHONPATH=src python3 benchmarks/device/zoo.py --out DIR [--seconds 400] [--part eager|compiled|training|held|held_compiled]

Writes DIR/zoo-PART.json: one row per model. Each model is a transformers class with a configuration, so that `capture` can
build the same one anywhere. Weights are random. Needs torch and transformers.
"""

import argparse
import os
import time

import torch
import transformers as tf
from gpu import DTYPES, GPU, clock, sync, write

from ironlaw.measure.devices.kernel_times import profile

METHOD = (
    "Random weights and inputs. kernels, busy_s and list: GPU activity durations from torch.profiler, medians over 5 calls after 2 "
    "warm-up calls. wall_s: host clock around one call and a synchronise, median. Mode training: forward, backward and a step of "
    "AdamW (PyTorch's default for CUDA), loss from labels or the sum of the outputs. compile_s: first call after torch.compile."
)
IMAGE, IDS = "image", "ids"
# class, configuration, what goes in, batch, sequence or image size, dtype
ZOO = [
    ("OPTForCausalLM", {}, IDS, 4, 512, "fp16"),
    (
        "GPTNeoXForCausalLM",
        {"hidden_size": 1024, "num_hidden_layers": 16, "num_attention_heads": 8, "intermediate_size": 4096},
        IDS,
        2,
        1024,
        "fp16",
    ),
    ("BloomForCausalLM", {"hidden_size": 1024, "n_layer": 24, "n_head": 16, "vocab_size": 250880}, IDS, 1, 512, "fp16"),
    ("PhiForCausalLM", {}, IDS, 1, 1024, "fp16"),
    (
        "GemmaForCausalLM",
        {"num_hidden_layers": 18, "hidden_size": 2048, "intermediate_size": 16384, "num_attention_heads": 8, "num_key_value_heads": 1},
        IDS,
        1,
        512,
        "bf16",
    ),
    (
        "Qwen3ForCausalLM",
        {
            "hidden_size": 1024,
            "num_hidden_layers": 28,
            "num_attention_heads": 16,
            "num_key_value_heads": 8,
            "intermediate_size": 3072,
            "head_dim": 128,
        },
        IDS,
        4,
        512,
        "bf16",
    ),
    ("MistralForCausalLM", {"num_hidden_layers": 16}, IDS, 1, 2048, "bf16"),
    ("GPT2LMHeadModel", {"n_embd": 1280, "n_layer": 36, "n_head": 20}, IDS, 2, 512, "fp16"),
    (
        "BertModel",
        {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096},
        IDS,
        16,
        384,
        "fp16",
    ),
    ("ElectraModel", {}, IDS, 32, 128, "fp16"),
    ("AlbertModel", {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072}, IDS, 8, 256, "fp16"),
    ("MPNetModel", {}, IDS, 8, 256, "fp16"),
    ("T5EncoderModel", {"d_model": 768, "d_ff": 3072, "num_layers": 12, "num_heads": 12}, IDS, 4, 256, "fp16"),
    ("DeiTModel", {}, IMAGE, 16, 224, "fp16"),
    ("BeitModel", {}, IMAGE, 8, 224, "fp16"),
    ("Dinov2Model", {}, IMAGE, 8, 224, "fp16"),
    (
        "CLIPVisionModel",
        {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096, "patch_size": 14},
        IMAGE,
        8,
        224,
        "fp16",
    ),
    ("SegformerModel", {}, IMAGE, 4, 512, "fp16"),
    ("RegNetModel", {"hidden_sizes": [128, 192, 512, 1088], "depths": [2, 6, 12, 2], "groups_width": 64}, IMAGE, 16, 224, "fp16"),
    ("MobileNetV1Model", {}, IMAGE, 32, 224, "fp16"),
    (
        "EfficientNetModel",
        {"width_coefficient": 1.0, "depth_coefficient": 1.0, "image_size": 224, "hidden_dim": 1280},
        IMAGE,
        16,
        224,
        "fp16",
    ),
    ("ConvNextModel", {"hidden_sizes": [128, 256, 512, 1024], "depths": [3, 3, 27, 3]}, IMAGE, 8, 224, "fp16"),
    ("ResNetModel", {"depths": [3, 4, 6, 3]}, IMAGE, 64, 224, "fp16"),
    ("PoolFormerModel", {}, IMAGE, 8, 224, "fp16"),
]
SMALL = {"hidden_size": 1024, "num_hidden_layers": 8, "num_attention_heads": 16, "intermediate_size": 2816}
# measured once everything else was done: no rule and no curve has seen them
HELD = [
    ("MixtralForCausalLM", {**SMALL, "num_key_value_heads": 4, "vocab_size": 32000}, IDS, 4, 512, "bf16"),
    ("OlmoeForCausalLM", {**SMALL, "intermediate_size": 1024, "num_experts": 32}, IDS, 1, 512, "bf16"),
    ("RobertaModel", {**SMALL, "num_hidden_layers": 24, "intermediate_size": 4096, "max_position_embeddings": 514}, IDS, 8, 512, "fp16"),
    ("DistilBertModel", {}, IDS, 1, 64, "fp16"),
    ("ModernBertModel", {}, IDS, 8, 512, "fp16"),
    ("GPTJForCausalLM", {"n_embd": 1024, "n_layer": 8, "n_head": 16, "rotary_dim": 64}, IDS, 2, 512, "fp16"),
    ("FalconForCausalLM", {"hidden_size": 1024, "num_hidden_layers": 8, "num_attention_heads": 16}, IDS, 4, 512, "bf16"),
    ("Phi3ForCausalLM", {**SMALL, "num_key_value_heads": 16, "pad_token_id": 0}, IDS, 8, 512, "bf16"),
    ("Gemma2ForCausalLM", {**SMALL, "num_key_value_heads": 8, "head_dim": 128}, IDS, 2, 1024, "bf16"),
    ("StableLmForCausalLM", {**SMALL, "num_key_value_heads": 16}, IDS, 1, 256, "fp16"),
    ("SwinModel", {}, IMAGE, 16, 224, "fp16"),
    ("ConvNextV2Model", {}, IMAGE, 16, 224, "fp16"),
    ("MobileNetV2Model", {}, IMAGE, 64, 224, "fp16"),
    ("BitModel", {}, IMAGE, 8, 224, "fp16"),
    ("PvtV2Model", {}, IMAGE, 8, 224, "fp16"),
    ("MobileViTModel", {}, IMAGE, 16, 256, "fp16"),
    ("LevitModel", {}, IMAGE, 32, 224, "fp16"),
    ("FocalNetModel", {}, IMAGE, 8, 224, "fp16"),
]
TRAINED = [
    ("GPT2LMHeadModel", {}, IDS, 4, 512, "bf16"),
    ("BertForMaskedLM", {}, IDS, 16, 128, "bf16"),
    (
        "LlamaForCausalLM",
        {"hidden_size": 1024, "num_hidden_layers": 8, "num_attention_heads": 16, "num_key_value_heads": 4, "intermediate_size": 2816},
        IDS,
        4,
        512,
        "bf16",
    ),
    ("ResNetForImageClassification", {}, IMAGE, 32, 224, "fp16"),
    ("ViTForImageClassification", {}, IMAGE, 16, 224, "fp16"),
]


def build(entry, device="cuda"):
    """(model, arguments, keywords); also on the meta device."""
    name, settings, kind, batch, size, dtype = entry
    cls = getattr(tf, name)
    config = cls.config_class(**settings)
    before = torch.get_default_dtype()
    torch.set_default_dtype(DTYPES[dtype])
    try:
        with torch.device(device):
            model = cls(config)
            # not zeros: some kernels divide more slowly there, and arithmetic on constants draws less power
            inputs = torch.randint(config.vocab_size, (batch, size)) if kind == IDS else torch.randn(batch, 3, size, size)
    finally:
        torch.set_default_dtype(before)
    keywords = {"use_cache": False} if "CausalLM" in name or "LMHead" in name else {}
    return model.to(DTYPES[dtype]), (inputs,), keywords


def measure(entry, mode):
    name, settings, kind, batch, size, dtype = entry
    params = {"settings": settings, "input": kind, "batch": batch, "size": size, "dtype": dtype}
    row = {"kind": "model", "model": name, "params": params, "mode": mode}
    try:
        model, args, keywords = build(entry)
        row["parameters"] = sum(p.numel() for p in model.parameters())
        if mode == "training":
            call = step_of(model.train(), args, kind)
        else:
            run = torch.compile(model.eval()) if mode == "compiled" else model.eval()

            def call():
                with torch.no_grad():
                    run(*args, **keywords)

        sync()
        start = time.perf_counter()
        call()
        sync()
        if mode == "compiled":
            row["compile_s"] = round(time.perf_counter() - start, 3)
        call()
        row["wall_s"], row["piped_s"] = clock(call)
        row.update(profile(GPU, [lambda: call], warmup=2, iterations=5, keep=40)[0])
    except Exception as error:
        row["error"] = f"{type(error).__name__}: {str(error)[:300]}"
    return row


def step_of(model, args, kind):
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-5)
    labels = {"labels": args[0]} if kind == IDS else {}

    def call():
        out = model(*args, **labels)
        loss = out.loss if kind == IDS else out.logits.float().sum()
        loss.backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    return call


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=".")
    parser.add_argument("--seconds", type=float, default=400.0)
    parser.add_argument("--part", default="eager", choices=("eager", "compiled", "training", "held", "held_compiled"))
    args = parser.parse_args()
    torch.manual_seed(0)
    begun, rows = time.monotonic(), []
    mode = {"held": "eager", "held_compiled": "compiled"}.get(args.part, args.part)
    for entry in {"training": TRAINED, "eager": ZOO, "compiled": ZOO}.get(args.part, HELD):
        if time.monotonic() - begun > args.seconds:
            print("no time for", entry[0], flush=True)
            continue
        row = measure(entry, mode)
        rows.append(row)
        torch.cuda.empty_cache()
        torch._dynamo.reset()
        write(os.path.join(args.out, f"zoo-{args.part}.json"), METHOD, rows)
        print(f"{time.monotonic() - begun:6.1f} s", row["model"], row.get("kernels"), row.get("busy_s"), row.get("wall_s"),
              row.get("compile_s", ""), row.get("error", ""), flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
