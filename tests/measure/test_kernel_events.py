"""Kernel times: the profiler's list is cut at the markers and summed call by call."""

from types import SimpleNamespace

import pytest

from ironlaw.measure.devices.kernel_events import cut, events, summary

MARK = ("void spin_kernel(long)", 1e-6)


def test_events_of_the_gpu_in_their_order():
    seen = [(30, "gemm", 5000, "CUDA"), (10, "fill", 2000, "CUDA"), (20, "cudaLaunchKernel", 9000, "CPU")]
    told = [SimpleNamespace(**dict(zip(("start_ns", "name", "duration_ns", "device_type"), map(said, row), strict=True))) for row in seen]
    torch = SimpleNamespace(autograd=SimpleNamespace(DeviceType=SimpleNamespace(CUDA="CUDA")))
    session = SimpleNamespace(profiler=SimpleNamespace(kineto_results=SimpleNamespace(events=said(told))))
    assert events(torch, session) == [("fill", pytest.approx(2e-6)), ("gemm", pytest.approx(5e-6))]


def said(value):
    return lambda: value


def test_events_before_the_first_marker_belong_to_nobody():
    assert cut([("a", 1.0), MARK, ("b", 2.0), ("c", 3.0), MARK]) == [[("b", 2.0), ("c", 3.0)], []]


def test_the_median_of_the_turns():
    found = summary([[("gemm", 3e-6)], [("gemm", 1e-6)], [("gemm", 2e-6)]])
    assert found == {"busy_s": 2e-6, "kernels": 1, "list": [{"name": "gemm", "count": 1.0, "seconds": 2e-6}]}


def test_several_kernels_are_listed_the_longest_first():
    found = summary([[("a", 1e-6), ("b", 5e-6), ("a", 1e-6)]] * 3)
    assert found["busy_s"] == pytest.approx(7e-6)
    assert found["kernels"] == 3
    assert found["list"] == [{"name": "b", "count": 1.0, "seconds": 5e-6}, {"name": "a", "count": 2.0, "seconds": 2e-6}]
    assert summary([[("a", 1e-6), ("b", 5e-6)]], keep=1)["list"] == found["list"][:1]
