"""Ops that a GPU runs as one kernel, and that PyTorch takes apart where there is none: attention, RMS norm, dropout in training, recurrent
layers and cells are recorded as the GPU runs them. Gradients work as usual."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from ironlaw.tracing import fused_cells
from ironlaw.tracing.gpu_gradients import PRODUCTS, multiplied
from ironlaw.tracing.libraries import LibraryBehaviour, replaced
from ironlaw.tracing.real_tensors import as_plain
from ironlaw.tracing.recurrent_op import CELLS, as_one
from ironlaw.tracing.tensor_forms import on_meta


@torch.library.custom_op("ironlaw::attention", mutates_args=())
def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool, traced: str, grouped: bool) -> Tensor:
    """`traced`: the mask that a compiler would be handed here, where a plain call does without. `grouped`: several query heads may share
    a key head."""
    raise NotImplementedError("only ever run on fake tensors")


@attention.register_fake
def _(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool, traced: str, grouped: bool) -> Tensor:
    # cuDNN's kernel lays its output out in memory as q lies there
    strides = q.stride()
    order = sorted(range(q.dim()), key=lambda axis: -strides[axis])
    shape = (*q.shape[:-1], v.shape[-1])
    back = sorted(range(q.dim()), key=lambda axis: order[axis])
    return q.new_empty([shape[axis] for axis in order]).permute(back)


@torch.library.custom_op("ironlaw::attention_backward", mutates_args=())
def attention_backward(gradient: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, causal: bool, biased: bool) -> list[Tensor]:
    """`biased`: the mask has a gradient too, such as T5's positions, of all scores."""
    raise NotImplementedError("only ever run on fake tensors")


@attention_backward.register_fake
def _(gradient: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, causal: bool, biased: bool) -> list[Tensor]:
    scores = [q.new_empty((*q.shape[:-1], k.shape[-2]))] if biased else []
    return [torch.empty_like(q), torch.empty_like(k), torch.empty_like(v), *scores]


def _keep(ctx: Any, inputs: Any, output: Any) -> None:
    q, k, v, _, causal, _, _ = inputs
    ctx.save_for_backward(q, k, v, output)
    ctx.causal = causal


def _gradients(ctx: Any, gradient: Tensor) -> Any:
    biased = ctx.needs_input_grad[3]
    found = attention_backward(gradient, *ctx.saved_tensors, ctx.causal, biased)
    return (*found, *(() if biased else (None,)), None, None, None)


attention.register_autograd(_gradients, setup_context=_keep)


@torch.library.custom_op("ironlaw::rms_norm", mutates_args=())
def rms_norm(x: Tensor, normalized_shape: list[int], weight: Tensor | None) -> Tensor:
    raise NotImplementedError("only ever run on fake tensors")


@rms_norm.register_fake
def _(x: Tensor, normalized_shape: list[int], weight: Tensor | None) -> Tensor:
    return torch.empty_like(x)


@torch.library.custom_op("ironlaw::rms_norm_backward", mutates_args=())
def rms_norm_backward(gradient: Tensor, x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    raise NotImplementedError("only ever run on fake tensors")


@rms_norm_backward.register_fake
def _(gradient: Tensor, x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    return torch.empty_like(x), torch.empty_like(weight)


def _keep_norm(ctx: Any, inputs: Any, output: Any) -> None:
    x, _, weight = inputs
    ctx.gained = weight is not None
    ctx.save_for_backward(x, x if weight is None else weight)


def _norm_gradients(ctx: Any, gradient: Tensor) -> Any:
    dx, dweight = rms_norm_backward(gradient, *ctx.saved_tensors)
    return dx, None, dweight if ctx.gained else None


rms_norm.register_autograd(_norm_gradients, setup_context=_keep_norm)


# eigenvalues and singular values without a gradient need no vectors; ATen computes them all the same where tensors are fake
VALUES: dict[Any, Callable[..., Tensor]] = {
    torch.linalg.eigvalsh: lambda A, UPLO="L": torch.ops.aten._linalg_eigh(A, UPLO, False)[0],
    torch.linalg.svdvals: lambda A, driver=None: torch.ops.aten._linalg_svd(A, False, False, driver=driver)[1],
}


def without_vectors(func: Any, args: Any, keywords: Any) -> Tensor | None:
    """Nothing where a gradient asks for the vectors."""
    wanted = torch.is_grad_enabled() and any(isinstance(t, Tensor) and t.requires_grad for t in (*args, *keywords.values()))
    return None if wanted else VALUES[func](*args, **keywords)


OTHERWISE: dict[Any, Callable[..., Any]] = dict.fromkeys(PRODUCTS, multiplied) | dict.fromkeys(VALUES, without_vectors)
MOVES = (Tensor.to, Tensor.cuda)
GPUS = ("cuda", "xpu", "hip", "mps")
LEAVING = (Tensor.numpy, Tensor.tolist, Tensor.__array__)


FUNCTIONS = (functional.multi_head_attention_forward, functional.scaled_dot_product_attention, functional.rms_norm, functional.dropout)
OTHERS = frozenset((*MOVES, Tensor.cpu, *LEAVING, torch.tensor_split, Tensor.tensor_split, *FUNCTIONS, torch.rms_norm, *OTHERWISE))


@cache
def as_it_is(func: Any) -> bool:
    """Whether a call without a device is what it seems, as most of a model's are."""
    name = getattr(func, "__name__", "")
    return func not in OTHERS and not name.startswith("fft_") and name not in fused_cells.WORKSPACE and name not in CELLS


def on_one_device(value: Any) -> Any:
    """All tensors lie on one device, whatever the code calls it; "meta" stays what it is."""
    named = isinstance(value, torch.device) or (isinstance(value, str) and value.split(":")[0] in ("cuda", "mps", "xpu", "hip"))
    return torch.device("cpu") if named and str(value) != "meta" else value


def by_number(value: Any) -> Any:
    """The same for a device that may be given by its number."""
    return torch.device("cpu") if type(value) is int else on_one_device(value)


class ElsewhereIsHere(TorchFunctionMode):
    """Code that names a GPU gets tensors on this machine's processor."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        keywords = kwargs or {}
        if func is Tensor.cuda:
            return args[0]
        if func in MOVES:
            args = tuple(map(by_number, args))
        if "device" in keywords:
            keywords = {**keywords, "device": by_number(keywords["device"])}
        return func(*args, **keywords)


def destination(func: Any, args: Any, keywords: Any) -> str:
    """Where a call sends its tensor: to a GPU, or to the host by name; a device that was read off a tensor says nothing here."""
    if func is Tensor.cuda:
        return "cuda"
    if func is Tensor.cpu:
        return "cpu"
    named = [value for value in (*args[1:2], keywords.get("device")) if isinstance(value, (str, torch.device)) or type(value) is int]
    if named and type(named[0]) is int:
        return "cuda"
    where = str(named[0]).split(":")[0] if named else ""
    return "cuda" if where in GPUS else "cpu" if named and named[0] == "cpu" and isinstance(named[0], str) else ""


class AsOnGpu(TorchFunctionMode):
    """Sends the calls that a GPU runs as one kernel to one op. `library`: what was seen of the one that calls. `read`: the values of a
    tensor that leave PyTorch. `moved`: a tensor that is sent to the GPU or the host, and whether the call waits. `adopted`: the fake for
    a tensor without data that the code keeps to itself; some calls compare devices before any op runs."""

    def __init__(
        self,
        library: LibraryBehaviour,
        read: Callable[[Any, Tensor], Tensor],
        moved: Callable[[Tensor, str, bool], None],
        adopted: Callable[[Any], Any],
    ) -> None:
        super().__init__()
        self.library = library
        self.read = read
        self.moved = moved
        self.adopted = adopted

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        keywords = kwargs or {}
        if any(isinstance(value, Tensor) and type(value) is not FakeTensor and on_meta(value) for value in (*args, *keywords.values())):
            args = tuple(map(self.adopted, args))
            keywords = {name: self.adopted(value) for name, value in keywords.items()}
        return func(*args, **keywords) if "device" not in keywords and as_it_is(func) else self.looked_at(func, args, keywords)

    def looked_at(self, func: Any, args: Any, keywords: Any) -> Any:
        if func in (*MOVES, Tensor.cpu) and (where := destination(func, args, keywords)):
            self.moved(args[0], where, not (keywords.get("non_blocking") or (func is Tensor.to and args[2:3] == (True,))))
        if "device" in keywords or func in MOVES:
            if func is Tensor.cuda:
                return args[0]
            args, keywords = (
                tuple(map(by_number if func in MOVES else on_one_device, args)),
                {name: by_number(value) if name == "device" else value for name, value in keywords.items()},
            )
        if getattr(func, "__name__", "").startswith("fft_") and args[0].dtype in (torch.half, torch.bfloat16):
            args = (args[0].float(), *args[1:])  # a GPU transforms half precision as it is, a processor does not
        if func in LEAVING:
            value = self.read(func, args[0])
            with as_plain():
                return func(value.detach(), *args[1:], **keywords)
        if func in (torch.tensor_split, Tensor.tensor_split) and isinstance(args[1], Tensor):  # PyTorch reads the places off its memory
            return func(args[0], self.read(Tensor.tolist, args[1]).tolist(), *args[2:], **keywords)
        if func is functional.multi_head_attention_forward:  # what it calls in turn would go past here
            dropout = partial(self.dropout, functional.dropout)
            with replaced(functional, "scaled_dot_product_attention", self.sdpa), replaced(functional, "dropout", dropout):
                return func(*args, **keywords)
        if func is functional.scaled_dot_product_attention:
            return self.sdpa(*args, **keywords)
        if func in (functional.rms_norm, torch.rms_norm):
            return self.rms_norm(*args, **keywords)
        if func is functional.dropout:
            return self.dropout(func, *args, **keywords)
        if func in OTHERWISE:
            out = OTHERWISE[func](func, args, keywords)
            return out if out is not None else func(*args, **keywords)
        if getattr(func, "__name__", "") in fused_cells.WORKSPACE:
            out = fused_cells.step(func.__name__, args, keywords)
            return out if out is not None else func(*args, **keywords)
        if getattr(func, "__name__", "") in CELLS and getattr(torch, func.__name__, None) == func:
            out = as_one(func.__name__, args, keywords)
            return out if out is not None else func(*args, **keywords)
        return func(*args, **keywords)

    def sdpa(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Any:
        if torch.is_autocast_enabled("cpu"):
            query, key, value = (t.to(torch.get_autocast_dtype("cpu")) if t.is_floating_point() else t for t in (query, key, value))
        plain = attn_mask is None and not is_causal and query.shape[-2] > 1
        traced = self.library.masks_when_traced if plain else ""
        return attention(query, key, value, attn_mask, is_causal, traced, enable_gqa)

    def rms_norm(self, input: Tensor, normalized_shape: list[int], weight: Tensor | None = None, eps: float | None = None) -> Any:
        return rms_norm(input, list(normalized_shape), weight)

    def dropout(self, func: Any, input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
        if training and 0 < p < 1 and not inplace:
            return torch.native_dropout(input, p, True)[0]
        return func(input, p, training, inplace)
