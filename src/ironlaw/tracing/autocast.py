"""Autocast for a GPU: more operators run in FP32 there than on a processor (softmax, norms, powers, sums), and a few more in half
precision. PyTorch keeps both lists and takes the one of the device that tensors lie on; here all lie on the processor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

HALF = (torch.float16, torch.bfloat16)
LOWER = (
    "mv", "addmv", "addr", "chain_matmul", "linalg_multi_dot", "lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell",
)  # fmt: skip
WIDEST = ("atan2", "addcdiv", "addcmul", "bilinear", "cross", "dot", "vdot", "index_put", "scatter_add", "tensordot")
WITH_DTYPE = ("sum", "softmax", "log_softmax", "cumsum", "cumprod", "linalg_vector_norm")  # read half precision, write FP32
INNER = (
    "einsum",
    "_convolution",
    "convolution",
    "cudnn_convolution",
    "cudnn_convolution_transpose",
    "_scaled_dot_product_flash_attention",
    "_thnn_fused_lstm_cell",
    "_thnn_fused_gru_cell",
)  # fmt: skip - what a call in the processor's own list comes down to


@cache
def gpu_only() -> tuple[Any, ...]:
    """The operators that autocast treats on a GPU and not on a processor."""
    has: Any = torch._C._dispatch_has_kernel_for_dispatch_key
    names = [n for n in torch._C._dispatch_get_all_op_names() if n.startswith("aten::")]  # type: ignore[attr-defined]
    chosen = [n.removeprefix("aten::") for n in names if has(n, "AutocastCUDA") and not has(n, "AutocastCPU")]
    pairs = [name.partition(".") for name in sorted(chosen)]
    return tuple(getattr(getattr(torch.ops.aten, name), overload or "default") for name, _, overload in pairs if name not in INNER)


@contextmanager
def gpu_lists() -> Iterator[None]:
    """Autocast treats tensors on the processor as a GPU's."""
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)
    library = torch.library.Library("aten", "IMPL")
    for op in gpu_only():
        library.impl(op.name().removeprefix("aten::"), policy(op, keys), "AutocastCPU")
    try:
        yield
    finally:
        library._destroy()


def policy(op: Any, keys: Any) -> Callable[..., Any]:
    name = op._schema.name.removeprefix("aten::")

    def run(*args: Any, **kwargs: Any) -> Any:
        with torch._C._ExcludeDispatchKeyGuard(keys):
            if name in WITH_DTYPE and kwargs.get("dtype") is None and isinstance(args[0], Tensor) and args[0].dtype in HALF:
                return in_fp32(op, name, args, kwargs)
            dtype = torch.get_autocast_dtype("cpu") if name in LOWER else torch.float32
            if name in WIDEST and torch.float32 not in {t.dtype for t in pytree.tree_leaves((args, kwargs)) if isinstance(t, Tensor)}:
                return op(*args, **kwargs)
            args, kwargs = pytree.tree_map_only(Tensor, lambda t: cast(t, dtype), (args, kwargs))
            return op(*args, **kwargs)

    return run


def in_fp32(op: Any, name: str, args: Any, kwargs: Any) -> Any:
    """One kernel that widens what it reads."""
    if name in ("softmax", "log_softmax") and args[0].dtype == torch.float16:
        return getattr(torch, f"_{name}")(args[0], args[1], True)
    position = next(i for i, argument in enumerate(op._schema.arguments) if argument.name == "dtype")
    return op(*args[:position], **{**kwargs, "dtype": torch.float32})


def cast(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    return tensor.to(dtype) if tensor.dtype in (*HALF, torch.float32) and tensor.dtype != dtype else tensor
