"""A machine with an H200, as far as Inductor asks: nothing runs on it, and no code is generated for it.

Patches PyTorch for good, so it belongs in a process of its own.
"""

from __future__ import annotations

import contextlib
import ctypes
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

H200 = types.SimpleNamespace(
    name="NVIDIA H200", major=9, minor=0, multi_processor_count=132, total_memory=150 << 30, max_threads_per_multi_processor=2048,
    regs_per_multiprocessor=65536, warp_size=32, shared_memory_per_block=49152, shared_memory_per_block_optin=232448,
    shared_memory_per_multiprocessor=233472, L2_cache_size=60 << 20, max_threads_per_block=1024, gcnArchName="", is_integrated=0,
)  # fmt: skip
CUDA, META, GUARDS = 1, 14, "_ZN3c104impl26device_guard_impl_registryE"  # places in PyTorch's table of what switches devices, and its name


class OnProcessor(TorchDispatchMode):
    """Constants that Inductor computes while it compiles."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        args, kwargs = pytree.tree_map(lambda x: torch.device("cpu") if isinstance(x, torch.device) else x, (args, kwargs or {}))
        return func(*args, **kwargs)


def pretend() -> None:
    """From here on PyTorch has a GPU on which nothing can run."""
    from torch._dynamo.device_interface import CudaInterface
    from torch._inductor.fx_passes import joint_graph, pad_mm
    from torch._subclasses import fake_tensor

    without_switching()
    fake_tensor.init_gpu_context = lambda *_: None
    stream = types.SimpleNamespace(cuda_stream=0, device=torch.device("cuda:0"), stream_id=0, device_index=0, device_type=1)
    answers = {
        "is_available": True, "device_count": 1, "current_device": 0, "get_device_properties": H200, "get_device_capability": (9, 0),
        "get_device_name": H200.name, "synchronize": None, "is_bf16_supported": True, "_lazy_init": None, "set_device": None,
        "device": contextlib.nullcontext(), "get_rng_state": torch.empty(16, dtype=torch.uint8), "set_rng_state": None,
        "current_stream": stream,
    }  # fmt: skip
    for name, answer in answers.items():
        setattr(torch.cuda, name, lambda *_, answer=answer, **__: answer)
    interface: Any = CudaInterface
    for owner in (interface, interface.Worker):
        owner.get_device_properties = staticmethod(lambda *_: H200)
        owner.current_device = staticmethod(lambda *_: 0)
    interface.is_available = interface.is_triton_capable = staticmethod(lambda *_: True)
    interface.raise_if_triton_unavailable = staticmethod(lambda *_: None)
    interface.get_compute_capability = staticmethod(lambda *_: 90)
    torch.utils._triton.has_triton = lambda *_: True
    pad_mm._should_pad = lambda *_, **__: False  # PyTorch decides it by timing both
    attend()
    folder: Any = joint_graph.UniformValueConstantFolder
    for name in ("__init__", "_deduce_value"):
        setattr(folder, name, on_processor(getattr(folder, name)))


def without_switching() -> None:
    """Switching to the GPU does nothing, as PyTorch itself has it where a build for CUDA finds no driver; a build without CUDA has an
    empty place there."""
    torch._C._ensureCUDADeviceGuardSet()  # type: ignore[attr-defined]
    libraries = sorted((Path(torch.__file__).parent / "lib").glob("libc10.*"))
    if not libraries:
        return
    table = (ctypes.c_void_p * (META + 1)).in_dll(ctypes.CDLL(str(libraries[0])), GUARDS)
    if not table[CUDA]:
        table[CUDA] = table[META]


def on_processor(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        with OnProcessor():
            return function(*args, **kwargs)

    return call


def attend() -> None:
    """Attention is cuDNN's kernel, which PyTorch takes on Hopper; without a driver it would fall back to products."""
    from torch._inductor.fx_passes import fuse_attention

    def attention(
        query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False, scale: Any = None,
        enable_gqa: bool = False,
    ) -> Any:  # fmt: skip
        if enable_gqa and key.size(-3) != query.size(-3):
            key, value = (one.repeat_interleave(query.size(-3) // one.size(-3), -3) for one in (key, value))
        if query.dtype == torch.float32:
            return efficient(query, key, value, attn_mask, is_causal, scale)
        if attn_mask is not None:
            mask = torch.where(attn_mask, 0.0, float("-inf")).to(query.dtype) if attn_mask.dtype == torch.bool else attn_mask
            attn_mask = mask.expand(*query.shape[:-1], key.size(-2))
        return torch.ops.aten._scaled_dot_product_cudnn_attention(query, key, value, attn_mask, False, 0.0, is_causal, False, scale=scale)[
            0
        ]

    torch.nn.functional.scaled_dot_product_attention = fuse_attention._scaled_dot_product_attention = attention
    patterns, tensor = fuse_attention._get_sfdp_patterns, torch.tensor

    def on_fakes(*args: Any) -> Iterator[Any]:  # the patterns' scalars are real tensors
        torch.tensor = lambda value, device=None, **kw: torch.empty((), device=device, **kw) if device else tensor(value, **kw)
        try:
            yield from patterns(*args)
        finally:
            torch.tensor = tensor

    fuse_attention._get_sfdp_patterns = on_fakes


def efficient(query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: Any) -> Any:
    """What PyTorch takes in FP32."""
    if mask is not None:
        mask = torch.where(mask, 0.0, float("-inf")).to(query.dtype) if mask.dtype == torch.bool else mask
        mask = mask.expand(*query.shape[:-1], key.size(-2))
    return torch.ops.aten._scaled_dot_product_efficient_attention(query, key, value, mask, False, 0.0, causal, scale=scale)[0]
