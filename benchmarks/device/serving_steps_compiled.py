"""One step of a serving engine on a GPU, through torch.compile and as a CUDA graph: decoding sequences, a chunk of a prompt, or both.

    PYTHONPATH=src python3 benchmarks/device/serving_steps_compiled.py --out DIR [--model llama3_8b] [--seconds 150]

Writes DIR/serving_steps_compiled.json. The decoder is that of `serving_steps.py`, whose logits a small one in FP32 must give first. A layer
is compiled once for each case and called for all layers: it takes what the layer before has left to add, so that the sum and the norm
share a kernel.
"""

import time

import torch
from serving_steps import CUDA, DEVICE, SMALL, TRIED, Decoder, inputs, measure, row_of

from ironlaw.measure.devices.cuda_graphs import record

METHOD = (
    "One step of a decoder with random weights in BF16, as serving_steps.json has it, with each layer through torch.compile (Inductor, "
    "static shapes, default mode); a layer takes what the one before it has left to add, so that sum and norm are one kernel. wall_s: "
    "median of synchronised calls; event_s: queued back to back; mode graphs: all layers recorded as one CUDA graph and replayed. "
    "compile_s: the first call of a case, which compiles."
)
CASES = (
    (1, 512, 0, 0), (8, 2048, 0, 0), (64, 2048, 0, 0), (0, 0, 512, 0), (0, 0, 2048, 0), (256, 512, 0, 0), (1, 8192, 0, 0), (64, 8192, 0, 0),
    (0, 0, 8192, 0), (64, 1024, 512, 1024), (16, 512, 0, 0), (64, 512, 0, 0), (1, 2048, 0, 0), (128, 2048, 0, 0), (16, 8192, 0, 0),
    (0, 0, 128, 0), (0, 0, 512, 2048), (16, 1024, 2048, 1024),
)  # fmt: skip
FAR = 1e-4  # of the largest logit


class Compiled(Decoder):
    def run(self, ids, turn, caches, place, places, batch, chunk, past):
        residual = self.words[ids]
        added = torch.zeros_like(residual)
        for layer, cache in zip(self.layers, caches, strict=True):
            residual, added = self.layer(residual, added, layer, turn, cache, place, places, batch, chunk, past)
        return self.end(residual, added, batch, chunk)

    def prepare(self):
        """Forget what was compiled: the next call compiles for its sizes."""
        torch.compiler.reset()
        self.layer = torch.compile(self.one_layer, dynamic=False, fullgraph=True)
        self.end = torch.compile(lambda x, y, *sizes: self.logits(x + y, *sizes), dynamic=False, fullgraph=True)

    def one_layer(self, residual, added, layer, turn, cache, place, places, batch, chunk, past):
        residual = residual + added
        residual = residual + self.mix(self.norm(residual), layer, turn, cache, batch, chunk, past, place, places)
        return residual, self.feed(self.norm(residual), layer)


def calls(model, *sizes):
    """The same step compiled, and in plain PyTorch."""
    batch, context, chunk, past = sizes
    ids, turn, caches = inputs(model, *sizes)
    place, places = torch.tensor([context], device=DEVICE), torch.arange(past, past + chunk, device=DEVICE)

    def compiled():
        return model.run(ids, turn, caches, place, places, batch, chunk, past)

    return compiled, lambda: model.step(ids, turn, caches, *sizes)


def farthest(model, *sizes):
    """The largest difference of a logit, as a share of the largest logit."""
    compiled, plain = calls(model, *sizes)
    logits = plain()
    return float((compiled() - logits).abs().max() / logits.abs().max())


@torch.no_grad()
def check():
    """In FP32, where the order of sums hardly matters; in BF16 and with random weights 32 layers make 10% of it."""
    small = Compiled(SMALL, 3, torch.float32)
    for sizes in TRIED:
        small.prepare()
        if not (far := farthest(small, *sizes)) < FAR:
            raise SystemExit(f"{sizes}: compiled logits are {far:.1e} of the largest away from plain ones")
        print(sizes, f"compiled as plain, within {far:.1e}", flush=True)


def case(model, *sizes):
    call, _ = calls(model, *sizes)
    model.prepare()
    start = time.perf_counter()
    call()
    if CUDA:
        torch.cuda.synchronize()
    compiling = time.perf_counter() - start
    run = record(torch, call) if CUDA else call
    yield row_of(run, model, "graphs" if CUDA else "compiled", sizes, compile_s=round(compiling, 3))


if __name__ == "__main__":
    check()
    measure(Compiled, case, CASES, "serving_steps_compiled", METHOD)
