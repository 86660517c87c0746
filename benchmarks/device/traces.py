"""Trace GPT-2 and ResNet-50 on one GPU with torch.profiler, two eager runs each, for `ironlaw analyze --trace`.

    python3 benchmarks/device/traces.py --out DIR

Writes DIR/gpt2.json.gz and DIR/resnet50.json.gz. Weights are random. Needs torch and transformers.
"""

import argparse
import os

import torch
import transformers
from torch.profiler import ProfilerActivity, profile


def trace(place):
    ids = torch.randint(50257, (4, 512), device="cuda")
    image = torch.randn(32, 3, 224, 224, dtype=torch.half, device="cuda")
    models = {
        "gpt2": (transformers.GPT2LMHeadModel(transformers.GPT2Config()), ids, {"use_cache": False}),
        "resnet50": (transformers.ResNetForImageClassification(transformers.ResNetConfig(num_labels=1000)), image, {}),
    }
    for name, (plain, inputs, keywords) in models.items():
        model = plain.to("cuda", torch.half).eval()
        with torch.no_grad():
            for _ in range(3):
                model(inputs, **keywords)
            torch.cuda.synchronize()
            with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as prof:
                for _ in range(2):
                    model(inputs, **keywords)
                torch.cuda.synchronize()
        prof.export_chrome_trace(os.path.join(place, f"{name}.json.gz"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=".")
    trace(parser.parse_args().out)
