"""What a training step allocates on a GPU, phase by phase: evidence of kind `memory`.

    PYTHONPATH=src python3 benchmarks/device/training_memory.py --out DIR [--seconds 170] [--only gpt2]

Writes DIR/training_memory.json: a row per workload, recipe, optimiser and checkpointing. The modules are the registry's, with random
weights and no dropout; the loss is a cross-entropy over every output row, in FP32, and the caller drops the logits. Needs torch and
transformers. Without a GPU the same steps run on the processor and count nothing, to try the program.
"""

import argparse
import gc
import os
import statistics
import time

import torch
from gpu import sync, write
from torch import nn
from torch.utils.checkpoint import checkpoint

from ironlaw.measure.models.builders import HERE, build
from ironlaw.registry.workloads import about

METHOD = (
    "Registry modules with random weights, no dropout; cross-entropy in FP32 over every output row (bert_base, mlp8_1024: the sum of the "
    "outputs), logits dropped by the caller. Two steps of warm-up, then one step with torch.cuda's peak reset before each phase: "
    "forward_peak_bytes, backward_peak_bytes, update_peak_bytes; static_bytes: allocated before the step (weights, optimiser, inputs, "
    "library workspaces); kept_bytes: allocated after forward, less static_bytes; saved_bytes: storages that autograd saved, once each, "
    "without parameters (saved_tensors_hooks, a pass of its own); gradient_bytes: of parameters after backward; "
    "allocated_peak_bytes: the largest of the three; reserved_bytes: held by PyTorch's allocator at the end; context_bytes: taken on the "
    "device and not by the allocator. Recipes: fp32; autocast (BF16, weights and gradients FP32); mixed (BF16 weights and gradients, FP32 "
    "master copy and state, updated a tensor at a time); mixed_fp32_grads (as mixed, gradients added into FP32 buffers); pure (all BF16). "
    "Optimiser adamw is PyTorch's default (foreach); adamw_fused and adamw_loop are its other two. checkpoint 1: every layer recomputed "
    "(torch.utils.checkpoint, not reentrant). wall_s: median of 3 synchronised steps."
)
CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
RECIPES = ("fp32", "autocast", "mixed", "mixed_fp32_grads", "pure")
CASES = (
    ("gpt2", {"batch": 8, "seq": 1024}),
    ("gpt2", {"batch": 4, "seq": 512}),
    ("bert_base", {"batch": 16, "seq": 128}),
    ("llama3_2_1b", {"batch": 4, "seq": 2048}),
    ("llama3_2_1b", {"batch": 1, "seq": 2048}),
    ("resnet50", {"batch": 32}),
    ("vit_b16", {"batch": 16}),
    ("mlp8_1024", {"batch": 8192}),
)
OPTIMISERS = {
    "adamw": lambda p: torch.optim.AdamW(p, lr=1e-5),
    "adamw_fused": lambda p: torch.optim.AdamW(p, lr=1e-5, fused=True),
    "adamw_loop": lambda p: torch.optim.AdamW(p, lr=1e-5, foreach=False),
    "sgd": lambda p: torch.optim.SGD(p, lr=1e-5),
    "momentum": lambda p: torch.optim.SGD(p, lr=1e-5, momentum=0.9),
    "adafactor": lambda p: torch.optim.Adafactor(p, lr=1e-5),
}


def runs():
    """(workload, settings, recipe, optimiser, checkpointing), the ones that the labs ask about first."""
    for optimiser in ("adamw", "sgd", "momentum", "adafactor", "adamw_fused", "adamw_loop"):
        yield (*CASES[0], "fp32", optimiser, 0)
    for again in (0, 1):
        for slug, settings in CASES:
            for recipe in RECIPES:
                if (slug, recipe, again) != ("mlp8_1024", recipe, 1) and (settings, recipe, again) != (CASES[0][1], "fp32", 0):
                    yield slug, settings, recipe, "adamw", again


class Step:
    """One training step in three phases."""

    def __init__(self, slug, settings, recipe, optimiser, again):
        dtype = "fp32" if recipe in ("fp32", "autocast") else "bf16"
        built = build(slug, **settings, dtype=dtype, device=DEVICE, room=float("inf"))
        self.recipe, self.args, self.kwargs = recipe, built.args, built.kwargs
        self.module = built.module.train(about(slug)["family"] in HERE)  # those have no dropout, and batch norms that must train
        if again:
            recompute(self.module)
        self.parameters = list(self.module.parameters())
        self.masters = [p.detach().float().clone() for p in self.parameters] if recipe.startswith("mixed") else []
        make = OPTIMISERS[optimiser]
        self.optimisers = [make([m]) for m in self.masters] or [make(self.parameters)]
        self.sums = [torch.zeros_like(p, dtype=torch.float32) for p in self.parameters] if recipe == "mixed_fp32_grads" else []
        for p, total in zip(self.parameters, self.sums):
            p.register_post_accumulate_grad_hook(lambda p, total=total: _add(p, total))
        self.labels = None

    def forward(self):
        with torch.autocast(DEVICE, torch.bfloat16, enabled=self.recipe == "autocast"):
            out = self.module(*self.args, **self.kwargs)
        if hasattr(out, "last_hidden_state"):
            return out.last_hidden_state.float().sum() + out.pooler_output.float().sum()
        logits = getattr(out, "logits", out)
        if isinstance(self.module, nn.Sequential) and isinstance(self.module[-1], nn.GELU):
            return logits.float().sum()
        rows = logits.reshape(-1, logits.shape[-1])
        if self.labels is None:
            self.labels = torch.randint(rows.shape[-1], (len(rows),), device=DEVICE)
        return nn.functional.cross_entropy(rows.float(), self.labels)

    def update(self):
        if not self.masters:
            self.optimisers[0].step()
        with torch.no_grad():
            for i, (p, master) in enumerate(zip(self.parameters, self.masters)):
                master.grad = self.sums[i] if self.sums else p.grad.float()
                self.optimisers[i].step()
                master.grad = None
                p.copy_(master)
        self.clear()

    def clear(self):
        for p in self.parameters:
            p.grad = None
        for total in self.sums:
            total.zero_()

    def run(self):
        self.forward().backward()
        self.update()

    @property
    def gradient_bytes(self):
        grads = [p.grad for p in self.parameters if p.grad is not None] + self.sums
        return sum(g.numel() * g.element_size() for g in grads)


def _add(p, total):
    total.add_(p.grad)
    p.grad = None


def recompute(module):
    """Every layer of a list of layers (or residual block) keeps its input alone."""
    lists = [m for m in module.modules() if isinstance(m, nn.ModuleList) and len(m) > 1]
    layers = list(lists[0]) if lists else [m for m in module.children() if type(m).__name__ == "Residual"]
    for layer in layers:
        layer.forward = _again(layer.forward)


def _again(forward):
    return lambda *args, **kwargs: checkpoint(forward, *args, use_reentrant=False, **kwargs)


def saved(step):
    """Bytes of the storages that autograd saves in a forward pass; parameters are there anyway."""
    own = {p.untyped_storage().data_ptr() for p in step.module.parameters()}
    sizes = {}

    def pack(t):
        storage = t.untyped_storage()
        if storage.data_ptr() not in own:
            sizes[storage.data_ptr()] = storage.nbytes()
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        step.forward().backward()
    step.clear()
    return sum(sizes.values())


def phase(call):
    """What it returns, and the peak and the end of what was allocated meanwhile."""
    if CUDA:
        torch.cuda.reset_peak_memory_stats()
    result = call()
    sync()
    return result, *((torch.cuda.max_memory_allocated(), torch.cuda.memory_allocated()) if CUDA else (0, 0))


def measure(slug, settings, recipe, optimiser, again):
    params = {**settings, "recipe": recipe, "optimiser": optimiser, "checkpoint": again}
    row = {"kind": "memory", "workload": slug, "params": params, "mode": "training"}
    try:
        step = Step(slug, settings, recipe, optimiser, again)
        row["parameters"] = sum(p.numel() for p in step.parameters)
        if not again:
            row["saved_bytes"] = saved(step)
        step.run()
        step.run()
        sync()
        start = torch.cuda.memory_allocated() if CUDA else 0
        loss, forward, kept = phase(step.forward)
        _, backward, _ = phase(loss.backward)
        row["gradient_bytes"] = step.gradient_bytes
        del loss
        _, update, _ = phase(step.update)
        row |= {"static_bytes": start, "kept_bytes": kept - start, "forward_peak_bytes": forward, "backward_peak_bytes": backward}
        row |= {"update_peak_bytes": update, "allocated_peak_bytes": max(forward, backward, update)}
        if CUDA:
            free, total = torch.cuda.mem_get_info()
            row["reserved_bytes"] = torch.cuda.memory_reserved()
            row["context_bytes"] = total - free - row["reserved_bytes"]
        walls = []
        for _ in range(3):
            begun = time.perf_counter()
            step.run()
            sync()
            walls.append(time.perf_counter() - begun)
        row["wall_s"] = statistics.median(walls)
    except Exception as error:
        row["error"] = f"{type(error).__name__}: {str(error)[:300]}"
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=".")
    parser.add_argument("--seconds", type=float, default=170.0)
    parser.add_argument("--only", default="", help="one workload")
    args = parser.parse_args()
    torch.manual_seed(0)
    begun, rows = time.monotonic(), []
    for one in runs():
        if args.only not in ("", one[0]):
            continue
        if time.monotonic() - begun > args.seconds:
            print("no time for", *one, flush=True)
            continue
        row = measure(*one)
        rows.append(row)
        gc.collect()  # a layer whose forward was replaced refers to itself
        if CUDA:
            torch.cuda.empty_cache()
        write(os.path.join(args.out, "training_memory.json"), METHOD, rows)
        peak = row.get("allocated_peak_bytes", 0) / 1e9
        print(f"{time.monotonic() - begun:6.1f} s", *one, f"{peak:.3f} GB", row.get("error", ""), flush=True)


if __name__ == "__main__":
    main()
