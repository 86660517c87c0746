"""Weights without data that are moved and copied, loaders that give the same batch again, and a device as PyTorch's base has it."""

from __future__ import annotations

from copy import deepcopy
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from torch.utils.data import DataLoader, IterableDataset  # noqa: E402

from ironlaw.measure.clock import Clock  # noqa: E402
from ironlaw.measure.devices.device import Unsupported  # noqa: E402
from ironlaw.measure.devices.torch_device import TorchDevice, first_line, tried  # noqa: E402
from ironlaw.tracing.scripts.loaders import Loaders, length  # noqa: E402
from ironlaw.tracing.scripts.moved_modules import moving  # noqa: E402


def test_weights_without_data_change_their_format_with_their_gradients():
    with FakeTensorMode(), moving():
        net = nn.Sequential(nn.Linear(2, 3, bias=False), nn.BatchNorm1d(3))
        before = net[0].weight
        before.grad = torch.ones(3, 2)
        assert net.to(torch.float16) is net and net[0].weight is before  # an optimiser that holds it still does
        assert {before.dtype, before.grad.dtype, net[1].running_mean.dtype} == {torch.float16}
        net.to("meta")
        assert net[0].weight is not before and net[0].weight.device.type == "meta" and net[0].weight.requires_grad


def test_a_copy_of_a_model_has_weights_of_its_own_and_shares_what_was_shared():
    with FakeTensorMode(), moving():
        net = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
        net[1].weight = net[0].weight
        net[1].bias.requires_grad_(False)
        net.register_buffer("count", torch.zeros(3))
        other = deepcopy(net)
    assert other[0].weight is not net[0].weight and other[0].weight is other[1].weight and isinstance(other[0].weight, nn.Parameter)
    assert other[0].weight.requires_grad and not other[1].bias.requires_grad
    assert other.count is not net.count and not isinstance(other.count, nn.Parameter)


class Endless(IterableDataset[Any]):
    def __iter__(self) -> Any:
        yield torch.ones(2)


class Broken:
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Any:
        raise OSError("no such file")


def loaders(**more: Any) -> Loaders:
    fakes: Any = SimpleNamespace(recorder=SimpleNamespace(idle=False))
    return Loaders(fakes, 1, **{"real": False, "trains": lambda: True, **more})


def test_how_long_a_loader_is():
    assert length(DataLoader([1, 2, 3], 2)) == 2 and length(DataLoader(Endless())) == 1 << 30
    assert length(SimpleNamespace(dataset=[])) == 1 << 30  # it does not say


def test_real_batches_are_all_given_and_read_here():
    loader = DataLoader([torch.tensor([i]) for i in range(5)], 2, num_workers=1)  # whose process is not started
    assert [batch.flatten().tolist() for batch in loaders(real=True).batches_of(loader)] == [[0, 1], [2, 3], [4]]
    assert loader.num_workers == 1


def test_an_empty_and_a_broken_data_set():
    assert list(loaders().batches_of(DataLoader([], 2))) == []
    with pytest.raises(OSError, match="no such file"):
        next(loaders().batches_of(DataLoader(Broken(), 2)))  # type: ignore[arg-type]


class Plain(TorchDevice):
    """A kind of device of which nothing more is known than that PyTorch has it."""

    NAME, REFERENCE = "cpu", 16

    @classmethod
    def present(cls, torch: Any) -> bool:
        return True

    def place(self) -> str:
        return "a device"


@pytest.fixture(scope="module")
def device() -> Plain:
    return Plain(Clock(), ("fp32", "bf16"), "fp32")


def test_a_device_by_its_kind_alone(device: Plain):
    assert (device.address(), device.compiler_settings(), device.compiler_missing()) == ("cpu", {}, "")
    assert device.peak_memory(lambda: None) is None and device.label().endswith(" on a device")
    assert device.tensor(4, fmt="bf16").dtype == torch.bfloat16 and device.inputs().fmt == "fp32"
    left, right = device.integers(64)
    assert left.dtype == torch.int8 and int(left.min()) < 0 < int(left.max()) and not torch.equal(left, right)
    assert device.reference()().shape == (16, 16)


def test_formats_that_a_device_has_not(device: Plain, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(Unsupported, match="this device can't multiply matrices in fp4"):
        device.gemm("fp4", 8)

    def none(*shape: int, fmt: str) -> Any:
        raise TypeError("Cannot convert a MPS Tensor to float64\nand a traceback")

    monkeypatch.setattr(device, "tensor", none)
    with pytest.raises(Unsupported, match=r"this device has no fp64 tensors \(Cannot convert a MPS Tensor to float64\)$"):
        device.gemm("fp64", 8)
    with pytest.raises(Unsupported, match=r"can't multiply matrices in int8 \(NotImplementedError\)"):
        tried(unwritten, "int8")
    assert first_line(ValueError("x" * 300)) == "x" * 120


def unwritten() -> None:
    raise NotImplementedError


def test_a_compiler_that_is_missing_is_a_note(device: Plain, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(device, "compiler_missing", lambda: "no C++ compiler")
    assert device.compiles(1.0) == ([], ["no C++ compiler"])


def test_batches_end_where_a_loop_only_evaluates():
    seen = loaders()
    seen.first, seen.fresh = {}, lambda batch: batch  # type: ignore[method-assign]
    seen.read = lambda loader: torch.ones(2)  # type: ignore[method-assign]
    loader = DataLoader([torch.ones(1)] * 9, 1)
    with torch.no_grad():
        assert len(list(seen.batches_of(loader))) == 1 and seen.cut
    assert len(list(seen.batches_of(loader))) == 9
