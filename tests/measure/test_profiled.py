"""Kernel times: the profiler's list is cut at the markers and summed call by call."""

import pytest

from ironlaw.measure.profiled import cut, profiled, summary

MARK = ("void spin_kernel(long)", 1e-6)


def test_events_before_the_first_marker_belong_to_nobody():
    assert cut([("a", 1.0), MARK, ("b", 2.0), ("c", 3.0), MARK]) == [[("b", 2.0), ("c", 3.0)], []]


def test_one_kernel_needs_no_list():
    assert summary([[("gemm", 3e-6)], [("gemm", 1e-6)], [("gemm", 2e-6)]]) == {"busy_s": 2e-6, "kernels": 1}


def test_several_kernels_are_listed_the_longest_first():
    found = summary([[("a", 1e-6), ("b", 5e-6), ("a", 1e-6)]] * 3)
    assert found["busy_s"] == pytest.approx(7e-6)
    assert found["kernels"] == 3
    assert found["list"] == [{"name": "b", "count": 1.0, "seconds": 5e-6}, {"name": "a", "count": 2.0, "seconds": 2e-6}]


class Event:
    def __init__(self, start, name, ns, kind="CUDA"):
        self.told = start, name, ns, kind

    start_ns, name, duration_ns, device_type = (lambda self, i=i: self.told[i] for i in range(4))


class Torch:
    """As much of PyTorch as the profiler's user sees: kernels are logged while a session is open."""

    def __init__(self, sees=True):
        self.log, self.sees = [], sees
        self.cuda = self.profiler = self.autograd = self.DeviceType = self.ProfilerActivity = self
        self.CUDA = "CUDA"

    def synchronize(self):
        pass

    def _sleep(self, _):
        self.kernel(MARK[0], 1000)

    def kernel(self, name, ns):
        self.log += [Event(len(self.log), name, ns), Event(len(self.log), "cudaLaunchKernel", 9000, "CPU")]

    def profile(self, activities):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    @property
    def kineto_results(self):
        return self

    def events(self):
        return list(reversed(self.log)) if self.sees else []


def test_calls_are_told_apart():
    torch = Torch()

    def fail():
        raise RuntimeError("out of memory\nmore")

    long, short, broken = profiled(torch, [lambda: torch.kernel("long", 5000), lambda: torch.kernel("short", 1000), fail])
    assert long == {"busy_s": 5e-6, "kernels": 1}
    assert short == {"busy_s": 1e-6, "kernels": 1}
    assert broken == {"error": "out of memory"}


def test_a_profiler_that_sees_nothing_is_said():
    (found,) = profiled(Torch(sees=False), [lambda: None])
    assert "0 of 12 marks" in found["error"]
