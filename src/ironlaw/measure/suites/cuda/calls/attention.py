"""Calls of attention, with and without masks."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from ironlaw.measure.devices.device import Call
from ironlaw.measure.suites.cuda.calls.making import Make, Params, heads, registrar
from ironlaw.measure.suites.cuda.inputs import SweepInputs

CALLS: dict[str, Make] = {}
makes = registrar(CALLS)


@makes("sdpa")
def sdpa(i: SweepInputs, p: Params) -> Call:
    q, k, v = heads(i, p, p["sq"], p["sk"], p["sk"])
    causal, shared, mask = bool(p["causal"]), p["h"] != p["hkv"], None
    if p.get("mask"):
        each = p.get("heads", 1)
        mask = i.act((p["b"] if p.get("whole", 1) else 1, each, p["sq"], p["sk"]), p["dtype"]).expand(p["b"], each, p["sq"], p["sk"])
    return lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal, enable_gqa=shared)


@makes("sdpa_math")
def sdpa_math(i: SweepInputs, p: Params) -> Call:
    """The mask's last axis is not contiguous: no fused kernel takes it."""
    q, k, v = heads(i, p, p["sq"], p["sk"], p["sk"])
    mask = i.act((p["b"], p["sq"], p["sk"], p["h"]), p["dtype"]).permute(0, 3, 1, 2)
    return lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


@makes("sdpa_masked")
def sdpa_masked(i: SweepInputs, p: Params) -> Call:
    """The causal mask as a tensor, as transformers passes it when compiled."""
    q, k, v = heads(i, p, p["sq"], p["sk"], p["sk"])
    mask = torch.ones(p["sq"], p["sk"], dtype=torch.bool, device=i.device).tril().expand(p["b"], 1, p["sq"], p["sk"])
    return lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
