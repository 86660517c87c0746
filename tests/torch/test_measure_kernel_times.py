"""Kernels of one call kept from those of the next in the profiler's list, on a GPU that is made up; and what launching tiny ops costs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

torch = pytest.importorskip("torch")

from ironlaw.measure.clock import Clock  # noqa: E402
from ironlaw.measure.devices import kernel_times  # noqa: E402
from ironlaw.measure.devices.cuda import Cuda  # noqa: E402
from ironlaw.measure.devices.torch_cpu import TorchCpu  # noqa: E402
from ironlaw.measure.progress_lines import Cancelled  # noqa: E402
from ironlaw.measure.suites.cuda import launches as launches_cuda  # noqa: E402


class Gpu(Cuda):
    """Keeps what was launched, as a profiler's list of (name, seconds)."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.events: list[tuple[str, float]] = []

    def kernel(self, name: str, seconds: float) -> Callable[[], None]:
        return lambda: self.events.append((name, seconds))

    def mark(self) -> None:
        self.events.append(("spin_kernel(long)", 1e-6))

    @contextmanager
    def kernel_profiler(self) -> Iterator["Gpu"]:
        self.events.clear()
        yield self


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Gpu:
    monkeypatch.setattr(kernel_times, "events", lambda torch, session: list(session.events))
    return Gpu()


def test_kernels_go_to_the_call_that_launched_them(gpu: Gpu) -> None:
    def two() -> None:
        gpu.kernel("gemm", 3e-6)()
        gpu.kernel("bias", 1e-6)()
        gpu.kernel("bias", 1e-6)()

    def prepared() -> Callable[[], None]:
        gpu.kernel("fill", 9e-6)()  # inputs are made after the last case's closing mark
        return two

    def breaks() -> None:
        gpu.kernel("half", 1e-6)()
        raise RuntimeError("no such kernel")

    first, second, third = kernel_times.profile(gpu, [prepared, lambda: breaks, lambda: gpu.kernel("copy", 2e-6)])
    assert (first["kernels"], first["busy_s"]) == (3, pytest.approx(5e-6))
    assert first["list"] == [{"name": "gemm", "count": 1.0, "seconds": 3e-6}, {"name": "bias", "count": 2.0, "seconds": 2e-6}]
    assert second == {"error": "RuntimeError: no such kernel"}
    assert (third["kernels"], third["busy_s"]) == (1, 2e-6)
    assert kernel_times.profile(gpu, [prepared], keep=1)[0]["list"] == first["list"][:1]


def test_the_quick_look_lists_kernels_where_a_call_has_several(gpu: Gpu) -> None:
    def two() -> None:
        gpu.kernel("gemm", 3e-6)()
        gpu.kernel("bias", 1e-6)()

    one, both, none = gpu.busy([gpu.kernel("copy", 2e-6), two, lambda: None])
    assert one == {"kernels": 1, "busy_s": 2e-6}
    assert (both["kernels"], [kernel["name"] for kernel in both["list"]]) == (2, ["gemm", "bias"])
    assert none == {"kernels": 0, "busy_s": 0}


def test_warm_up_does_not_count(gpu: Gpu) -> None:
    turns = iter(range(100))

    def call() -> None:
        gpu.kernel("autotune" if next(turns) < 3 else "gemm", 1e-6)()

    (row,) = kernel_times.profile(gpu, [lambda: call])
    assert [kernel["name"] for kernel in row["list"]] == ["gemm"]
    assert next(turns) == 11


def test_lost_marks_are_noticed(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_times, "events", lambda torch, session: session.events[1:])
    (row,) = kernel_times.profile(gpu, [lambda: gpu.kernel("gemm", 1e-6)])
    assert row == {"error": "the profiler saw 11 of 12 marks"}


# ---- launches


def test_launches_of_tiny_ops() -> None:
    calls = launches_cuda.tiny("cpu")
    chosen = {name: calls[name] for name in ("add_", "view_transpose")}

    def broken() -> None:
        raise RuntimeError("not here")

    with torch.no_grad():
        rows = launches_cuda.measured(TorchCpu(), {**chosen, "broken": broken})
    assert [(row["kind"], row["op"]) for row in rows] == [
        ("launch", "add_"), ("launch", "view_transpose"), ("error", "broken"), ("launch", "sync_roundtrip"), ("launch", "sync_idle"),
    ]  # fmt: skip
    assert all(1e-8 < row["wall_s"] < 1e-2 for row in rows if row["kind"] == "launch" and row["op"] != "sync_idle")
    assert rows[0].keys() >= {"kernels", "busy_s", "wall_after_profiler_s"}


def test_every_launch_of_the_h200_is_measured_again() -> None:
    from ironlaw.registry.evidence import evidence

    (ops,) = (file for file in evidence("h200_sxm") if file.name == "h200_sxm/machine")
    stored = {row.op for row in ops.rows if row.kind == "launch"}
    assert stored >= {*launches_cuda.tiny("meta"), "sync_roundtrip", "sync_idle"}  # and those of the quick part


def test_launches_in_a_process_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = launches_cuda.launches()
    assert [row["kind"] for row in rows] == ["launch"] * 44
    with pytest.raises(Cancelled):
        launches_cuda.launches(lambda: True)
    monkeypatch.setattr(launches_cuda.sys, "executable", "false")
    assert launches_cuda.launches() == [{"kind": "error", "op": "launches", "error": "no message"}]
