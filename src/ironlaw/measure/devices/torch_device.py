"""PyTorch on a processor, on CUDA (and ROCm, which answers to the same names) and on MPS."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.formats import FORMATS, MODEL_FORMATS
from ironlaw.measure.clock import Clock, DeviceClock, timed
from ironlaw.measure.devices.device import Backend, Call, Case, Lacking

GRAIN = 32768  # at::internal::GRAIN_SIZE: elements below which PyTorch keeps an element-wise op on one thread
PRODUCTS = (*MODEL_FORMATS, "tf32")  # formats that `torch.mm` multiplies
QUEUED = 20  # calls before one wait, where kernel times are not told
TRIED = {  # formats whose products are tried, on each device
    "cpu": ("fp32", "bf16", "fp16", "int8"),
    "cuda": ("fp32", "tf32", "fp16", "bf16", "fp8", "int8"),
    "mps": ("fp32", "fp16", "bf16"),
}


def backend(device: str | None = None) -> Backend:
    """PyTorch on `device`, or on the best that is here."""
    import torch

    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    chosen = device or next(name for name, found in there.items() if found)
    if not there[chosen]:
        here = ", ".join(name for name, found in there.items() if found)
        raise BadValue(f"PyTorch {torch.__version__} sees no {chosen} device here; choose from {here}, or install a build with it")
    if chosen == "cuda":
        from ironlaw.measure.devices.cuda import WithCuda

        return WithCuda()
    return WithTorch(chosen)


class WithTorch(Backend):
    def __init__(self, device: str = "cpu") -> None:
        import torch

        waits = {"cpu": None, "cuda": torch.cuda.synchronize, "mps": torch.mps.synchronize}
        wait = waits[device]
        super().__init__(
            "torch", device, DeviceClock(wait) if wait else Clock(), TRIED[device], "fp32" if device == "cpu" else "fp16", grain=GRAIN
        )
        self.torch: Any = torch
        self.profiles = device != "cpu"

    def session(self) -> AbstractContextManager[Any]:
        return self.torch.no_grad()  # type: ignore[no-any-return]

    def threads(self) -> int:
        return int(self.torch.get_num_threads())

    def reference(self) -> Call:
        if self.device == "cpu":
            return super().reference()
        return self.gemm("fp32", 2048 if self.device == "cuda" else 1024)  # outlasts its launch

    def tensor(self, *shape: int, fmt: str = "") -> Any:
        dtype = FORMATS[fmt or self.base].in_torch(self.torch)
        if self.device == "cpu":  # its time does not depend on the values, and random ones take longer than what is timed
            return self.torch.full(shape, 0.5, dtype=dtype)
        return self.torch.randn(*shape, device=self.device).to(dtype)

    def gemm(self, fmt: str, n: int) -> Call:
        torch = self.torch
        if fmt == "int8":
            a, b = (torch.full((n, n), 3, dtype=torch.int8, device=self.device) for _ in "ab")
            if self.device != "cpu":
                a, b = (matrix.random_(-100, 100) for matrix in (a, b))
            right = b.t() if self.device == "cuda" else b  # tensor cores want the right matrix column by column
            return tried(lambda: torch._int_mm(a, right), fmt)
        if fmt not in PRODUCTS:
            raise Lacking(f"no {fmt} product here")
        try:
            a, b = self.tensor(n, n, fmt=fmt), self.tensor(n, n, fmt=fmt)
            out = torch.empty_like(a)
        except (RuntimeError, TypeError) as error:
            raise Lacking(f"no {fmt} tensors here ({first_line(error)})") from None
        return tried(lambda: torch.mm(a, b, out=out), fmt)

    def stream(self, op: str, numel: int) -> Call:
        x, out, *more = (self.torch.full((numel,), 1.5, device=self.device) for _ in range(2 if op == "copy" else 3))
        if op == "copy":
            return lambda: out.copy_(x)
        (y,) = more
        return lambda: self.torch.add(x, y, out=out)

    def launches(self) -> dict[str, Call]:
        from ironlaw.measure.devices.torch_ops import launches

        return launches(self.torch, self.device, self.base)

    def cases(self) -> Iterator[Case]:
        from ironlaw.measure.devices.torch_ops import cases

        return cases(self.torch, self.device, self.base)

    def busy(self, calls: list[Call]) -> list[dict[str, Any]]:
        """On MPS, where no profiler tells kernel times: a call's share of many queued before one wait. Of a tiny op that is its launch."""
        if self.device != "mps":
            return []
        return [{"busy_s": timed(call, self.clock, seconds=0.02, least=3, warmup=1, batch=QUEUED).median} for call in calls]

    def compiles(self, longest: float) -> tuple[list[dict[str, Any]], list[str]]:
        from ironlaw.measure.devices.compile_cost import cost
        from ironlaw.measure.host import compiler

        if self.device == "cpu" and not compiler():
            return [], ["no C++ compiler is here (g++ or $CXX), which torch.compile needs on a processor: compiling was not timed"]
        if self.device == "cuda" and not self.has_triton():
            return [], ["Triton is not installed, which torch.compile needs on a GPU: compiling was not timed"]
        return cost(self.device, longest)

    @staticmethod
    def has_triton() -> bool:
        from importlib.util import find_spec

        return find_spec("triton") is not None

    def memory(self) -> int | None:
        told = getattr(self.torch.mps, "recommended_max_memory", None) if self.device == "mps" else None  # from PyTorch 2.5 on
        return int(told()) if told else None

    def largest(self) -> int:
        total = self.memory()
        return min(2**31, total // 8) if total else 2**31


def tried(call: Call, fmt: str) -> Call:
    """The call, once it has run; Lacking where the library refuses."""
    try:
        call()
    except (RuntimeError, NotImplementedError, TypeError, AttributeError) as error:
        raise Lacking(f"no {fmt} product here ({first_line(error)})") from None
    return call


def first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:120]
