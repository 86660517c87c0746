"""A GPU that is not there: scripts ask whether there is one, how much memory it has, and record events on its streams."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from ironlaw.tracing.libraries import replaced

NAME = "a pretended GPU"
MEMORY = 1 << 40  # bytes that scripts are told: one that sizes its batch by them should not shrink it
QUIET = (
    "set_device", "empty_cache", "reset_peak_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached", "ipc_collect", "init",
    "reset_accumulated_memory_stats", "set_per_process_memory_fraction", "set_stream", "manual_seed", "manual_seed_all", "seed",
    "seed_all", "set_rng_state", "set_rng_state_all",
)  # fmt: skip
ZEROS = ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved", "utilization", "current_device")


class Stream:
    """A stream, or an event on it; everything on it is done at once."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.device = torch.device("cuda", 0)

    def nothing(self, *_: Any, **__: Any) -> None:
        return None

    record = wait = wait_event = wait_stream = synchronize = nothing

    def record_event(self, event: Any = None) -> Any:
        return event or Stream()

    def query(self) -> bool:
        return True

    def is_capturing(self) -> bool:
        return False

    def elapsed_time(self, _: Any) -> float:
        return 1.0

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: Any) -> None:
        return None


class Pinned(TorchFunctionMode):
    """Memory that is pinned, and tensors that say where they lie."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is Tensor.pin_memory:
            return args[0]
        if func is Tensor.record_stream:
            return None
        return func(*args, **(kwargs or {}))


@contextmanager
def gpu(count: int = 1) -> Iterator[None]:
    """While this lasts, there seem to be `count` GPUs."""

    def quiet(*_: Any, **__: Any) -> None:
        return None

    about = SimpleNamespace(
        name=NAME, total_memory=MEMORY, major=9, minor=0, multi_processor_count=132, warp_size=32, gcnArchName="", is_integrated=False,
        max_threads_per_multi_processor=2048, shared_memory_per_block=49152, regs_per_multiprocessor=65536, L2_cache_size=1 << 26,
    )  # fmt: skip
    answers: dict[str, Any] = {
        "is_available": True, "is_initialized": True, "device_count": count, "get_device_name": NAME, "get_device_capability": (9, 0),
        "get_device_properties": about, "mem_get_info": (MEMORY, MEMORY), "is_bf16_supported": True, "memory_stats": {},
        "memory_summary": "",
        "get_arch_list": ["sm_90"], "is_current_stream_capturing": False,
    } | dict.fromkeys(ZEROS, 0)  # fmt: skip
    made: dict[str, Any] = {"Stream": Stream, "Event": Stream}
    streams: dict[str, Any] = {
        "current_stream": lambda *_: Stream(), "default_stream": lambda *_: Stream(), "stream": lambda *_: nullcontext(),
        "device": lambda *_: nullcontext(), "get_rng_state": lambda *_: torch.get_rng_state(),
        "get_rng_state_all": lambda: [torch.get_rng_state()],
    }  # fmt: skip
    accelerator: dict[str, Any] = {
        "is_available": lambda: True, "current_accelerator": lambda *_, **__: torch.device("cuda"), "device_count": lambda: count,
        "current_device_index": lambda: 0, "set_device_index": quiet, "synchronize": quiet, "current_device_idx": lambda: 0,
        "memory_allocated": lambda *_: 0, "max_memory_allocated": lambda *_: 0, "empty_cache": quiet, "reset_peak_memory_stats": quiet,
        "current_stream": lambda *_: Stream(), "set_device_idx": quiet,
    }  # fmt: skip
    with ExitStack() as stack:
        for name, value in answers.items():
            stack.enter_context(replaced(torch.cuda, name, lambda *_, value=value, **__: value))
        for name in QUIET:
            stack.enter_context(replaced(torch.cuda, name, quiet))
        for name, value in (*made.items(), *streams.items()):
            stack.enter_context(replaced(torch.cuda, name, value))
        for name in ("range_push", "range_pop", "mark"):
            stack.enter_context(replaced(torch.cuda.nvtx, name, quiet))
        for name, value in accelerator.items():
            stack.enter_context(replaced(torch.accelerator, name, value))
        yield
