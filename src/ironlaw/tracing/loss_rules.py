"""Rules for losses: an element-wise pass, and the mean or sum over all of it."""

from __future__ import annotations

from typing import Any

from ironlaw.engine.device.work import STAND_IN
from ironlaw.tracing.aten import Call, OpDraft, Rule, registrar

RULES: dict[str, Rule] = {}
rule = registrar(RULES)
MEANS = {1: "mean", 2: "sum"}  # PyTorch's numbers for how a loss is reduced
PASSES = {
    "mse_loss": ("square",), "smooth_l1_loss": ("square",), "huber_loss": ("square",), "soft_margin_loss": ("log",),
    "binary_cross_entropy": ("log",), "binary_cross_entropy_with_logits": ("sigmoid", "shift", "mul", "sub"),
}  # fmt: skip


@rule(*PASSES)
def loss(call: Call) -> list[OpDraft]:
    x, out = call.inputs[0], call.outputs[0]
    how = MEANS.get(int(call.arguments.get("reduction", 1)))
    kinds = PASSES[call.name]
    parts = [type(out)(f"{out.name}:{i}", x.shape, out.dtype) for i in range(len(kinds))]
    if how is None:
        parts[-1] = out
    drafts = [OpDraft(kinds[0], call.inputs, parts[:1])]
    drafts += [OpDraft(kind, [before, call.inputs[-1]], [after]) for kind, before, after in zip(kinds[1:], parts, parts[1:], strict=False)]
    return drafts + ([OpDraft(how, parts[-1:], [out], {"over": "all"})] if how else [])


@rule("nll_loss_backward", "nll_loss2d_backward")
def picked_gradient(call: Call) -> list[OpDraft]:
    """Zeros, then one value for each row."""
    out, rows = call.outputs[0], call.arguments["target"].numel()
    zeros = type(out)(f"{out.name}:zeros", out.shape, out.dtype)
    attrs: dict[str, Any] = {"how": "scatter", "touched": float(rows), "inplace": True}
    return [OpDraft("fill", [], [zeros]), OpDraft("write", [zeros, call.inputs[-1]], [out], attrs)]


@rule("_prelu_kernel_backward")
def prelu_gradient(call: Call) -> OpDraft:
    return OpDraft("mul", call.inputs, call.outputs)


@rule("_ctc_loss", "_ctc_loss_backward")
def alignment(call: Call) -> OpDraft:
    """Step by step through the sequence, as a scan down its columns is."""
    scores = next(t for t in call.inputs if len(t.shape) == 3)
    return OpDraft("cumsum", [scores], call.outputs[-1:], {"axis": 0, STAND_IN: call.name})
