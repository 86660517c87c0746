"""Rules for norms, reductions, lookups, attention and the backward passes."""

from __future__ import annotations

from math import prod
from typing import Any

from ironlaw.tracing.aten import Call, OpDraft, Rule, registrar, reshaped
from ironlaw.tracing.aten_tables import REDUCTIONS
from ironlaw.tracing.memory_layout import convolves_last
from ironlaw.tracing.product_rules import flat

RULES: dict[str, Rule] = {}
rule = registrar(RULES)

# ---- norms and softmax


@rule("native_layer_norm")
def layer_norm(call: Call) -> OpDraft:
    return OpDraft("layer_norm", call.inputs, call.outputs[:1], _row(prod(call.arguments["normalized_shape"]), call.inputs[0]))


@rule("_fused_rms_norm", "rms_norm")
def rms_norm(call: Call) -> OpDraft:
    return OpDraft("rms_norm", call.inputs, call.outputs[:1], _row(prod(call.arguments["normalized_shape"]), call.inputs[0]))


def _row(length: int, x: Any) -> dict[str, Any]:
    return {} if not x.shape or x.shape[-1] == length else {"row": length}


@rule("native_group_norm")
def group_norm(call: Call) -> OpDraft:
    a, x = call.arguments, call.inputs[0]
    groups = int(a["group"])
    return OpDraft("group_norm", call.inputs, call.outputs[:1], {"groups": groups, "row": prod(x.shape[1:]) // groups})


BATCH_NORMS = (
    "native_batch_norm", "_native_batch_norm_legit_no_training", "_native_batch_norm_legit", "cudnn_batch_norm",
    "_batch_norm_with_update", "_batch_norm_no_update", "batch_norm",
)  # fmt: skip


@rule(*BATCH_NORMS)
def batch_norm(call: Call) -> OpDraft:
    if call.arguments.get("training") or call.name in ("_native_batch_norm_legit", "_batch_norm_with_update"):
        x = call.inputs[0]
        return OpDraft("batch_norm_train", call.inputs, call.outputs[:1], {"row": prod(x.shape) // x.shape[1], "axis": 1})
    return OpDraft("batch_norm", call.inputs, call.outputs[:1])


@rule("_softmax", "_log_softmax", "_safe_softmax")
def softmax(call: Call) -> OpDraft:
    x, dim = call.inputs[0], int(call.arguments["dim"])
    attrs = {} if dim % len(x.shape) == len(x.shape) - 1 else {"row": x.shape[dim], "axis": dim}
    return OpDraft("log_softmax" if call.name == "_log_softmax" else "softmax", [x], call.outputs[:1], attrs)


# ---- element-wise ones with an argument that matters


@rule("gelu")
def gelu(call: Call) -> OpDraft:
    return OpDraft("gelu_tanh" if call.arguments.get("approximate") == "tanh" else "gelu", call.inputs, call.outputs)


@rule("pow")
def power(call: Call) -> OpDraft:
    known: dict[Any, str] = {2: "square", 3: "cube", 0.5: "sqrt", -0.5: "rsqrt", -1: "rsqrt"}
    exponent = call.arguments.get("exponent")
    kind = known.get(exponent, "power") if isinstance(exponent, (int, float)) else "power"
    return OpDraft(kind, call.inputs, call.outputs)


@rule("_to_copy")
def to_copy(call: Call) -> OpDraft:
    same = call.inputs[0].dtype == call.outputs[0].dtype
    return OpDraft("copy" if same else "cast", call.inputs, call.outputs)


@rule("native_dropout")
def dropout(call: Call) -> OpDraft:
    return OpDraft("dropout", call.inputs, call.outputs)


@rule("hardtanh", "relu6")
def hardtanh(call: Call) -> OpDraft:
    a = call.arguments
    return OpDraft("relu6" if (a.get("min_val"), a.get("max_val")) == (0, 6) else "hardtanh", call.inputs, call.outputs)


# ---- reductions, pooling, lookups


@rule(*REDUCTIONS)
def reduction(call: Call) -> OpDraft:
    x, out = call.inputs[0], call.outputs[0]
    kind = REDUCTIONS[call.name]
    if kind == "cumsum":
        axis = int(call.arguments["dim"]) % max(len(x.shape), 1)
        return OpDraft(kind, [x], [out], {"axis": axis} if axis < len(x.shape) - 1 else {})
    if len(call.inputs) > 1:  # max(a, b)
        return OpDraft("greatest", call.inputs, [out])
    return OpDraft(kind, [x], [out], reduced(call))


def reduced(call: Call) -> dict[str, Any]:
    """Along which rows a call reduces, as attributes."""
    dims, rank = call.arguments.get("dim"), len(call.inputs[0].shape)
    if dims is None or dims == [] or rank == 0:
        return {"over": "all"}
    axes = sorted(d % rank for d in (dims if isinstance(dims, (list, tuple)) else [dims]))
    attrs: dict[str, Any] = {"over": "all" if len(axes) == rank and rank > 1 else "row"}
    if axes != list(range(rank - len(axes), rank)):
        attrs["axis"] = axes[0]
    return attrs


@rule("logsumexp")
def log_of_sum(call: Call) -> list[OpDraft]:
    """As ATen takes it: the largest of each row, 0 where that is infinite, subtracted before the exponentials and added after the log."""
    x, out = call.inputs[0], call.outputs[0]
    largest, size, infinite, finite, total, log = (type(out)(f"{out.name}:{i}", out.shape, out.dtype) for i in range(6))
    shifted, powers = (type(out)(f"{out.name}:{i}", x.shape, out.dtype) for i in (6, 7))
    return [
        OpDraft("amax", [x], [largest], reduced(call)), OpDraft("abs", [largest], [size]), OpDraft("compare", [size], [infinite]),
        OpDraft("select", [infinite, largest], [finite]), OpDraft("sub", [x, finite], [shifted]), OpDraft("exp", [shifted], [powers]),
        OpDraft("sum", [powers], [total], reduced(call)), OpDraft("log", [total], [log]), OpDraft("add", [log, finite], [out]),
    ]  # fmt: skip


@rule("max_pool2d_with_indices", "max_pool2d", "avg_pool2d", "max_pool3d_with_indices", "avg_pool3d", "avg_pool1d", "max_pool1d")
def pool(call: Call) -> OpDraft:
    size = call.arguments["kernel_size"]
    size = [size] if isinstance(size, int) else list(size)
    kernel = (prod(size[:-1]), size[-1]) if len(size) > 1 else (size[0], size[0] if "2d" in call.name else 1)
    return OpDraft("avg_pool2d" if call.name.startswith("avg") else "max_pool2d", call.inputs[:1], call.outputs[:1], {"kernel": kernel})


@rule("_adaptive_avg_pool2d", "adaptive_max_pool2d", "_adaptive_avg_pool3d")
def adaptive_pool(call: Call) -> OpDraft:
    x, out = call.inputs[0], call.outputs[0]
    kernel = tuple(-(-i // o) for i, o in zip(flat(x.shape)[2:], flat(out.shape)[2:], strict=True))
    return OpDraft("avg_pool2d", [x], [out], {"kernel": kernel})


@rule("embedding")
def embedding(call: Call) -> OpDraft:
    """By places that do not lie side by side, each element is looked up by itself (ATen, `index_select_out_cuda_impl`)."""
    return OpDraft("embedding", call.inputs, call.outputs, {} if call.arguments["indices"].is_contiguous() else {"how": "elements"})


@rule("_embedding_bag", "_embedding_bag_forward_only")
def embedding_bag(call: Call) -> OpDraft:
    table, ids = call.inputs[:2]
    looked_up = reshaped(call.outputs[0], *ids.shape, table.shape[-1])
    return OpDraft("embedding", [table, ids], [looked_up], {"how": "bags"})


# ---- attention: `tracing.attention` records these


@rule("attention")
def attention(call: Call) -> OpDraft:
    a = call.arguments
    masked = a.get("mask") is not None
    attrs: dict[str, Any] = {"impl": "flash", "causal": bool(a["causal"]), "mask": a["traced"]}
    torn = any(a[name] is not None and a[name].shape[-1] > 1 and a[name].stride(-1) != 1 for name in ("q", "k", "v", "mask"))
    spread = not a["grouped"] and a["q"].dim() > 2 and a["q"].shape[-3] != a["k"].shape[-3]
    if torn or spread:
        attrs["path"] = "math"  # no fused kernel takes a last axis that is not contiguous, nor heads that are broadcast
    return OpDraft("attention", call.inputs if masked else call.inputs[:3], call.outputs[:1], attrs)


SDPA = (
    "_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_flash_attention", "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_cudnn_attention",
)  # fmt: skip


@rule(*SDPA)
def sdpa(call: Call) -> OpDraft:
    """Where PyTorch calls it from inside its own layers."""
    attrs = {"impl": "flash", "causal": bool(call.arguments.get("is_causal"))}
    return OpDraft("attention", call.inputs[:3], call.outputs[:1], attrs)


@rule("mkldnn_rnn_layer")
def lstm(call: Call) -> list[OpDraft]:
    """Where it is not taken as one op: a product for the inputs of all steps; then, step by step, one with the state and one
    element-wise pass."""
    x, w, u = call.inputs[:3]
    steps, batch, hidden = x.shape[0], x.shape[1], u.shape[1]
    out = call.outputs[0]
    gates = reshaped(out, steps * batch, w.shape[0])
    rows = [OpDraft("linear", [reshaped(x, steps * batch, x.shape[2]), w], [gates])]
    step = reshaped(out, batch, u.shape[0])
    for _ in range(steps):
        rows.append(OpDraft("linear", [reshaped(out, batch, hidden), u], [step]))
        rows.append(OpDraft("silu", [step], [reshaped(out, batch, hidden)]))
    return rows


@rule("recurrent", "recurrent_training", "recurrent_backward")
def recurrent(call: Call) -> OpDraft:
    """A recurrent layer as cuDNN runs it, or its gradients; `tracing.recurrent_op` records these."""
    a = call.arguments
    attrs = {name: a[name] for name in ("cell", "hidden", "layers", "directions")}
    way = call.name.removeprefix("recurrent").removeprefix("_")
    return OpDraft("recurrent", call.inputs, call.outputs, attrs | ({way: True} if way else {}))


@rule("fused_cell", "fused_cell_backward")
def fused_cell(call: Call) -> OpDraft:
    """One step of a cell, its gates in one kernel."""
    return OpDraft("silu", call.inputs, call.outputs)


@rule("attention_backward")
def attention_backward(call: Call) -> OpDraft:
    """Five matrix products where the forward pass has two."""
    return OpDraft("attention_backward", call.inputs, call.outputs, {"causal": bool(call.arguments["causal"])})


# ---- backward passes that are not element-wise


@rule("convolution_backward")
def convolution_backward(call: Call) -> OpDraft:
    """One convolution's worth of arithmetic for each of the gradients of input and weight that is asked for."""
    a = call.arguments
    wanted = sum(bool(m) for m in a["output_mask"][:2])
    gradient, x, w = (reshaped(t, *flat(t.shape)) for t in call.inputs[:3])
    attrs = {"groups": int(a["groups"]), "wanted": wanted} | ({"bias": True} if a["output_mask"][2] else {})
    layout = {"layout": "nhwc"} if convolves_last(a["input"], a["weight"]) else {}
    return OpDraft("conv_backward", [gradient, x, w], call.outputs, attrs | layout)


NORMS_BACKWARD = ("native_layer_norm_backward", "native_group_norm_backward", "_fused_rms_norm_backward", "rms_norm_backward")


@rule(*NORMS_BACKWARD)
def norm_backward(call: Call) -> OpDraft:
    return OpDraft("norm_backward", call.inputs, call.outputs)


@rule("_softmax_backward_data", "_log_softmax_backward_data")
def softmax_backward(call: Call) -> OpDraft:
    x, dim = call.inputs[0], int(call.arguments["dim"]) % len(call.inputs[0].shape)
    way = call.name.removeprefix("_").removesuffix("_backward_data")
    attrs = {} if dim == len(x.shape) - 1 else {"row": x.shape[dim], "axis": dim, "backward": way}
    return OpDraft("softmax", call.inputs, call.outputs, attrs)


@rule("native_batch_norm_backward", "cudnn_batch_norm_backward")
def batch_norm_backward(call: Call) -> OpDraft:
    x = call.inputs[0]
    return OpDraft("batch_norm_backward", call.inputs, call.outputs, {"row": prod(x.shape) // x.shape[1], "axis": 1})


@rule("gelu_backward")
def gelu_backward(call: Call) -> OpDraft:
    return OpDraft("gelu_backward", call.inputs, call.outputs)


@rule("max_pool2d_with_indices_backward")
def max_pool_backward(call: Call) -> OpDraft:
    return OpDraft("max_pool2d_backward", [call.inputs[0], call.inputs[-1]], call.outputs)


@rule("embedding_dense_backward")
def embedding_backward(call: Call) -> OpDraft:
    return OpDraft("embedding_backward", call.inputs, call.outputs)


@rule("_embedding_bag_backward", "_embedding_bag_dense_backward")
def embedding_bag_backward(call: Call) -> OpDraft:
    """As that of single rows, each of which reads its bag's gradient; a sparse one is copied row by row, and nothing is sorted."""
    gradient, ids = call.inputs[:2]
    each = reshaped(gradient, *ids.shape, gradient.shape[-1])
    if call.arguments.get("sparse"):
        return OpDraft("gather", [gradient, ids], [each])
    return OpDraft("embedding_backward", [each, ids], call.outputs[:1], {"how": "bags"})


@rule("_amp_update_scale")
def update_scale(call: Call) -> OpDraft:
    return OpDraft("scale", call.inputs[:1], call.outputs[:1])


@rule("roll")
def roll(call: Call) -> OpDraft:
    """An axis at a time."""
    return OpDraft("copy", call.inputs, call.outputs, {"rolled": max(1, len(call.arguments["dims"]))})
