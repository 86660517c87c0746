"""Products along an axis with the gradients that a GPU runs. PyTorch looks whether any factor is zero, and mostly none is; on fake tensors
it can't look, and takes a way that multiplies every prefix again."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


class RunningProduct(torch.autograd.Function):
    """cumprod: its gradient is a running sum from the other end, over the input."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, dim: int) -> Tensor:
        return torch.cumprod(x, dim)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.save_for_backward(inputs[0], output)
        ctx.dim = inputs[1]

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        x, product = ctx.saved_tensors
        weighted = product * gradient
        (x == 0).any()
        return weighted.flip(ctx.dim).cumsum(ctx.dim).flip(ctx.dim) / x, None


class Product(torch.autograd.Function):
    """prod along an axis, which it keeps: each factor's gradient is the whole over that factor."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, dim: int) -> Tensor:
        return torch.prod(x, dim, keepdim=True)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.save_for_backward(inputs[0], output)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        x, product = ctx.saved_tensors
        (x == 0).any()
        return gradient * product / x, None


def multiplied(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What cumprod or prod returns, with the gradient of a GPU; None for a form that is not along one axis of a floating-point tensor."""
    named = dict(zip(("x", "dim", "keepdim"), args, strict=False)) | {("x" if key == "input" else key): v for key, v in kwargs.items()}
    x, dim, keep = named.pop("x", None), named.pop("dim", None), named.pop("keepdim", False)
    if named or not isinstance(dim, int) or not torch.is_grad_enabled() or not isinstance(x, Tensor) or not x.requires_grad or not x.dim():
        return None
    if func in (torch.cumprod, Tensor.cumprod):
        return RunningProduct.apply(x, dim)  # type: ignore[no-untyped-call]
    out = Product.apply(x, dim)  # type: ignore[no-untyped-call]
    return out if keep else out.squeeze(dim)


PRODUCTS = (torch.cumprod, Tensor.cumprod, torch.prod, Tensor.prod)
