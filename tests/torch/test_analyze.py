"""`ironlaw analyze` as someone would use it: a file of their own, a model of transformers, and what goes wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import ironlaw as il  # noqa: E402
from ironlaw.cli import main  # noqa: E402
from ironlaw.engine.device.compilation import compile_seconds  # noqa: E402
from ironlaw.engine.device.memory import WORKSPACE  # noqa: E402
from ironlaw.registry.machines import compile_cost, hardware  # noqa: E402
from ironlaw.report import analysis_text  # noqa: E402
from ironlaw.systems.largest_sizes import GRID  # noqa: E402

FILE = """
import torch
from torch import nn

model = nn.Sequential(nn.Conv2d(3, 16, 3, bias=False), nn.BatchNorm2d(16), nn.ReLU())


class Net(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.linear, self.norm = nn.Linear(width, width), nn.LayerNorm(width)

    def forward(self, x):
        return self.norm(torch.relu(self.linear(x)))


Net_inputs = torch.empty(32, 64)


def maker():
    return Net(128), (torch.empty(4, 128),)


def function(x):
    return torch.softmax(x * 2, -1)


def picky(x):
    return x + 1 if x.sum() > 0 else x


def both(input_ids, attention_mask):
    return input_ids * attention_mask


number = 3


class Stubborn(nn.Module):
    def eval(self):
        raise RuntimeError("never")


class Mute(Exception):
    def __str__(self):
        raise ValueError


def mute(x):
    raise Mute


def wrong(x):
    return x


wrong_inputs = 3


def absent(x):
    return x


def absent_inputs():
    return 1 / 0


def halves():
    return nn.ReLU(), 5
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "my.py").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    return "my.py"


def told(capsys: pytest.CaptureFixture[str], *args: str) -> dict:
    assert main(["analyze", *args, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert main(["analyze", *args]) == 2
    return capsys.readouterr().err


def test_a_module_of_a_file(file: str, capsys: pytest.CaptureFixture[str]):
    found = told(capsys, f"{file}:model", "--input", "2x3x10x10", "--on", "h200_sxm,t4", "--dtype", "fp16")
    assert [(p["hardware"], p["mode"]) for p in found["predictions"]] == [
        (hw, mode) for hw in ("h200_sxm", "t4") for mode in ("eager", "compiled", "graphs")
    ]
    assert (found["ops"], found["dtype"], found["unknown"]) == (3, "fp16", {})
    assert found["predictions"][0]["flops"] == 2 * 2 * 16 * 8 * 8 * 27
    assert found["predictions"][0]["params"] == 16 * 27 + 32
    verdict = found["verdict"]
    assert verdict["hardware"] == "h200_sxm" and verdict["actions"][0]["changes"] == ["graphs"] and verdict["actions"][0]["interval"][0] > 1


def test_a_class_and_its_inputs(file: str, capsys: pytest.CaptureFixture[str]):
    found = told(capsys, f"{file}:Net", "--on", "h200_sxm", "--mode", "eager")
    assert found["predictions"][0]["flops"] == 2 * 32 * 64 * 64
    found = told(capsys, f"{file}:Net", "--on", "h200_sxm", "--mode", "eager", "--batch", "8")
    assert found["predictions"][0]["flops"] == 2 * 8 * 64 * 64
    found = told(capsys, f"{file}:Net", "--on", "h200_sxm", "--mode", "eager", "--set", "width=32", "--input", "5x32")
    assert found["predictions"][0]["flops"] == 2 * 5 * 32 * 32


def test_a_maker_and_a_function(file: str, capsys: pytest.CaptureFixture[str]):
    assert told(capsys, f"{file}:maker", "--on", "h200_sxm")["predictions"][0]["flops"] == 2 * 4 * 128 * 128
    found = told(capsys, f"{file}:function", "--input", "16x32", "--on", "h200_sxm", "--mode", "eager")
    assert [op["kind"] for op in found["predictions"][0]["ops"]] == ["softmax", "scale"]


def test_a_training_step(file: str, capsys: pytest.CaptureFixture[str]):
    found = told(capsys, f"{file}:Net", "--on", "h200_sxm", "--training")
    assert [p["mode"] for p in found["predictions"]] == ["eager", "compiled"]
    assert found["predictions"][0]["flops"] == 2 * (2 * 32 * 64 * 64)  # the input needs no gradient


def test_a_model_of_transformers(capsys: pytest.CaptureFixture[str]):
    settings = ("num_hidden_layers=2", "hidden_size=64", "intermediate_size=128", "num_attention_heads=4", "num_key_value_heads=2",
                "vocab_size=100")  # fmt: skip
    chosen = [word for setting in settings for word in ("--set", setting)]
    found = told(capsys, "hf:LlamaConfig", *chosen, "--seq", "16", "--batch", "2", "--dtype", "bf16", "--on", "h200_sxm")
    linear = 2 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 128) + 64 * 100
    attention = 2 * 4 * 2 * 4 * 16 * 16 * 16
    assert found["predictions"][0]["flops"] == 2 * 2 * 16 * linear + attention
    found = told(capsys, "hf:ViTConfig", *chosen[:8], "--on", "h200_sxm", "--mode", "eager")
    assert found["predictions"][0]["flops"] > 0


def test_the_table(file: str, capsys: pytest.CaptureFixture[str]):
    assert main(["analyze", f"{file}:Net", "--on", "h200_sxm"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for part in ("Net", "compiled", "linear.addmm", "Compiling fuses 2 of 3 operators into 1 kernel and saves", "relu + layer_norm"):
        assert part in shown


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("my.py", "--on", "h200_sxm"), "nothing to analyze; name a function in it instead: my.py:NAME"),
        (("none.py:x", "--on", "h200_sxm"), "there is no file none.py"),
        (("my.py:modell", "--on", "h200_sxm"), "no name in my.py 'modell'; did you mean model"),
        (("my.py:number", "--on", "h200_sxm"), "number is of type int; name an nn.Module"),
        (("my.py:model", "--input", "2x3xten", "--on", "h200_sxm"), "'2x3xten' is not a valid shape"),
        (("my.py:model", "--input", "2x3x8x8:floaty", "--on", "h200_sxm"), "number format of the input"),
        (("my.py:model", "--input", "99999999999999999999x8", "--on", "h200_sxm"), "more elements than any memory holds"),
        (("my.py:model", "--input", "1000000000x1000000000", "--on", "h200_sxm"), "give smaller sizes"),
        (("my.py:model", "--input", "x".join(["1"] * 99), "--on", "h200_sxm"), "is not a valid shape"),
        (("my.py:wrong", "--on", "h200_sxm"), "wrong_inputs gives no inputs: TypeError"),
        (("my.py:absent", "--on", "h200_sxm"), "absent_inputs gives no inputs: ZeroDivisionError"),
        (("my.py:halves", "--on", "h200_sxm"), "halves() gives a module with arguments that are not a tuple"),
        (("my.py:Stubborn", "--input", "2", "--on", "h200_sxm"), "can't be moved to meta: RuntimeError: never"),
        (("my.py:mute", "--input", "2", "--on", "h200_sxm"), "the call fails at"),
        (("my.py:model", "--on", "h200_sxm"), "model is called without its input; try --input 1x3x224x224"),
        (("my.py:both", "--on", "h200_sxm"), "try --input 1x128:int64 --input 1x128:int64"),
        (("hf:org/Name-8B", "--on", "h200_sxm"), "nothing is fetched from the network here; save its config.json"),
        (("hf:bert-base-uncased", "--on", "h200_sxm"), "nothing is fetched from the network here; save its config.json"),
        (("hf:gpt2", "--on", "h200_sxm"), "nothing is fetched from the network here; save its config.json"),
        (("hf:./nowhere", "--on", "h200_sxm"), "there is no folder ./nowhere"),
        (("hf:llamaconfig", "--on", "h200_sxm"), "did you mean LlamaConfig"),
        (("nowhere.pt2", "--on", "h200_sxm"), "there is no file nowhere.pt2"),
        (("my.py:model", "--input", "2x4x8x8", "--on", "h200_sxm"), "fix the model or its arguments"),
        (("my.py:Net", "--set", "width", "--on", "h200_sxm"), "'width' is not a setting; write KEY=VALUE"),
        (("my.py:Net", "--set", "depth=3", "--on", "h200_sxm"), "Net() fails: TypeError"),
        (("my.py:Net", "--dtype", "int8", "--on", "h200_sxm"), "can't be converted to int8"),
        (("hf:LamaConfig", "--on", "h200_sxm"), "no class of transformers 'LamaConfig'; did you mean LlamaConfig"),
        (("hf:LlamaConfig", "--set", "hidden_size=-1", "--on", "h200_sxm"), "hf:LlamaConfig can't be built"),
    ],
)
def test_bad_input(file: str, capsys: pytest.CaptureFixture[str], args: tuple[str, ...], said: str):
    assert said in refused(capsys, *args)


def test_a_branch_is_noted(file: str, capsys: pytest.CaptureFixture[str]):
    found = told(capsys, "my.py:picky", "--input", "4", "--on", "h200_sxm")
    assert len(found["notes"]) == 1 and "my.py:29 (return x + 1 if x.sum() > 0 else x)" in found["notes"][0]
    assert main(["analyze", "my.py:picky", "--input", "4", "--on", "h200_sxm"]) == 0
    assert "note: my.py:29" in capsys.readouterr().out


def test_a_file_that_does_not_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "bad.py").write_text("x = 1\ny = x / 0\n")
    assert "bad.py does not run (line 2): ZeroDivisionError" in refused(capsys, f"{tmp_path}/bad.py:x", "--on", "h200_sxm")
    (tmp_path / "bad.py").write_text("x = (\n")
    assert "SyntaxError" in refused(capsys, f"{tmp_path}/bad.py:x", "--on", "h200_sxm")


def test_a_report_from_a_file(file: str, capsys: pytest.CaptureFixture[str]):
    volume = ("--compile-s", "30", "--per-day", "10000")
    small = told(capsys, f"{file}:Net", "--on", "h200_sxm", *volume)["breakeven"][0]
    assert small["calls"] == "never"  # to enter compiled code costs more than it saves on a handful of launches
    found = told(capsys, f"{file}:Net", "--on", "h200_sxm,t4", "--html", "report.html", *volume, "--launch", "5 us")
    text = Path("report.html").read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>") and "<h1>Net</h1>" in text
    for name in ("linear.addmm", "norm.native_layer_norm", "NVIDIA T4 16 GB", "at 10,000 calls per day, on day"):
        assert name in text
    eager, compiled = (p["seconds"] for p in found["predictions"][:2])
    pay = found["breakeven"][0]
    assert (pay["hardware"], pay["mode"], pay["compile_s"]) == ("h200_sxm", "compiled", 30.0)
    assert pay["calls"] == pytest.approx(30.0 / (eager - compiled)) and pay["days"] == pytest.approx(pay["calls"] / 10_000)
    assert found["html"] == "report.html" and pay["compile_s_is_predicted"] is False
    pay = told(capsys, f"{file}:Net", "--on", "h200_sxm")["breakeven"][0]
    per_kernel, _ = compile_cost(hardware("h200_sxm"))
    assert pay["compile_s"] == pytest.approx(float(compile_seconds(found["predictions"][1]["kernels"], per_kernel)))
    assert pay["compile_s_is_predicted"]
    assert main(["analyze", f"{file}:Net", "--on", "t4", "--html", "none/report.html"]) == 2
    assert "there is no folder" in capsys.readouterr().err


def test_a_trace_of_the_same_model(file: str, capsys: pytest.CaptureFixture[str]):
    """Profiled here, on the CPU: each predicted op meets its own run, in two runs."""
    import runpy

    from torch.profiler import ProfilerActivity, profile

    net = runpy.run_path(file)["Net"]().eval()
    with torch.no_grad():
        net(torch.randn(32, 64))
        with profile(activities=[ProfilerActivity.CPU]) as prof:
            for _ in range(2):
                net(torch.randn(32, 64))
    prof.export_chrome_trace("trace.json")
    found = told(capsys, f"{file}:Net", "--on", "h200_sxm", "--mode", "compiled", "--trace", "trace.json", "--html", "report.html")["trace"]
    assert [pair["name"] for pair in found["pairs"]] == ["linear.addmm", "relu", "norm.native_layer_norm"]
    assert (found["runs"], found["on_device"], found["missing"]) == (2, False, [])
    assert "the trace is of a processor and the prediction of NVIDIA H200" in found["warning"]
    assert all(pair["measured_s"] > 0 for pair in found["pairs"])
    assert "aten::normal_" in {left["name"] for left in found["extra"]}  # the inputs were made inside
    assert "Predicted beside measured" in Path("report.html").read_text(encoding="utf-8")
    assert main(["analyze", f"{file}:Net", "--on", "h200_sxm", "--trace", "trace.json"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "predicted beside measured 3 of 3 operators, by gap" in shown and "the median of 2 runs" in shown
    assert "in the trace, not predicted" in shown
    assert "the trace none.json can't be read" in refused(capsys, f"{file}:Net", "--on", "h200_sxm", "--trace", "none.json")


def test_batches_and_stored_weights_side_by_side(file: str, capsys: pytest.CaptureFixture[str]):
    found = told(
        capsys, f"{file}:Net", "--on", "h200_sxm,t4", "--batch", "8,64", "--weights", "own,int8", "--dtype", "fp16", "--mode", "eager"
    )
    assert [(v["batch"], v["weights"], v["hardware"]) for v in found["variants"]] == [
        (batch, fmt, hw) for batch in (8, 64) for fmt in ("own", "int8") for hw in ("h200_sxm", "t4")
    ]
    assert found["predictions"][0]["flops"] == 2 * 8 * 64 * 64  # the first is what the report is about
    own, stored = (v["memory"] for v in found["variants"][::2][:2])
    assert own - stored == 64 * 64 - 64 * 2  # a byte less for each weight, two more for each scale
    assert main(["analyze", f"{file}:Net", "--on", "h200_sxm,t4", "--batch", "8,64", "--dtype", "fp16"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "side by side time, and speed against h200_sxm eager; all transferred" in shown
    assert "batches and weights" in shown and "batch 64" in shown
    costs = told(
        capsys, f"{file}:Net", "--on", "h200_sxm", "--batch", "8,64", "--dtype", "fp16", "--price", "h200=3.6", "--html", "costs.html"
    )["costs"]
    assert {row["batch"] for row in costs["rows"]} == {8, 64} and costs["cheapest"]["batch"] == 64 and costs["per"] == "sample"
    assert all(row["dollars_per_million"] == pytest.approx(row["seconds"] / row["batch"] * 1000) for row in costs["rows"])
    page = Path("costs.html").read_text(encoding="utf-8")
    assert "What it costs" in page and "The cheapest is h200_sxm" in page and "an upper bound" in page


def test_stored_weights_say_what_they_change(file: str, capsys: pytest.CaptureFixture[str]):
    found = told(capsys, f"{file}:Net", "--on", "h200_sxm", "--weights", "int4", "--dtype", "fp16")
    assert found["weights"] == {"format": "int4", "bytes": 64 * 64 / 2 + 64 * 2 * 2 + 3 * 64 * 2, "kept": []}
    assert found["predictions"][0]["flops"] == 2 * 32 * 64 * 64
    assert main(["analyze", f"{file}:Net", "--on", "h200_sxm", "--weights", "int4", "--dtype", "fp16"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Weights of 1 linear layer in int4" in shown and "unpacking the weights adds 8.19 kFLOP" in shown
    assert "With PyTorch's own _weight_int4pack_mm, as measured, eager takes" in shown
    assert "storage of weights 'int3'" in refused(capsys, f"{file}:Net", "--on", "h200_sxm", "--weights", "int3")
    assert "can't be trained" in refused(capsys, f"{file}:Net", "--on", "h200_sxm", "--weights", "int8", "--training")


def test_what_fits(file: str, capsys: pytest.CaptureFixture[str]):
    (room,) = told(capsys, f"{file}:Net", "--on", "t4", "--mode", "eager")["largest"]
    assert (room["what"], room["now"]) == ("batch", 32)
    # 64 floats a row: at the norm, what comes in, ReLU's output and the norm's own with its mean and deviation; and 4,160 + 128 parameters.
    # A tenth is left free of all but these
    sums = (float(hardware("t4").usable) - 4 * (4160 + 128)) / 1.1 / ((3 * 64 + 2) * 4)
    kept = WORKSPACE / ((3 * 64 + 2) * 4)  # cuBLAS'
    assert (sums - kept) * (1 - 2 / GRID) <= room["largest"] <= sums - kept
    settings = ("n_layer=2", "n_embd=64", "n_head=4", "vocab_size=100")
    chosen = [word for setting in settings for word in ("--set", setting)]
    batch, tokens = told(capsys, "hf:GPT2Config", *chosen, "--seq", "16", "--on", "t4", "--mode", "eager")["largest"]
    assert (batch["what"], tokens["what"], tokens["now"], tokens["model_limit"]) == ("batch", "tokens", 16, 1024)
    assert main(["analyze", "hf:GPT2Config", *chosen, "--on", "t4", "--mode", "eager"]) == 0
    assert "the model itself takes 1,024" in " ".join(capsys.readouterr().out.split())


def test_a_call_that_takes_no_other_batch_says_so(file: str, capsys: pytest.CaptureFixture[str]):
    with open(file, "a") as more:
        more.write("\n\ndef fixed(x):\n    return x.view(4, 8).exp()\n")
    assert main(["analyze", f"{file}:fixed", "--input", "4x8", "--on", "t4"]) == 0
    assert "The largest batch is not known, because finding it takes the call at 16 too" in " ".join(capsys.readouterr().out.split())


def test_an_input_has_the_shape_of_the_call_even_where_the_first_op_reads_it_flattened():
    graph = il.capture(torch.nn.Sequential(torch.nn.Flatten(0, 1), torch.nn.Linear(64, 8)), (torch.empty(8, 16, 64),))
    assert [t.shape for t in graph.tensors.values() if t.role == "input"] == [(128, 64)]
    assert analysis_text.inputs(graph) == [{"name": "input 0", "shape": [8, 16, 64], "dtype": "fp32"}]


def test_dtypes_of_pytorch_are_formats():
    assert il.analyze("gpt2_layer", on="h100", dtype=torch.bfloat16).graph.dtype == "bf16"
    assert il.workload("gpt2", dtype=torch.float16).dtype == "fp16"
    with pytest.raises(il.IronlawError, match="keeps its own number format"):
        il.analyze(torch.nn.Linear(8, 8), (torch.empty(4, 8),), on="h100", dtype=torch.bfloat16)
