"""Models as engineers write them, found in no library: plain PyTorch, each file by another hand's habits.

`MODELS` has them by name. A builder makes its tensors on whatever device is the default (a GPU, a processor, meta), so that one
function serves measuring and capture; sizes give a forward pass of 0.3 to 60 ms on an H200, and with `small` a few milliseconds
anywhere. `call_of` is a run of one of them as a call without arguments.
"""

from functools import partial

import torch
from torch.utils._pytree import tree_map_only

from own import (
    adapted,
    applied,
    audio,
    bonds,
    cells,
    choices,
    control,
    counters,
    crowds,
    fields,
    filters,
    forces,
    generative,
    graphs,
    grids,
    growth,
    habits,
    harbours,
    hearing,
    joints,
    kites,
    language,
    lenses,
    letters,
    lights,
    links,
    margins,
    markets,
    matter,
    menus,
    motion,
    moves,
    noise,
    orbits,
    panes,
    papers,
    physics,
    players,
    ranking,
    rays,
    readers,
    recommenders,
    roads,
    savings,
    scans,
    scenes,
    scribes,
    sensing,
    sequences,
    services,
    shelves,
    sights,
    skies,
    solids,
    sounds,
    statespaces,
    streams,
    surfaces,
    tables,
    thrift,
    tides,
    tokens,
    tunes,
    views,
    vision,
    voices,
    wagers,
    wanderers,
    weavers,
    writers,
)
from own.listing import MODELS

__all__ = ["MODELS", "adapted", "applied", "audio", "bonds", "build", "call_of", "cells", "choices", "control", "counters", "crowds", "fields", "filters", "forces", "generative", "graphs", "grids", "growth", "habits", "harbours", "hearing", "joints", "kites", "language", "lenses", "letters", "lights", "links", "margins", "markets", "matter", "menus", "motion", "moves", "noise", "orbits", "panes", "papers", "physics", "players", "ranking", "rays", "readers", "recommenders", "roads", "savings", "scans", "scenes", "scribes", "sensing", "sequences", "services", "shelves", "sights", "skies", "solids", "sounds", "statespaces", "step_of", "streams", "surfaces", "tables", "thrift", "tides", "tokens", "tunes", "views", "vision", "voices", "wagers", "wanderers", "weavers", "writers"]  # fmt: skip
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


def build(name, mode="eager", dtype="fp32", device="cuda", small=False):
    """(module or function, inputs, loss) of one run. Training keeps FP32 weights: its BF16 is autocast's."""
    torch.manual_seed(0)
    with torch.device(device):
        call, inputs, loss = MODELS[name].build(small)
    if isinstance(call, torch.nn.Module):
        call.train(mode == "training")
    if dtype != "fp32" and mode != "training":
        inputs = tree_map_only(torch.Tensor, lambda x: x.to(DTYPES[dtype]) if x.is_floating_point() else x, inputs)
        call = call.to(DTYPES[dtype]) if isinstance(call, torch.nn.Module) else call
    return call, inputs, loss


def step_of(call, loss, device, autocast=False):
    """A whole training step as a function of the inputs: forward, loss, backward, AdamW."""
    optimiser = torch.optim.AdamW([p for p in call.parameters() if p.requires_grad], lr=1e-5)

    def step(*inputs):
        with torch.autocast(device, torch.bfloat16, enabled=autocast):
            cost = loss(call(*inputs))
        cost.backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    return step


def call_of(name, mode, dtype, device="cuda", small=False):
    """A run as a call without arguments."""
    call, inputs, loss = build(name, mode, dtype, device, small)
    if mode == "training":
        return partial(step_of(call, loss, device, autocast=dtype == "bf16"), *inputs)
    run = torch.compile(call) if mode == "compiled" else call

    def infer():
        with torch.no_grad():
            return run(*inputs)

    return infer
