"""What PyTorch does alike on every kind of device."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ironlaw.formats import FORMATS, MODEL_FORMATS
from ironlaw.measure.clock import Clock
from ironlaw.measure.devices import torch_ops
from ironlaw.measure.devices.compile_cost import cost
from ironlaw.measure.devices.device import Call, Case, Device, Shape, Unsupported
from ironlaw.measure.devices.device_kinds import KINDS
from ironlaw.measure.devices.torch_chains import chain
from ironlaw.measure.rows import Draft

GRAIN = 32768  # at::internal::GRAIN_SIZE: elements below which PyTorch keeps an element-wise op on one thread
PRODUCTS = (*MODEL_FORMATS, "tf32")  # formats that `torch.mm` multiplies


class TorchDevice(Device):
    """`NAME` is the kind of device, which PyTorch calls by the same name."""

    NAME = ""
    REFERENCE = 1024  # side of the product that is timed again and again: it outlasts its launch
    SMALL = 64  # side of a matrix whose op costs no more than its call
    POOL = 2**28  # elements of the pool that cold weights are cut from
    LARGEST = 5e11  # operations that a product of the quick look may take
    RANDOM = True  # whether tensors hold random numbers: their time may depend on the values

    def __init__(self, clock: Clock, formats: tuple[str, ...], default_format: str) -> None:
        import torch

        super().__init__("torch", KINDS[self.NAME], clock, formats, default_format, grain=GRAIN)
        self.torch: Any = torch

    @classmethod
    @abstractmethod
    def present(cls, torch: Any) -> bool:
        """Whether PyTorch sees such a device here."""

    def label(self) -> str:
        return f"PyTorch {self.torch.__version__.partition('+')[0]} on {self.place()}"

    @abstractmethod
    def place(self) -> str:
        """The device in words."""

    def address(self) -> str:
        """The device as another process would name it to PyTorch."""
        return self.NAME

    def threads(self) -> int:
        return int(self.torch.get_num_threads())

    def session(self) -> AbstractContextManager[Any]:
        return self.torch.no_grad()  # type: ignore[no-any-return]

    def reference(self) -> Call:
        return self.gemm("fp32", self.REFERENCE)

    def dtype(self, fmt: str = "") -> Any:
        return FORMATS[fmt or self.default_format].in_torch(self.torch)

    def tensor(self, *shape: int, fmt: str = "") -> Any:
        return self.torch.randn(*shape, device=self.NAME).to(self.dtype(fmt))

    def integers(self, n: int) -> tuple[Any, Any]:
        """Two n×n matrices of INT8, laid out as the device multiplies them."""
        left, right = (self.torch.empty(n, n, dtype=self.torch.int8, device=self.NAME).random_(-100, 100) for _ in "ab")
        return left, right

    def gemm(self, fmt: str, n: int) -> Call:
        torch = self.torch
        if fmt == "int8":
            left, right = self.integers(n)
            return tried(lambda: torch._int_mm(left, right), fmt)
        if fmt not in PRODUCTS:
            raise Unsupported(f"this device can't multiply matrices in {fmt}")
        try:
            a, b = self.tensor(n, n, fmt=fmt), self.tensor(n, n, fmt=fmt)
            out = torch.empty_like(a)
        except (RuntimeError, TypeError) as error:
            raise Unsupported(f"this device has no {fmt} tensors ({first_line(error)})") from None
        return tried(lambda: torch.mm(a, b, out=out), fmt)

    def stream(self, op: str, numel: int) -> Call:
        x, out, *more = (self.torch.full((numel,), 1.5, device=self.NAME) for _ in range(2 if op == "copy" else 3))
        if op == "copy":
            return lambda: out.copy_(x)
        (y,) = more
        return lambda: self.torch.add(x, y, out=out)

    def launches(self) -> dict[str, Call]:
        return torch_ops.launches(self.torch, self.NAME, self.dtype(), self.SMALL)

    def cases(self) -> Iterator[Case]:
        return torch_ops.cases(self.inputs())

    def inputs(self) -> torch_ops.QuickInputs:
        return torch_ops.QuickInputs(self.torch, self.NAME, self.default_format, self.POOL, self.LARGEST)

    def layernorm_dropout_relu(self, shape: Shape, mode: str) -> Call:
        return self.pointwise_chain(("layer_norm", "dropout", "relu"), shape, mode)

    def pointwise_chain(self, kinds: Sequence[str], shape: Shape, mode: str) -> Call:
        return chain(self.torch, kinds, self.torch.randn(*shape, device=self.NAME), mode, self.threads() if self.kind.on_host else 1)

    def compiles(self, longest: float) -> tuple[list[Draft], list[str]]:
        missing = self.compiler_missing()
        return ([], [missing]) if missing else cost(self.address(), longest)

    def compiler_missing(self) -> str:
        """What torch.compile lacks here, as a note; empty where it lacks nothing."""
        return ""

    def compiler_settings(self) -> dict[str, Any]:
        """Settings of the compiler under which a model is profiled."""
        return {}

    def largest(self) -> int:
        total = self.memory()
        return min(2**31, total // 8) if total else 2**31

    # ---- kernels, where the profiler sees them

    def mark(self) -> None:
        """Launch the kernel that marks the start of a call in the profiler's list; nothing where no kernels are listed."""

    def kernel_profiler(self) -> AbstractContextManager[Any]:
        """A session of the profiler that lists kernels; None in its place where it lists none."""
        return nullcontext()

    def peak_memory(self, call: Call) -> int | None:
        """Bytes that a call holds at most beside what was there, where the library counts them."""
        return None


def tried(call: Call, fmt: str) -> Call:
    """The call, once it has run; Unsupported where the library refuses."""
    try:
        call()
    except (RuntimeError, NotImplementedError, TypeError, AttributeError) as error:
        raise Unsupported(f"this device can't multiply matrices in {fmt} ({first_line(error)})") from None
    return call


def first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:120]
