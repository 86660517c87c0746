"""Two GPUs in one machine: which is measured, and what is said where there is none of that number."""

from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from ironlaw.errors import BadValue  # noqa: E402
from ironlaw.measure.devices import nvidia_smi  # noqa: E402
from ironlaw.measure.devices.choice import choose  # noqa: E402


@pytest.fixture
def two(monkeypatch):
    """An H200 and a T4 that PyTorch sees; `used` is what becomes the current one."""
    used = []
    known = [
        SimpleNamespace(name=name, multi_processor_count=n, total_memory=2**34, uuid=f"u{n}") for name, n in (("H200", 132), ("T4", 40))
    ]
    for name, answer in {
        "is_available": lambda: True, "device_count": lambda: 2, "set_device": used.append, "get_device_name": lambda i: known[i].name,
        "get_device_properties": lambda i: known[i], "mem_get_info": lambda i: (2**30 * (i + 1), 2**34),
    }.items():  # fmt: skip
        monkeypatch.setattr(torch.cuda, name, answer)
    monkeypatch.setattr(nvidia_smi, "output_of", lambda *words: {"--id=GPU-u132": "700.00", "--id=GPU-u40": "70.00"}[words[-1]])
    return used


def test_the_second_is_measured_where_it_is_asked_for(two):
    device = choose("cuda:1")
    assert two == [1] and device.machine()["gpu"] == "T4" and device.machine()["device"] == "cuda:1" == device.address()
    assert (device.power_limit(), device.free_memory(), device.machine()["sms"]) == (70.0, 2.0**31, 40)
    assert device.label().endswith("on T4")


def test_the_first_without_a_number(two):
    device = choose("cuda")
    assert two == [] and device.machine()["gpu"] == "H200" and device.power_limit() == 700.0


def test_one_that_is_not_there(two):
    with pytest.raises(BadValue, match="sees 2 GPUs here, cuda:0 and cuda:1, so there is no cuda:2"):
        choose("cuda:2")


def test_a_single_gpu_needs_no_number(two, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert "device" not in choose("cuda").machine()
