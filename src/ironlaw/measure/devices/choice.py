"""Which device to measure with: the one that was asked for, else the fastest that is here."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from ironlaw.errors import BadValue, MissingExtra
from ironlaw.measure.devices.device_kinds import KINDS

if TYPE_CHECKING:
    from ironlaw.measure.devices.cuda import Cuda
    from ironlaw.measure.devices.device import Device
    from ironlaw.measure.devices.mps import Mps
    from ironlaw.measure.devices.torch_cpu import TorchCpu
    from ironlaw.measure.devices.torch_device import TorchDevice

INSTALL = "install one with: pip install numpy"
NEEDS = (
    "`ironlaw measure` needs NumPy or PyTorch to give the machine work: pip install numpy (a processor's rates and bandwidth), "
    "or pip install torch (operators, models and GPUs too)"
)


def torch_devices() -> dict[str, type[Cuda | Mps | TorchCpu]]:
    """Every device that PyTorch may run on, the fastest first. Imported when asked for: help and labs only need the kinds' names."""
    from ironlaw.measure.devices.cuda import Cuda
    from ironlaw.measure.devices.mps import Mps
    from ironlaw.measure.devices.torch_cpu import TorchCpu

    return {device.NAME: device for device in (Cuda, Mps, TorchCpu)}


def available(library: str) -> bool:
    """Whether a library can be imported, found out without doing so; a folder that only bears its name is not one."""
    spec = find_spec(library)
    return spec is not None and spec.origin is not None


def installed() -> str:
    """What a run here would use: torch, numpy, or nothing at all."""
    return next((library for library in ("torch", "numpy") if available(library)), "")


def choose(kind: str | None = None, library: str = "") -> Device:
    """The device of that kind (`cuda:1`: the second GPU) and library; without them the best that is here: CUDA, MPS, then the processor,
    with PyTorch or NumPy."""
    if kind is not None:
        named(kind)
    library = library or installed()
    if library == "torch":
        return choose_torch(kind)
    if kind is not None and not KINDS[named(kind)[0]].on_host:
        raise MissingExtra(f"measuring {kind} needs PyTorch: pip install torch")
    if library == "numpy" and available("numpy"):
        from ironlaw.measure.devices.numpy_cpu import NumpyCpu

        return NumpyCpu()
    raise MissingExtra(NEEDS)


def choose_torch(kind: str | None = None) -> TorchDevice:
    """PyTorch on that kind of device, or on the best that is here."""
    if not available("torch"):
        raise MissingExtra("this needs PyTorch, which is not installed here; install it with: pip install torch")
    import torch

    kind, index = named(kind) if kind is not None else (None, None)
    known = torch_devices()
    here = [name for name, device in known.items() if device.present(torch)]
    if kind is not None and kind not in here:
        raise BadValue(f"PyTorch {torch.__version__} sees no {kind} device here; choose from {', '.join(here)}, or install a build with it")
    if index is None:
        return known[kind or here[0]]()
    from ironlaw.measure.devices.cuda import Cuda

    count = torch.cuda.device_count()
    if index >= count:
        there = " and ".join(dict.fromkeys(("cuda:0", f"cuda:{count - 1}")))
        raise BadValue(f"PyTorch sees {count} GPU{'s' if count > 1 else ''} here, {there}, so there is no cuda:{index}; name one of those")
    return Cuda(index)


def named(text: str) -> tuple[str, int | None]:
    """`cuda`, or which of several: `cuda:1`."""
    kind, colon, number = text.partition(":")
    if kind not in KINDS or (colon and (kind != "cuda" or not (number.isascii() and number.isdigit()))):
        raise BadValue(f"{text!r} is not a valid device; choose one of {', '.join(KINDS)}, or with several GPUs cuda:0, cuda:1, …")
    return kind, int(number) if colon else None
