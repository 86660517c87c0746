"""A real, short run on this processor. What is held is physics that no machine breaks, however busy it is."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
import torch

import ironlaw
from ironlaw import hardware
from ironlaw.cli import main
from ironlaw.measure.clock import DeviceClock
from ironlaw.measure.devices.choice import choose
from ironlaw.measure.devices.cuda import Cuda
from ironlaw.measure.devices.device import Unsupported
from ironlaw.measure.devices.mps import Mps
from ironlaw.measure.devices.torch_cpu import TorchCpu
from ironlaw.measure.machine.machine_sections import brief
from ironlaw.measure.machine.machine_sizes import SHORT
from ironlaw.registry.evidence import read
from ironlaw.registry.machine_files import load


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("measured")


@contextmanager
def one_thread():
    """Two that wait for each other on a busy machine say nothing about its rates."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def told(home):
    """`ironlaw measure --short`, forced: a machine that runs tests is busy. Each call is timed for half as long: no figure is held here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IRONLAW_HOME", str(home))
        patch.setattr("ironlaw.cli.measure.SHORT", replace(SHORT, each=SHORT.each / 2, longest=SHORT.longest / 2))
        out = StringIO()
        with redirect_stdout(out), one_thread():
            assert main(["measure", "--short", "--force", "--json", "--device", "cpu"]) == 0
    return json.loads(out.getvalue())


def test_rates_are_within_reason(told):
    assert 1e9 < told["peaks"]["fp32"] < 1e14
    assert told["machine"]["library"] == "torch"
    assert told["machine"]["threads"] >= 1


def test_bandwidth_falls_with_the_working_set(told):
    points = [(p["working_set"], p["bandwidth"]) for p in told["curve"]]
    assert len(points) > 8
    assert max(rate for _, rate in points) > points[-1][1]
    assert 1e8 < told["bandwidth"] < 1e13
    speeds = [level["bandwidth"] for level in told["levels"]] + [told["bandwidth"]]
    assert speeds == sorted(speeds, reverse=True)


def test_a_call_costs_between_a_tenth_of_a_microsecond_and_a_millisecond(told):
    assert 1e-7 < told["launch"] < 1e-3
    assert told["floor"] <= told["launch"]
    assert {"add", "linear", "conv2d", "softmax", "sdpa"} <= told["launches"].keys()


def test_the_machine_is_valid_and_appears(told, home, monkeypatch):
    monkeypatch.setenv("IRONLAW_HOME", str(home))
    evidence, figures = told["stored"]
    assert read(home / "evidence/this_machine/machine.json").rows and evidence.endswith("machine.json")
    machine = hardware("this")
    assert load(home / "hardware/this_machine.toml").peaks == machine.peaks and figures.endswith("this_machine.toml")
    assert machine.peak("fp32") == pytest.approx(told["peaks"]["fp32"], rel=1e-3)
    assert machine.kind == "cpu"


def test_noise_was_watched(told):
    assert {"drift", "noisy", "reasons", "repeated"} <= told["noise"].keys()


def test_every_op_of_the_quick_look_runs_as_its_row_says(monkeypatch):
    """One call of each shape that is not large, its output held against what the engine thinks it writes."""
    from ironlaw.backends.evidence_ops import OPS

    monkeypatch.setattr(TorchCpu, "POOL", 2**22)
    device = choose("cpu")
    with device.session():
        seen = set()
        for case in device.cases():
            made = OPS[case.op](case.params)
            if made.work.bytes > 2e6 and case.op in seen:
                continue
            seen.add(case.op)
            out = case.prepare()()
            assert out.numel() == made.outputs[0].size, case
    assert {"linear", "conv2d", "relu", "layer_norm", "batch_norm", "sdpa", "embedding", "max_pool2d"} <= seen


def test_every_tiny_op_runs():
    device = choose("cpu")
    with device.session():
        for op, call in device.launches().items():
            assert call() is not None, op


def test_a_format_that_nobody_multiplies():
    with pytest.raises(Unsupported, match="fp4"):
        TorchCpu().gemm("fp4", 64)


def test_where_no_kernel_times_are_told_many_calls_are_queued_before_one_wait():
    assert TorchCpu().busy([lambda: None]) == []
    waits, calls = [], []
    device = Mps()
    device.clock = DeviceClock(lambda: waits.append(1))
    (row,) = device.busy([lambda: calls.append(1)])
    assert 0 < row["busy_s"] < 1e-3
    assert len(calls) > 5 * len(waits)


def test_mps_is_not_the_processor(monkeypatch):
    monkeypatch.setattr("ironlaw.measure.software_host.caches", lambda: {"l2": (2**22, 1)})
    device = Mps()
    assert device.queued and device.machine()["backend"] == "mps" and device.machine()["gpu"].endswith("integrated GPU")
    assert device.caches() == {} and "l2_bytes" not in device.machine() and device.machine()["host_caches"] == {"l2": 2**22}


def test_a_far_larger_product_takes_longer():
    """Four thousand times the work, and a tenth of a per cent of that asked for: no other process turns this round."""
    device = choose("cpu")
    with one_thread():
        small, large = (brief(device.gemm("fp32", n), device, 0.02).best for n in (64, 1024))
    assert large > 4 * small


BARE = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        hidden = "numpy rich marimo sqlalchemy starlette markdown anywidget fsrs alembic platformdirs"
        if name.partition(".")[0] in hidden.split():
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Block())
from ironlaw.cli.show import draw, measured_machine
from ironlaw.measure.devices.choice import choose
from ironlaw.measure.machine.characterise import characterise
from ironlaw.measure.machine.keep import read_figures, keep
from ironlaw.measure.machine.machine_sizes import Sizes
draw.rich = lambda: False
device = choose("cpu")
found = characterise(device, Sizes("tiny", each=0.001, longest=0.004, streams=1, ops=False, patience=0.0))
told = read_figures(found, device)
measured_machine.report(found, told, keep(found, told, device, force=True), None)
"""


def test_torch_alone_is_enough(tmp_path):
    """Neither NumPy nor rich nor anything else that is installed with ironlaw."""
    source = Path(ironlaw.__file__).parents[1]
    env = os.environ | {"PYTHONPATH": str(source), "IRONLAW_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", BARE], capture_output=True, text=True, env=env, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "fp32" in done.stdout and "main" in done.stdout and "--on this" in done.stdout
    assert (tmp_path / "hardware" / "this_machine.toml").exists()


def test_gradients_are_off_only_while_measuring():
    import torch

    device = choose("cpu")
    with device.session():
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


def test_a_gpus_reference_stays_fp32_after_a_case_in_tf32(monkeypatch):
    """Cases of the sweep leave TF32 on, with which the same product takes a sixth of the time: no noise of the machine's."""
    device, switch, seen = Cuda(), torch.backends.cuda.matmul, []
    monkeypatch.setattr(device, "NAME", "cpu")
    monkeypatch.setattr(device, "REFERENCE", 4)
    monkeypatch.setattr(switch, "allow_tf32", True)
    multiply = torch.mm
    monkeypatch.setattr(torch, "mm", lambda *args, **more: seen.append(switch.allow_tf32) or multiply(*args, **more))
    reference = device.reference()
    seen.clear()
    reference()
    assert seen == [False] and switch.allow_tf32 is True


def test_a_gpus_reference_is_timed_by_its_own_clock(monkeypatch):
    device = Cuda()
    times = iter([9e-3, *[1e-3] * 12, *[5e-3] * 8])  # the host was away in some
    monkeypatch.setattr(device, "seconds_between", lambda call: next(times))
    assert device.reference_s(lambda: None, 0.09) == 1e-3
