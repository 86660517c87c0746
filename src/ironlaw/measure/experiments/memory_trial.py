"""Bytes that a training step keeps, counted in this process: what autograd saved and what optimisers hold, with PyTorch; every buffer
of an MLP's step, with NumPy alone. Counts, not times: a busy machine gives the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from ironlaw.backends import require
from ironlaw.engine.training.autograd import kept
from ironlaw.engine.training.loss import with_loss
from ironlaw.engine.training.recipes import parameters, static
from ironlaw.measure.experiments.bench import Bench
from ironlaw.measure.rows import Draft, figure_row
from ironlaw.registry.workloads import workload

KEPT, STATE, WEIGHTS, GRADIENTS = "kept", "state", "weights", "gradients"
MODELS = {"mlp8_1024": 512, "resnet18": 2}  # registry models that PyTorch alone can build, and their batches
FORMATS = {"fp32": "FP32", "bf16": "BF16"}
OPTIMISERS = {"adamw": "AdamW", "sgd": "SGD", "momentum": "SGD with momentum", "adafactor": "Adafactor"}
WIDTHS = (784, 128, 64, 10)  # of the net in NumPy
BATCHES = (32, 64)


def row(name: str, label: str, value: float, expected: float, **params: Any) -> Draft:
    """A count of bytes, and what the ledger expects."""
    return figure_row(name, label, value, value, value, "B", 1, expected=expected, **params)


def rows(bench: Bench) -> Iterator[Draft]:
    yield from _torch(bench) if bench.device.library == "torch" else _numpy(bench)


# ---- PyTorch


def _torch(bench: Bench) -> Iterator[Draft]:
    cases: list[tuple[str, Callable[[], Draft]]] = [
        (f"what autograd saves of {slug} in {FORMATS[dtype]}", lambda slug=slug, dtype=dtype: _saved(slug, dtype))  # type: ignore[misc]
        for slug in MODELS
        for dtype in FORMATS
    ]
    cases += [(f"what {label} holds", lambda name=name: _state(name)) for name, label in OPTIMISERS.items()]  # type: ignore[misc]
    for case in bench.each(cases):
        yield case()


def _saved(slug: str, dtype: str) -> Draft:
    import torch

    from ironlaw.measure.models.builders import build

    batch = MODELS[slug]
    model = build(slug, batch=batch, dtype=dtype, device="cpu", room=float("inf"))
    model.module.train()
    own = {t.untyped_storage().data_ptr() for t in (*model.module.parameters(), *model.module.buffers())}
    storages: dict[int, int] = {}

    def pack(t: Any) -> Any:
        storage = t.untyped_storage()
        if storage.data_ptr() not in own:
            storages[storage.data_ptr()] = storage.nbytes()
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        out = model.module(*model.args)
        if slug == "resnet18":
            loss = torch.nn.functional.cross_entropy(out.float(), torch.zeros(batch, dtype=torch.int64))
        else:
            loss = out.sum()
    counted = float(sum(storages.values()))
    del loss
    expected = float(kept(with_loss(workload(slug, batch=batch, dtype=dtype)), require("cpu").saving).bytes)
    return row(KEPT, f"saved activations of {slug}, batch {batch}, {FORMATS[dtype]}", counted, expected, model=slug, dtype=dtype)


def _state(name: str) -> Draft:
    import torch

    from ironlaw.measure.models.builders import build

    makers: dict[str, Callable[[Any], Any]] = {
        "adamw": torch.optim.AdamW, "sgd": torch.optim.SGD, "momentum": lambda p: torch.optim.SGD(p, momentum=0.9),
        "adafactor": torch.optim.Adafactor,
    }  # fmt: skip
    model = build("mlp8_1024", batch=2, dtype="fp32", device="cpu", room=float("inf"))
    optimiser = makers[name](model.module.parameters())
    model.module(*model.args).sum().backward()
    optimiser.step()
    states = [(key, t) for state in optimiser.state.values() for key, t in state.items() if t is not None and key != "step"]
    counted = float(sum(t.numel() * t.element_size() for _, t in states))
    expected = float(static(parameters(workload("mlp8_1024", dtype="fp32")), "fp32", name).optimiser)
    return row(STATE, f"state of {OPTIMISERS[name]}, mlp8_1024", counted, expected, optimiser=name)


# ---- NumPy alone


def _numpy(bench: Bench) -> Iterator[Draft]:
    net = "–".join(map(str, WIDTHS))
    for batch in bench.each([(f"a step of {net} at batch {batch}", batch) for batch in BATCHES]):
        for name, (counted, expected) in _step(batch).items():
            yield row(name, f"{_SAYS[name]} of {net}, batch {batch}", float(counted), float(expected), batch=batch, model=net)


_SAYS = {WEIGHTS: "weights", KEPT: "saved activations", GRADIENTS: "gradients", STATE: "AdamW's state"}


def _step(batch: int) -> dict[str, tuple[int, int]]:
    """Forward, backward and Adam of an MLP; bytes of each row as NumPy's allocator tells them to tracemalloc, and as the ledger does."""
    import tracemalloc

    import numpy as np

    draw = np.random.default_rng(8)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        weights = [draw.standard_normal((a, b), np.float32) * np.float32(a**-0.5) for a, b in pairwise(WIDTHS)]
        biases = [np.zeros(b, np.float32) for b in WIDTHS[1:]]
        with_weights = tracemalloc.get_traced_memory()[0]
        layers = [draw.standard_normal((batch, WIDTHS[0]), np.float32)]
        for i, (w, b) in enumerate(zip(weights, biases, strict=True)):
            z = layers[-1] @ w
            z += b
            if i < len(weights) - 1:
                np.maximum(z, 0, out=z)
            layers.append(z)
        z -= z.max(axis=1, keepdims=True)
        z -= np.log(np.exp(z).sum(axis=1, keepdims=True))  # the logits become log-probabilities in place
        kept_bytes = tracemalloc.get_traced_memory()[0] - with_weights
        after = tracemalloc.get_traced_memory()[0]
        g = np.exp(layers[-1])
        g[np.arange(batch), 0] -= 1
        grads: list[Any] = []
        for i in range(len(weights) - 1, -1, -1):
            grads += [layers[i].T @ g, g.sum(axis=0)]
            if i:
                g = g @ weights[i].T
                g *= layers[i] > 0
        del g
        gradients = tracemalloc.get_traced_memory()[0] - after
        now = tracemalloc.get_traced_memory()[0]
        state = [np.zeros_like(t) for t in grads for _ in range(2)]
        moments = tracemalloc.get_traced_memory()[0] - now
        assert len(state) == 2 * len(grads)
    finally:
        tracemalloc.stop()
    count = sum(a * b + b for a, b in pairwise(WIDTHS))
    return {
        WEIGHTS: (with_weights - before, 4 * count), KEPT: (kept_bytes, 4 * batch * sum(WIDTHS)), GRADIENTS: (gradients, 4 * count),
        STATE: (moments, 8 * count),
    }  # fmt: skip
