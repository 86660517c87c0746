"""Every model that builds without weights from timm, torchvision, transformers and diffusers, by rule and not by hand.

    entries()                 what there is, in a fixed order; a library that is not installed is skipped, and named
    build(entry, …)           (model, arguments, keywords), with random weights and random inputs
    ways(entry)               other inputs, for models that refuse the usual ones
    loss(output)              one number to train on

Each library's file says which models are taken and what goes in. Names stay; what they mean follows the installed versions.
"""

import os
import sys
from contextlib import nullcontext
from functools import cache
from importlib import import_module
from importlib.util import find_spec

from corpus.entry import Entry

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # nothing is downloaded
LIBRARIES = ("timm", "torchvision", "transformers", "diffusers")
DTYPES = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64"}
SPREAD = 0.02  # sd of a weight that its model would leave at zero

__all__ = ["LIBRARIES", "Entry", "build", "call", "entries", "loss", "made", "versions", "ways"]


@cache
def entries(libraries=LIBRARIES):
    """All models of the installed libraries."""
    found = []
    for library in libraries:
        if find_spec(library) is None:
            print(f"{library} is not installed: its models are left out; pip install {library}", file=sys.stderr)
        else:
            found += of(library).entries()
    return list(dict.fromkeys(found))


def build(entry, device="meta", batch=1, dtype="fp16"):
    """(model, arguments, keywords) in evaluation mode, on a device."""
    model = made(entry, device, dtype)
    return model, *call(model, entry, device, batch, dtype)


def made(entry, device="meta", dtype="fp16", **limits):
    """The model in evaluation mode. One that can't be made on meta is made on the processor. `largest`: parameters that it may have."""
    import torch

    from ironlaw.tracing.initialisation import mark, remembered

    makers, wanted = of(entry.library), getattr(torch, DTYPES[dtype])
    torch.manual_seed(0)
    try:
        with torch.device(device), remembered() if device == "meta" else nullcontext() as seen:
            model = makers.make(entry, **limits)
        mark(model, seen)
    except (NotImplementedError, RuntimeError, TypeError, ValueError, AttributeError):
        if device == "cpu":
            raise
        model = makers.make(entry, **limits)  # computes with its weights while it is made, or moves them
    model = model.to(wanted).eval() if device == "meta" else model.to(device, wanted).eval()
    if device != "meta":
        fill(model)
    return model


def call(model, entry, device="meta", batch=1, dtype="fp16", **way):
    """(arguments, keywords). `way`: one of `ways`."""
    import torch

    with torch.device("cpu" if device == "meta" else device):
        args, kwargs = of(entry.library).inputs(model, entry, batch, **way)
    wanted = getattr(torch, DTYPES[dtype])
    return moved(args, device, wanted), moved(kwargs, device, wanted)


def ways(entry):
    """How a model may be called, the usual way first: those after it are for models that refuse it."""
    return [{}, *getattr(of(entry.library), "ways", lambda entry: [])(entry)]


def of(library):
    return import_module(f"corpus.{library}_models")


def moved(values, device, dtype):
    """Inputs on the device; those that are real numbers in the format. Beside a model on meta, ids and masks keep their values: a model
    may ask whether a mask is all ones."""
    import torch
    from torch.utils import _pytree as pytree

    def one(value):
        if not isinstance(value, torch.Tensor):
            return value
        if value.is_floating_point():
            return value.to(device, dtype)
        return value if device == "meta" else value.to(device)

    return pytree.tree_map(one, values)


def fill(model):
    """Weights that the maker leaves at zero, or doesn't set, get random values: arithmetic on zeros is not what users run."""
    import torch

    with torch.no_grad():
        for weight in model.parameters():
            if weight.is_floating_point() and weight.numel() and (not weight.any() or not weight.isfinite().all()):
                weight.normal_(std=SPREAD)


def loss(output):
    """The output's own loss, or else the sum of everything in it that depends on weights."""
    import torch
    from torch.utils import _pytree as pytree

    own = output.get("loss") if isinstance(output, dict) else getattr(output, "loss", None)
    if own is not None:
        return own
    sums = [t.float().sum() for t in pytree.tree_leaves(output) if isinstance(t, torch.Tensor) and t.requires_grad]
    if not sums:
        raise ValueError("nothing in this output depends on weights: there is nothing to train")
    return sum(sums[1:], sums[0])


def versions():
    """Of the installed libraries."""
    from importlib.metadata import version

    return {name: version(name) for name in ("torch", *LIBRARIES) if find_spec(name)}
