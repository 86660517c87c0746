"""A call that lacks its inputs: what `--input` might be, from the model's signature, its first layers and its configuration."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.tracing.target import Target

IMAGE, TOKENS = 224, 128
PLACED = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
IDS = ("ids", "tokens", "idx", "index", "indices", "words", "input_ids")


def check_inputs(target: Target) -> None:
    """Refuse a call without the arguments that it needs, with inputs that may be meant."""
    missing = required(target)
    if not missing:
        return
    names = "input" if missing == ["input"] else f"{'inputs' if len(missing) > 1 else 'input'} {' and '.join(missing)}"
    guess = [shape for i, name in enumerate(missing) if (shape := shape_of(target.call, name, i))]
    hint = " ".join(f"--input {shape}" for shape in guess) if len(guess) == len(missing) else "--input 1x3x224x224 or --input 1x128:int64"
    raise BadValue(
        f"{target.name} is called without its {names}; try {hint}, one --input for each"
        f" in order, or put {target.name}_inputs beside it in the file"
    )


def unfed(target: Target, error: BadValue) -> BadValue:
    """What a call failed with; where the model itself asks for an input that has a default, such as `decoder_input_ids`, with what to
    give."""
    names = [p.name for p in parameters_of(target) if p.kind in PLACED]
    given = {*names[: len(target.args)], *target.kwargs}
    mentioned = [name for name in names if re.search(rf"\b{name}\b", str(error)) and "embeds" not in name]
    inner = [f"decoder_{name}" for name in mentioned if name in given]  # a decoder within calls its own input by the same name
    lacking = [name for name in (*mentioned, *inner) if name in names and name not in given] or ([] if given else names[:1])
    if not lacking:
        return error
    shapes = [shape_of(target.call, name, i) for i, name in enumerate(names[: names.index(lacking[0]) + 1])]
    guess = f"try {' '.join(f'--input {shape}' for shape in shapes)}, or put" if all(shapes) and not target.kwargs else "put"
    beside = f"{guess} {target.name}_inputs, a dictionary with {lacking[0]}, beside it in the file"
    return type(error)(str(error).replace("; fix the model or its arguments", f"; it lacks an input: {beside}"))


@contextmanager
def asking(target: Target) -> Iterator[None]:
    try:
        yield
    except BadValue as error:
        raise unfed(target, error) from error


def parameters_of(target: Target) -> list[inspect.Parameter]:
    import torch

    call = target.call.forward if isinstance(target.call, torch.nn.Module) else target.call
    try:
        return list(inspect.signature(call).parameters.values())
    except (TypeError, ValueError):  # written in C
        return []


def required(target: Target) -> list[str]:
    """Arguments without a default that nothing was given for."""
    parameters = parameters_of(target)
    places = [p for p in parameters if p.kind in PLACED]
    open_ones = [p.name for p in places[len(target.args) :] if p.default is p.empty and p.name not in target.kwargs]
    return open_ones + [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty and p.name not in target.kwargs]


def shape_of(call: Any, name: str, place: int) -> str:
    """A likely shape for an argument: by the first layer that takes it, or by its name; empty where there is no telling."""
    import torch

    if name.lower() in IDS or "mask" in name or name.endswith("_ids"):
        return f"1x{TOKENS}:int64"
    if place > 0 or not isinstance(call, torch.nn.Module):
        return ""
    config = getattr(call, "config", None)
    for layer in call.modules():
        if isinstance(layer, torch.nn.Embedding):
            return f"1x{TOKENS}:int64"
        if isinstance(layer, torch.nn.modules.conv._ConvNd):
            axes = len(layer.kernel_size)
            size = _image(call, config) if axes == 2 else {1: 16000, 3: 16}[axes]
            return "x".join(map(str, (1, layer.in_channels, *((size,) * axes))))
        if isinstance(layer, (torch.nn.RNNBase, torch.nn.MultiheadAttention)):
            return f"1x{TOKENS}x{layer.input_size if isinstance(layer, torch.nn.RNNBase) else layer.embed_dim}"
        if isinstance(layer, torch.nn.Linear):
            return f"1x{layer.in_features}"
    return ""


def _image(call: Any, config: Any) -> int:
    for holder, name in ((config, "image_size"), (call, "img_size"), (call, "image_size"), (config, "sample_size")):
        size = getattr(holder, name, None)
        if isinstance(size, int):
            return size
    timm = getattr(call, "default_cfg", None)
    size = timm.get("input_size") if isinstance(timm, dict) else None
    return int(size[-1]) if size else IMAGE
