"""Time recurrent layers as cuDNN runs them, and products with weights stored in INT8 or INT4; also trace two models.

    python3 benchmarks/device/recurrent.py --out DIR [--seconds 120] [--traces]

Writes DIR/recurrent.json in the form of ops.py and, with --traces, traces of torch.profiler of GPT-2 and ResNet-50, two eager runs
each, for `ironlaw analyze --trace`. Needs torch (transformers for the traces), and ops.py beside it.
"""

import argparse
import json
import os

import torch
from ops import DTYPES, METHOD, act, sweep, write
from torch import nn

# steps, batch, features in, hidden, layers, both directions
LAYERS = [
    (128, 32, 512, 512, 1, 0), (128, 32, 512, 512, 2, 0), (256, 64, 1024, 1024, 1, 0), (50, 1, 256, 256, 1, 0), (100, 16, 128, 128, 1, 0),
    (200, 8, 768, 768, 1, 1), (64, 256, 256, 512, 1, 0), (1, 32, 512, 512, 1, 0), (400, 32, 512, 512, 1, 0), (128, 20, 300, 650, 1, 0),
]  # fmt: skip
# states small enough that one block keeps them for all steps
SMALL = [
    (100, 1, 64, 64, 1, 0), (100, 32, 64, 64, 1, 0), (400, 8, 128, 128, 1, 0), (50, 64, 128, 128, 1, 0), (100, 4, 192, 192, 1, 0),
    (200, 32, 192, 192, 1, 0), (100, 128, 128, 128, 1, 0), (100, 16, 128, 128, 2, 1), (100, 8, 256, 256, 1, 0), (100, 32, 384, 384, 1, 0),
    (50, 1, 384, 384, 1, 0), (64, 16, 256, 256, 1, 0), (200, 64, 512, 768, 1, 0), (64, 128, 1024, 1024, 1, 0),
]  # fmt: skip
CELLS = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn_tanh": nn.RNN}
PRODUCTS = [(m, k, n) for k, n in ((4096, 4096), (4096, 14336), (14336, 4096)) for m in (1, 8, 32, 256, 1024)]
MORE = "Random normal data. Weights of recurrent layers stay where they are; those in INT8 and INT4 are walked over 256 MB or more."
COLD = 1 << 28  # bytes of weights walked end to end, several times the L2


def recurrent():
    for name, cell in CELLS.items():
        for dtype in ("fp16", "fp32"):
            for steps, batch, features, hidden, layers, both in (*LAYERS, *SMALL):

                def prepare(cell=cell, dtype=dtype, shape=(steps, batch, features, hidden, layers, both)):
                    steps, batch, features, hidden, layers, both = shape
                    module = cell(features, hidden, layers, bidirectional=bool(both)).to("cuda", DTYPES[dtype]).eval()
                    x = act((steps, batch, features), dtype)

                    def call():
                        with torch.no_grad():
                            module(x)

                    return call

                params = dict(steps=steps, batch=batch, features=features, hidden=hidden, layers=layers, both=both, dtype=dtype)
                yield name, params, prepare


def stored(bits, k, n):
    """Enough weights of that kind that none is in the L2 when its turn comes again: (weight, scales) pairs."""
    found = []
    for _ in range(max(2, COLD * 8 // (bits * k * n))):
        if bits == 8:
            found.append((torch.randint(-128, 127, (n, k), dtype=torch.int8, device="cuda"), act((n,), "bf16")))
        else:
            packed = torch.randint(0, 255, (n, k // 2), dtype=torch.uint8, device="cuda")
            found.append((torch.ops.aten._convert_weight_to_int4pack(packed, 8), act((k // 128, n, 2), "bf16")))
    return found


def weight_only():
    for bits in (8, 4):
        for m, k, n in PRODUCTS:

            def prepare(bits=bits, m=m, k=k, n=n):
                x, weights, turn = act((m, k), "bf16"), stored(bits, k, n), [0]

                def call():
                    w, scales = weights[turn[0] % len(weights)]
                    turn[0] += 1
                    if bits == 8:
                        torch.ops.aten._weight_int8pack_mm(x, w, scales)
                    else:
                        torch.ops.aten._weight_int4pack_mm(x, w, 128, scales)

                return call

            yield f"weight_int{bits}_mm", dict(m=m, k=k, n=n, dtype="bf16"), prepare


def traces(place):
    import transformers
    from torch.profiler import ProfilerActivity, profile

    ids = torch.zeros(4, 512, dtype=torch.long, device="cuda")
    image = torch.zeros(32, 3, 224, 224, dtype=torch.half, device="cuda")
    made = {
        "gpt2": (transformers.GPT2LMHeadModel(transformers.GPT2Config()), ids, {"use_cache": False}),
        "resnet50": (transformers.ResNetForImageClassification(transformers.ResNetConfig(num_labels=1000)), image, {}),
    }
    for name, (plain, given, keywords) in made.items():
        model = plain.to("cuda", torch.half).eval()
        with torch.no_grad():
            for _ in range(3):
                model(given, **keywords)
            torch.cuda.synchronize()
            with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as prof:
                for _ in range(2):
                    model(given, **keywords)
                torch.cuda.synchronize()
        prof.export_chrome_trace(os.path.join(place, f"{name}.json.gz"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=".")
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--traces", action="store_true")
    args = parser.parse_args()
    if args.traces:
        traces(args.out)
    place = os.path.join(args.out, "recurrent.json")
    sweep([*recurrent(), *weight_only()], place, args.seconds, 16)
    with open(place) as file:
        rows = json.load(file)["rows"]
    write(place, METHOD.replace("Random normal data.", MORE), rows)


if __name__ == "__main__":
    main()
