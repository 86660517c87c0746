"""nn.TransformerEncoderLayer in inference. PyTorch hands the layer whole to one native call (its "fast path"), which joins bias and
activation to the products, adds in place, and stays as it is under torch.compile. With a mask, attention is two products and a softmax."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ironlaw.tracing.libraries import replaced
from ironlaw.tracing.recorder import Recorder

GELU = 2  # of `activation_relu_or_gelu`


@contextmanager
def native_layers(recorder: Recorder) -> Iterator[None]:
    """Layers that take the fast path on a GPU run its operators, and these are marked as a library's."""
    plain: Any = nn.TransformerEncoderLayer.forward

    def forward(layer: Any, src: Tensor, src_mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool = False) -> Any:
        if src_key_padding_mask is not None or not taken(layer, src):
            return plain(layer, src, src_mask, src_key_padding_mask, is_causal)
        if src_mask is not None and src_mask.dtype == torch.bool:  # brought to the format of the layer, and back again later
            src_mask = torch.zeros_like(src_mask, dtype=src.dtype).masked_fill_(src_mask, float("-inf"))
        before, recorder.native = recorder.native, True
        try:
            return native(layer, src, src_mask)
        finally:
            recorder.native = before

    with replaced(nn.TransformerEncoderLayer, "forward", forward):
        yield


def taken(layer: Any, src: Tensor) -> bool:
    """The conditions of torch/nn/modules/transformer.py, `TransformerEncoderLayer.forward`."""
    attention = layer.self_attn
    grows = torch.is_grad_enabled() and any(x.requires_grad for x in (src, *layer.parameters()))
    return bool(
        src.dim() == 3
        and not (layer.training or grows or torch.is_autocast_enabled("cpu"))
        and attention.batch_first
        and attention._qkv_same_embed_dim
        and attention.in_proj_bias is not None
        and attention.num_heads % 2 == 0
        and layer.activation_relu_or_gelu
        and layer.norm1.eps == layer.norm2.eps
    )


def native(layer: Any, src: Tensor, mask: Tensor | None = None) -> Tensor:
    """As ATen's `transformer_encoder_layer_forward` runs it on a GPU."""
    if layer.norm_first:
        x = attended(layer.self_attn, layer.norm1(src), mask).add_(src)
        return fed(layer, layer.norm2(x)).add_(x)
    x = layer.norm1(attended(layer.self_attn, src, mask).add_(src))
    return layer.norm2(fed(layer, x).add_(x))  # type: ignore[no-any-return]


def attended(attention: Any, x: Tensor, mask: Tensor | None) -> Tensor:
    if mask is not None:
        return written_out(attention, x, mask)
    mixed = F.linear(x, attention.in_proj_weight, attention.in_proj_bias)
    parts = mixed.view(*x.shape[:2], 3, attention.num_heads, attention.head_dim).unbind(2)
    out = F.scaled_dot_product_attention(*(part.transpose(1, 2) for part in parts))
    return F.linear(out.transpose(1, 2).reshape(x.shape), attention.out_proj.weight, attention.out_proj.bias)


def written_out(attention: Any, x: Tensor, mask: Tensor) -> Tensor:
    """As `native_multi_head_attention` does with a mask, which the softmax reads as bool: the bias is added while heads are put apart."""
    batch, length, width = x.shape
    heads = attention.num_heads
    mixed = F.linear(x, attention.in_proj_weight).view(batch, length, 3, heads, width // heads)
    q, k, v = (part.flatten(0, 1) for part in mixed.permute(2, 0, 3, 1, 4).contiguous().unbind(0))
    mask.to(torch.bool)
    out = torch.bmm(torch.softmax(torch.bmm(q, k.transpose(1, 2)), -1), v)
    apart = out.view(batch, heads, length, width // heads).transpose(1, 2).reshape(x.shape)
    return F.linear(apart, attention.out_proj.weight, attention.out_proj.bias)


def fed(layer: Any, x: Tensor) -> Tensor:
    first, gelu = layer.linear1, layer.activation_relu_or_gelu == GELU
    inner = torch.ops.aten._addmm_activation(first.bias, x.flatten(0, 1), first.weight.t(), use_gelu=gelu)
    return F.linear(inner, layer.linear2.weight, layer.linear2.bias).view(*x.shape[:2], -1)
