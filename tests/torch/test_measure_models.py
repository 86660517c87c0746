"""Models run for real on this CPU, shortly: what is timed, stored, and laid beside the prediction."""

from __future__ import annotations

import json
import os
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from ironlaw.cli import main, measure_model  # noqa: E402
from ironlaw.cli.show import measured_model  # noqa: E402
from ironlaw.engine.device.predict import Cost, OpRow  # noqa: E402
from ironlaw.errors import BadValue, MissingExtra  # noqa: E402
from ironlaw.measure.devices.cuda import Cuda  # noqa: E402
from ironlaw.measure.devices.torch_cpu import TorchCpu  # noqa: E402
from ironlaw.measure.models import builders  # noqa: E402
from ironlaw.measure.models import model_run as models  # noqa: E402
from ironlaw.measure.models import profile as models_profile  # noqa: E402
from ironlaw.measure.noise import Noise  # noqa: E402
from ironlaw.measure.progress_lines import Cancelled  # noqa: E402
from ironlaw.measure.software_host import compiler  # noqa: E402
from ironlaw.registry.evidence import evidence, measured  # noqa: E402
from ironlaw.registry.loader import folder  # noqa: E402
from ironlaw.report.trace_join import Pair, TraceJoin, Unmatched  # noqa: E402

CPU = TorchCpu()
FILE = """
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64))
net_inputs = torch.zeros(8, 64)


class Breaks(nn.Module):
    def forward(self, x):
        raise RuntimeError("the third head has fallen off")


class Interrupted(nn.Module):
    calls = 0

    def forward(self, x):
        Interrupted.calls += 1
        if Interrupted.calls > 3:
            raise KeyboardInterrupt
        return x + 1


class OnlyReal(nn.Module):
    def forward(self, x):
        if type(x) is not torch.Tensor:
            raise RuntimeError("only real tensors")
        return x * 2
"""


def mlp():
    return nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64)).eval()


@pytest.fixture
def quiet(monkeypatch):
    """A machine that nobody else uses, whatever this one does at the moment."""
    monkeypatch.setattr(models, "Watch", lambda: Still(Noise(0.0, 0.0, 0.0)))


class Still:
    def __init__(self, noise):
        self.noise = noise

    def reference(self, seconds):
        assert seconds > 0

    def verdict(self):
        return self.noise


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    return path


@pytest.fixture
def run(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")

    def ask(*words):
        code = main(["measure", *map(str, words)])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return code, out, err

    return ask


@pytest.fixture
def told(run):
    def ask(*words):
        code, out, err = run(*words, "--json")
        assert code == 0, err
        return json.loads(out)

    return ask


@pytest.fixture
def laptop(ironlaw_home):
    """This machine has figures but no curves."""
    place = ironlaw_home / "hardware" / "this_machine.toml"
    place.parent.mkdir()
    place.write_text((folder("hardware") / "laptop_cpu.toml").read_text())


# ---- timing and profiling


def test_an_mlp_eager(quiet):
    x = torch.randn(8, 64)
    (run,) = models.measure(mlp(), (x,), device=CPU, modes=("eager",), seconds=0.1)
    row = run.row
    assert (row["kind"], row["mode"], row["device"]) == ("model", "eager", "cpu")
    assert 0 < row["best_s"] <= row["low_s"] <= row["wall_s"] <= row["high_s"] and row["samples"] >= 21
    assert row["kernels"] == 3  # two linear layers and a ReLU
    assert 0 < row["busy_s"] <= row["wall_s"]
    assert {item["name"] for item in row["list"]} >= {"aten::linear", "aten::relu"}
    assert all(0 < item["seconds"] <= row["busy_s"] for item in row["list"])
    # the first layer's output and the ReLU's are held at once: 8 × 256 FP32 each; the allocator may pad a little
    assert row["activation_bytes"] == pytest.approx(2 * 8 * 256 * 4, rel=0.05)
    assert "piped_s" not in row and row["profiler_slows"] >= 1.0  # a CPU has no queue
    assert row["noise"] == {"others": 0.0, "stolen": 0.0, "drift": 0.0, "noisy": False, "reasons": []}
    json.dumps(row, allow_nan=False)


def test_an_mlp_compiled(quiet, one_compilation):
    eager, compiled = models.measure(mlp(), (torch.randn(8, 64),), device=CPU, modes=("eager", "compiled"), seconds=0.1)
    assert bool(compiled.error) == (not compiler()), compiled.error  # torch.compile needs a C++ compiler here, and says so
    if compiled.error:
        return
    assert compiled.row["compile_s"] > 20 * compiled.row["wall_s"] and "compile_s" not in eager.row
    assert 0 < compiled.row["kernels"] <= eager.row["kernels"]
    assert any("fused" in item["name"] for item in compiled.row["list"])


def test_a_mode_that_can_not_be_run_says_so(quiet, monkeypatch):
    def refuse(*_):
        raise RuntimeError("no working C++ compiler found\nand much more")

    monkeypatch.setattr(models, "_compile", refuse)
    eager, compiled = models.measure(mlp(), (torch.randn(8, 64),), device=CPU, seconds=0.05)
    assert eager.row["wall_s"] > 0 and compiled.error == "RuntimeError: no working C++ compiler found" and compiled.events == []


def test_graphs_are_for_cuda():
    with pytest.raises(BadValue, match="graphs need CUDA, but this runs on cpu"):
        models.measure(mlp(), (torch.randn(8, 64),), device=CPU, modes=("eager", "graphs"))


def test_a_stop_ends_it(quiet):
    with pytest.raises(Cancelled):
        models.measure(mlp(), (torch.randn(8, 64),), device=CPU, stop=lambda: True)


def test_progress_goes_up(quiet):
    seen = []
    models.measure(mlp(), (torch.randn(8, 64),), device=CPU, modes=("eager",), seconds=0.05, progress=lambda *now: seen.append(now))
    shares = [share for share, _ in seen]
    assert shares == sorted(shares) and shares[-1] == 1.0 and any("timing" in doing for _, doing in seen)


def test_a_noisy_machine_is_tried_again_and_said(monkeypatch):
    made = []

    def watch():
        made.append(Still(Noise(0.5, 0.0, 0.0)))
        return made[-1]

    monkeypatch.setattr(models, "Watch", watch)
    (run,) = models.measure(mlp(), (torch.randn(8, 64),), device=CPU, modes=("eager",), seconds=0.05)
    assert len(made) == models.TRIES and run.noise.noisy
    assert run.row["noise"]["reasons"] == ["other processes took 50% of the processors (limit 10%)"]


def test_inputs_get_values():
    shapes = (torch.empty(2, 3, device="meta"), {"ids": torch.empty(4, 5, dtype=torch.long, device="meta"), "on": True})
    x, named = models.real(shapes, "cpu", vocabulary=7)
    assert x.shape == (2, 3) and bool(x.isfinite().all()) and named["on"] is True
    assert named["ids"].shape == (4, 5) and 0 <= int(named["ids"].min()) <= int(named["ids"].max()) < 7
    assert not models.real(shapes, "cpu")[1]["ids"].any()  # without a vocabulary only 0 is surely an index
    assert models.described((x, named)) == ["2x3:fp32", "4x5:int64"]


def event(name, ts, dur, cat="cpu_op", tid=1):
    return {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "pid": 1, "tid": tid}


def test_outermost_operators():
    events = [
        event("aten::linear", 10, 10), event("aten::addmm", 11, 8), event("aten::relu", 20, 5), event("aten::relu", 12, 3, tid=2),
        event("Torch-Compiled Region: 0/0", 0, 100), event("ProfilerStep#0", 0, 100, "user_annotation"),
    ]  # fmt: skip
    assert [e["name"] for e in models_profile.outermost(events)] == ["aten::linear", "aten::relu", "aten::relu"]


def test_kernels_of_a_gpu(monkeypatch):
    kernels = [event(f"k{i % 2}", 10 * i, 3 + i % 2, "kernel") for i in range(10)] + [event("copy", 1, 5, "gpu_memcpy")] * 5
    events = [*kernels, event("aten::relu", 0, 90), event("ProfilerStep#0", 0, 100, "user_annotation")]
    monkeypatch.setattr(models_profile, "trace", lambda call, device, runs: events)
    monkeypatch.setattr(Cuda, "peak_memory", lambda self, call: 77)
    found = models_profile.profiled(lambda: None, Cuda(), 1e-3)
    # five calls of two kernels, 3 and 4 µs, and a copy of 5 µs
    assert (found.kernels, found.busy_s, found.activation_bytes, found.slower) == (3.0, pytest.approx(12e-6), 77, 1.0)
    assert [(item["name"], item["count"]) for item in found.listed()] == [("copy", 1.0), ("k1", 1.0), ("k0", 1.0)]


def test_times_of_a_processor_are_those_without_the_profiler(monkeypatch):
    """Three runs of 100 µs under the profiler, 50 µs without; an operator of 40 µs in each, one that was disturbed."""
    steps = [event(f"ProfilerStep#{i}", 1000 * i, 100 + 400 * (i == 1), "user_annotation") for i in range(3)]
    ops = [event("aten::linear", 1000 * i + 10, 40 + 300 * (i == 1)) for i in range(3)]
    outside = event("aten::relu", 900, 5)
    held = [{"ph": "i", "name": "[memory]", "ts": i, "args": {"Device Type": 0, "Total Allocated": total, "Bytes": change}}
            for i, (total, change) in enumerate([(1100, 100), (1600, 500), (1500, -100)])]  # fmt: skip

    def trace(call, device, runs, memory=False):
        return held if memory else [*steps, *ops, outside]

    monkeypatch.setattr(models_profile, "trace", trace)
    found = models_profile.profiled(lambda: None, CPU, 50e-6)
    assert (found.slower, found.kernels, found.busy_s) == (pytest.approx(2.0), 1.0, pytest.approx(20e-6))
    assert found.seconds == {"aten::linear": (1.0, pytest.approx(20e-6))}
    assert found.activation_bytes == 600  # 1,000 were there before


# ---- the registry's models


def test_the_keyword_spotter(quiet, told, laptop):
    found = told("dscnn_kws", "--batch", 4, "--mode", "eager", "--seconds", 0.2)
    (run,) = found["runs"]
    assert (run["workload"], run["params"]) == ("dscnn_kws", {"batch": 4, "classes": 12, "dtype": "fp32"})
    assert (found["parameters"], run["parameters"], run["kernels"]) == (23180, 23180, 29)  # 9 × (conv, norm, ReLU), mean, linear
    assert found["dtype"] == "fp32" and run["predicted"]["seconds"] > 0 and run["predicted"]["calibrated"] is False
    assert len(found["operators"]["pairs"]) == 29 and found["operators"]["missing"] == []
    assert {left["name"] for left in found["operators"]["extra"]} <= {"aten::as_strided"}  # a view inside the linear layer
    assert sum(t["measured_s"] for t in found["terms"]) == pytest.approx(run["wall_s"], rel=1e-6)
    assert sum(t["predicted_s"] for t in found["terms"]) == pytest.approx(run["predicted"]["seconds"], rel=1e-6)
    (file,) = evidence("this_machine")
    assert file.rows[0].wall_s == run["wall_s"] and file.rows[0].kernel_times and "this_machine" in measured()


def test_a_model_that_does_not_fit_is_refused_before_it_is_made(run):
    code, out, err = run("llama3_70b", "--dtype", "fp32")
    assert (code, out) == (2, "") and "llama3_70b in fp32 needs 28" in err and "is free here" in err


def test_models_of_transformers_need_it(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.delitem(sys.modules, "ironlaw.measure.models.builders_transformers", raising=False)
    with pytest.raises(MissingExtra, match="pip install transformers"):
        builders.build("bert_base", dtype="fp32", device="cpu", room=1e12)
    spotter = builders.build("dscnn_kws", batch=2, dtype="fp32", device="cpu", room=1e12)  # a lab's experiment runs it without
    assert spotter.module(*spotter.args).shape == (2, 12)


# ---- models of one's own


def test_a_file_beside_its_prediction(quiet, told, run, file, laptop, ironlaw_home):
    found = told(f"{file}:net", "--mode", "eager", "--seconds", 0.1)
    (ran,) = found["runs"]
    assert (ran["model"], ran["params"]) == ("mine.py:net", {"inputs": ["8x64:fp32"]})
    assert [p["aten"] for p in found["operators"]["pairs"]] == ["aten::addmm", "aten::relu", "aten::addmm"]
    assert found["stored"] == str(ironlaw_home / "evidence" / "this_machine" / "models.json")
    code, out, err = run(f"{file}:net", "--mode", "eager", "--seconds", 0.1, "--batch", 16)
    assert code == 0, err
    assert "eager, term by term" in out and "overhead between them" in out and "predicted beside measured" in out
    assert "too little was measured" in " ".join(out.split()) and "stored: " in out
    assert [row.params["inputs"] for row in evidence("this_machine")[0].rows] == [["8x64:fp32"], ["16x64:fp32"]]


def test_shapes_given_by_hand_and_a_copy_of_the_rows(quiet, told, file, tmp_path):
    copy = tmp_path / "mine.json"
    found = told(f"{file}:net", "--input", "2x64", "--mode", "eager", "--seconds", 0.05, "--out", copy)
    assert found["runs"][0]["params"] == {"inputs": ["2x64:fp32"]}
    assert json.loads(copy.read_text())["rows"][0]["model"] == "mine.py:net"


def test_a_machine_not_measured_yet_is_said(quiet, told, run, file):
    found = told(f"{file}:net", "--mode", "eager", "--seconds", 0.05)
    assert found["runs"][0]["predicted"] is None and "operators" not in found
    assert "run `ironlaw measure` first" in found["reason"]
    assert "! no prediction: this machine was not measured yet" in run(f"{file}:net", "--mode", "eager", "--seconds", 0.05)[1]


def test_a_model_that_can_not_be_captured_is_measured_all_the_same(quiet, told, file, laptop):
    found = told(f"{file}:OnlyReal", "--input", "4x4", "--mode", "eager", "--seconds", 0.05)
    assert found["runs"][0]["wall_s"] > 0 and "only real tensors" in found["reason"]


def test_noise_is_not_stored_unless_asked_for(monkeypatch, told, file, ironlaw_home):
    monkeypatch.setattr(models, "Watch", lambda: Still(Noise(0.6, 0.0, 0.0)))
    found = told(f"{file}:net", "--mode", "eager", "--seconds", 0.05)
    assert found["stored"] is None and "other processes took 60%" in found["left_out"][0] and "--force" in found["left_out"][0]
    assert not list(ironlaw_home.rglob("*.json"))
    assert told(f"{file}:net", "--mode", "eager", "--seconds", 0.05, "--force")["stored"]
    assert evidence("this_machine")[0].rows[0].extra["noise"]["noisy"] is True


# ---- what goes wrong


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nowhere.py:net",), "there is no file nowhere.py"),
        (("{file}:nte",), "no name in"),
        (("{file}",), "FILE.py:NAME"),
        (("{file}:Breaks", "--input", "2x2"), "the third head has fallen off"),
        (("resnet51",), "no workload 'resnet51'; did you mean resnet50"),
        (("resnet51",), "a model of your own is given as FILE.py:NAME"),
        (("dscnn_kws", "--seq", "4"), "takes no 'seq'"),
        (("dscnn_kws", "--input", "2x2"), "--input is for a model of your own"),
        (("dscnn_kws", "--dtype", "int8"), "PyTorch can't run dscnn_kws in int8"),
        (("dscnn_kws", "--mode", "graphs"), "graphs need CUDA"),
        (("dscnn_kws", "--device", "tpu"), "'tpu' is not a valid device"),
        (("hf:NoSuchConfig",), "class of transformers"),
    ],
)
def test_bad_input(run, file, ironlaw_home, words, said):
    code, out, err = run(*(word.format(file=file) for word in words))
    assert (code, out) == (2, "") and said in err
    assert not list(ironlaw_home.rglob("*.json"))


def test_an_interrupt_leaves_nothing(run, file, ironlaw_home):
    assert run(f"{file}:Interrupted", "--input", "2x2", "--mode", "eager")[0] == 130
    assert [name for _, _, files in os.walk(ironlaw_home) for name in files] == []


# ---- term by term, by hand


class Predicted:
    """Four ops: 4 s bound by memory, 3 s by arithmetic, 2 s by the kernel's floor, 1 s that was not seen to run; 12 s of wall time."""

    seconds = 12.0

    class op:
        def __init__(self, name):
            self.name, self.kind = name, "x"

    ops = (
        OpRow(op("a.mm"), Cost(4.0, 1.0)), OpRow(op("b.mm"), Cost(1.0, 3.0)), OpRow(op("c.add"), Cost(0.1, 0.0, 1.9)),
        OpRow(op("d.add"), Cost(1.0, 0.0)),
    )  # fmt: skip


def test_terms_add_up_to_both_wholes():
    pairs = tuple(Pair((row,), "aten::x", measured, ()) for row, measured in zip(Predicted.ops, (5.0, 3.0, 4.0), strict=False))
    joined = TraceJoin(Predicted, None, pairs, (Unmatched("add", 1, 1.0),), (Unmatched("copy", 2, 0.5),), 1)
    found = {term.name: (term.predicted, term.measured, term.operators) for term in measured_model.terms(joined, 15.0)}
    assert found == {
        "data": (4.0, 5.0, 1), "compute": (3.0, 3.0, 1), "overhead of kernels": (2.0, 4.0, 1), "without a partner": (1.0, 0.5, 3),
        "overhead between them": (2.0, 2.5, 0),
    }  # fmt: skip
    assert [sum(column) for column in list(zip(*found.values(), strict=True))[:2]] == [12.0, 15.0]


@pytest.mark.parametrize(("wall_s", "said"), [(1.44e-3, "eager took less time than predicted"), (1.88e-3, "a bound from the machine's")])
def test_a_bound_is_only_called_one_where_no_run_was_shorter(wall_s, said):
    """1.44 ms measured stood beside 1.66 ms predicted, and "a real run is slower"."""
    run = SimpleNamespace(mode="eager", error="", row={"wall_s": wall_s})
    failed = SimpleNamespace(mode="compiled", error="no compiler", row={})
    model = measured_model.MeasuredModel("mine", "cpu", "fp32", 8, [run, failed], {"eager": SimpleNamespace(seconds=1.66e-3)})
    note = measure_model.grounds(model)
    assert said in note and ("bound from" in note) is (wall_s > 1.66e-3) and "too little was measured for curves" in note
