"""Calls of what a mixture of experts runs."""

from __future__ import annotations

import torch

from ironlaw.measure.devices.device import Call
from ironlaw.measure.suites.cuda.calls.making import Make, Params, registrar
from ironlaw.measure.suites.cuda.inputs import SweepInputs

CHOICES = 8  # experts that a token may go to
CALLS: dict[str, Make] = {}
makes = registrar(CALLS)


@makes("sort")
def sort(i: SweepInputs, p: Params) -> Call:
    x = i.ids(p["numel"], CHOICES)
    return lambda: torch.sort(x)


@makes("histogram")
def histogram(i: SweepInputs, p: Params) -> Call:
    x = i.ids(p["numel"], CHOICES)
    x = x.int() if x.is_cuda else x.float()  # a processor counts no integers
    return lambda: torch.histc(x, bins=CHOICES, min=0, max=CHOICES - 1)


@makes("index_put")
def index_put(i: SweepInputs, p: Params) -> Call:
    x = torch.arange(p["numel"], device=i.device)
    target, order = torch.empty_like(x), torch.randperm(p["numel"], device=i.device)

    def call() -> None:
        target[order] = x

    return call


@makes("grouped_mm")
def grouped_mm(i: SweepInputs, p: Params) -> Call:
    """Rows spread evenly over the experts."""
    m, count, k, n = (p[name] for name in ("m", "experts", "k", "n"))
    x = i.act((m, k), p["dtype"])
    ends = (torch.arange(1, count + 1, device=i.device) * m / count).round().int()
    return lambda: torch._grouped_mm(x, i.weight((count, n, k), p["dtype"]).transpose(1, 2), offs=ends)
