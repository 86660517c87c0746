"""What an engineer tried on models of others: one row for each finding, with the tests that hold it.

Most rows have their tests elsewhere; a name in the table is looked up, so that no row loses its test in silence. What had none is below.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
from torch import nn  # noqa: E402

import ironlaw as il  # noqa: E402
from ironlaw.cli import main  # noqa: E402
from ironlaw.registry.evidence import evidence  # noqa: E402
from ironlaw.tracing.load_target import load  # noqa: E402

TESTS = Path(__file__).parents[1]
HERE = "torch/test_tried_as_an_engineer.py"
FAULTS, LOAD, VALUES, TRAINING = (f"torch/test_{name}.py" for name in ("fault_cases", "capture_load", "capture_values", "capture_training"))
ROWS = {
    "models of every kind count as PyTorch counts them": {"torch/test_capture.py": ["parameters_and_flops"]},
    "Llama step by step, with caches": {
        "torch/test_decoding.py": ["captured_and_registry_agree"], HERE: ["one_token_writes_one_place_of_a_static_cache"],
    },
    "a batch for a cache given as an input": {LOAD: ["a_batch_reaches_into_caches"]},
    "LSTM": {"torch/test_capture_stored.py": ["a_recurrent_layer_is_one_op"]},
    "einsum, vmap, jacrev": {"torch/test_capture_odd.py": ["ops_that_are_not_everyday", "transforms_of_functions"]},
    "autocast": {"torch/test_capture.py": ["autocast_casts"], HERE: ["autocast_is_headed_by_what_its_products_run_in"]},
    "channels_last": {"torch/test_capture.py": ["channels_last_converts_nothing"]},
    "_int_mm, FP8": {FAULTS: ["no_format_costs_less_than_its_arithmetic"], HERE: ["a_product_in_fp8"]},
    "an operator of one's own": {VALUES: ["an_operator_without_a_fake_runs_once"], HERE: ["an_operator_with_a_fake_is_named"]},
    "autograd.Function": {HERE: ["a_function_with_its_own_gradient"]},
    "70B on one device": {
        FAULTS: ["a_model_that_does_not_fit_still_has_figures"],
        "cli/test_cli_analyze_language.py": ["a_model_too_large_for_one_is_answered_for_by_several"],
    },
    "a maker that can't run on meta": {LOAD: ["a_maker_that_needs_real_tensors"]},
    "detectors": {FAULTS: ["a_detector_names_the_line_and_what_it_went_on_with"], VALUES: ["boxes_are_suppressed_at_once_as_on_a_gpu"]},
    "encoders with a mask": {VALUES: ["encoders_with_a_mask_as_an_input"], FAULTS: ["a_mask_given_as_an_input_is_all_ones"]},
    "BART in FP16, DeBERTa, Whisper's generate": {
        VALUES: ["bart_in_half_precision", "deberta_with_its_buckets", "whisper_generates"],
    },
    "hf:BartConfig, WhisperConfig, T5Config": {LOAD: ["a_configuration_with_several_heads"]},
    "hf:org/name": {LOAD: ["a_folder_with_a_configuration"], "torch/test_analyze.py": ["bad_input"]},
    "torch.export": {LOAD: ["exported_programs"]},
    "a training step of one's own": {
        TRAINING: ["a_step_is_what_capture_makes_of_the_module", "accumulation_adds_gradients",
                   "autocast_runs_and_is_headed_in_half_precision"],
    },
    "gradient checkpointing": {
        TRAINING: ["checkpointing_on_the_meta_device", "checkpointing_of_transformers"], HERE: ["checkpointing_as_a_setting"],
    },
    "Triton": {LOAD: ["triton_kernels_need_no_driver"]},
    "sparse CSR": {LOAD: ["sparse_matrices_are_bounded_by_what_they_hold"]},
    "no --input": {"torch/test_analyze.py": ["bad_input"]},
    "scripted modules, bad files and names, Ctrl-C": {
        "torch/test_capture_odd.py": ["broken_calls"], "torch/test_analyze.py": ["a_file_that_does_not_run"],
        "report/test_kineto.py": ["files_that_are_no_trace"], "cli/test_cli_main.py": ["ctrl_c_is_130"],
        "worker/test_worker.py": ["it_ends_with_its_parent"],
    },
    "1: how sure a time is": {
        FAULTS: ["device_and_host_have_an_interval_each"],
        "calibration/test_doubt.py": ["four_unseen_runs_in_five_fall_inside_when_their_model_is_left_out"],
    },
    "2: whose launches": {FAULTS: ["analyze_takes_a_host_and_a_launch"], "cli/test_cli_predict.py": ["the_host_is_named_in_every_output"]},
    "3: FP64 and complex": {FAULTS: ["no_format_costs_less_than_its_arithmetic"]},
    "4: FP32 convolutions in TF32": {
        FAULTS: ["convolutions_of_fp32_are_tf32_s_unless_asked"], HERE: ["whole_models_in_fp32_take_what_was_measured"],
    },
    "5: --training trains": {LOAD: ["training_is_in_the_mode_of_training"], TRAINING: ["batch_norm_keeps_its_statistics_in_training"]},
    "6: measured beside datasheet": {
        "cli/test_cli_predict.py": ["no_kind_of_time_looks_like_another"],
        "report/test_page.py": ["machines_of_different_kinds_share_an_axis_on_the_same_grounds_and_the_same_host"],
    },
    "7: outside what was measured": {
        FAULTS: ["what_no_curve_covers_is_unknown_and_never_calibrated", "no_operator_borrows_another_s_curve_in_silence"],
        "cli/test_cli_predict.py": ["what_lies_outside_is_said_and_named"],
    },
    "8: writes into a cache": {"torch/test_capture_writes.py": ["only_what_is_touched_moves"]},
    "9: what next": {
        "report/test_page.py": ["the_first_screen_answers"],
        "browser/test_report_browser.py": ["answers_on_one_screen_and_the_rest_folded"],
    },
    "10: Python": {
        FAULTS: ["the_python_of_the_docs_runs"], "report/test_analysis_text.py": ["notebooks_get_a_table", "records_are_flat_and_alike"],
    },
    "11: noise that was forced": {"measure/test_keep.py": ["noise_widens_every_interval"]},
    "11: slower than predicted": {
        "report/test_trace_join.py": ["longer_and_shorter_than_predicted_are_told_apart"],
        "torch/test_measure_models.py": ["a_bound_is_only_called_one_where_no_run_was_shorter"],
    },
    "12: JSON": {
        FAULTS: ["json_has_every_operator_and_errors_as_objects"],
        "cli/test_cli_schemas.py": ["what_is_missing_or_new_or_of_another_type_is_noticed"],
    },
    "12: lists": {"cli/test_cli_predict.py": ["several_batches_side_by_side"], "cli/test_cli_lists.py": ["batches_of_a_workload"]},
    "12: MFU over 1": {HERE: ["no_machine_is_busier_than_its_peak"]},
    "12: a processor's trace beside a GPU": {
        "report/test_trace_join.py": ["a_processor_s_trace_beside_a_gpu_is_said", "a_trace_from_elsewhere_is_marked_wherever_it_is_shown"],
    },
    "12: float64": {
        FAULTS: ["formats_may_be_written_as_pytorch_spells_them"], "cli/test_cli_predict.py": ["number_formats_as_pytorch_spells_them"],
    },
    "12: shell completion": {"cli/test_cli_completion.py": ["bash_completes", "what_is_offered_is_taken"]},
    "12: evidence after the results": {"cli/test_cli_predict.py": ["evidence_takes_one_line"]},
    "12: graphs of eager code": {"cli/test_cli_predict.py": ["graphs_of_eager_code"]},
}  # fmt: skip
SMALL = {"num_hidden_layers": 2, "hidden_size": 32, "intermediate_size": 32, "num_attention_heads": 2, "vocab_size": 50}
FILE = """
import torch
from torch import nn

net = nn.Sequential(nn.Linear(64, 64), nn.ReLU())


def cast(x):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        return net(x)


def product(a, b):
    one = torch.ones((), device=a.device)
    return torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.bfloat16)
"""


@pytest.mark.parametrize("row", ROWS)
def test_every_row_has_its_tests(row: str) -> None:
    for file, names in ROWS[row].items():
        text = (TESTS / file).read_text(encoding="utf-8")
        for name in names:
            assert re.search(rf"^def test_{name}\(", text, re.M), f"{file} has no test_{name}"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "my.py").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "150")
    return "my.py"


def shown(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert main(["analyze", *args, "--on", "h200_sxm", "--mode", "eager"]) == 0
    return capsys.readouterr().out


def test_autocast_is_headed_by_what_its_products_run_in(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = shown(capsys, f"{file}:cast", "--input", "32x64", "--html", "report.html")
    (heading,) = (line for line in words.splitlines() if "parameters" in line)
    assert "bf16" in heading and "fp32" not in heading
    assert re.search(r"number format</[^>]+><[^>]+>bf16<", Path("report.html").read_text(encoding="utf-8"))


@pytest.mark.parametrize("spelling", ["fp8", "float8_e4m3fn"])
def test_a_product_in_fp8(file: str, capsys: pytest.CaptureFixture[str], spelling: str) -> None:
    given = ("--input", f"2048x2048:{spelling}")
    found = json.loads(shown(capsys, f"{file}:product", *given, *given, "--json"))
    (p,) = found["predictions"]
    assert (found["dtype"], found["unknown"], p["flops"]) == ("fp8", {}, 2 * 2048**3)
    assert p["busy_s"] >= 2 * 2048**3 / il.hardware("h200_sxm").peak("fp8")


@torch.library.custom_op("tried::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    raise AssertionError("nothing runs for real")


@twice.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def test_an_operator_with_a_fake_is_named() -> None:
    graph = il.capture(lambda x: twice(x).relu(), (torch.empty(8, 8, device="meta"),))
    assert [op.kind for op in graph.ops] == ["unknown", "relu"] and graph.settings["unknown"] == {"tried::twice": 1}
    assert graph.ops[0].work.bytes == 2 * 64 * 4


class Squared(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: Any) -> Any:
        context.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(context: Any, *gradients: Any) -> Any:
        (x,) = context.saved_tensors
        return (2 * x * gradients[0]).sigmoid()  # as no rule of PyTorch's would


def test_a_function_with_its_own_gradient() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(8, 8)

        def forward(self, x: Any) -> Any:
            return Squared.apply(self.linear(x))

    x = torch.empty(4, 8)
    assert "sigmoid" not in [op.kind for op in il.capture(Net(), (x,)).ops]
    assert [op.kind for op in il.capture(Net(), (x,), training=True).ops].count("sigmoid") == 1


def test_one_token_writes_one_place_of_a_static_cache() -> None:
    """Longer caches are read longer, and a step still writes one token: keys and values of two layers, 32 numbers each."""
    config = transformers.LlamaConfig(**SMALL)
    with torch.device("meta"):
        model = transformers.LlamaForCausalLM(config).eval()
    ids = torch.empty(1, 1, dtype=torch.long, device="meta")

    def step(length: int) -> il.Graph:
        cache = transformers.StaticCache(config=config, max_cache_len=length)
        return il.capture(model, (ids,), {"past_key_values": cache, "use_cache": True})

    short, long = step(16), step(64)
    written = [sum(op.writes) for graph in (short, long) for op in graph.ops if op.kind == "write"]
    assert written == [32 * 4] * 8 and long.flops - short.flops == 2 * (4 * 32 * 48)


def test_checkpointing_as_a_setting() -> None:
    made = [load("hf:LlamaConfig", seq=8, settings=SMALL | more, training=True) for more in ({}, {"gradient_checkpointing": True})]
    kept, again = (il.capture(target.call, target.args, target.kwargs, training=True).flops for target in made)
    assert kept < again < kept * 4 / 3


def test_whole_models_in_fp32_take_what_was_measured() -> None:
    """As PyTorch runs them, and with TF32 allowed: the device's time on an H200. By strict FP32 a ResNet takes over twice that."""
    machine = il.hardware("h200_sxm")
    runs = [row for file in evidence(machine.slug) for row in file.rows if row.kind == "change" and row.dtype == "fp32"]
    errors = []
    for run in runs:
        measured = float(run.busy_s or 0.0)
        graph, fp32 = il.workload(run.workload, **run.params), run.variant or "default"
        errors.append(abs(float(il.predict(graph, machine, il.Plan(run.mode, fp32=fp32)).busy_s) / measured - 1))
        if run.workload.startswith("resnet"):
            assert il.predict(graph, machine, il.Plan(run.mode, fp32="strict")).busy_s > 2 * measured
    assert len(runs) >= 28 and sum(errors) / len(errors) < 0.08 and max(errors) < 0.35


@pytest.mark.parametrize("dtype", ["fp32", "bf16", "fp16", "fp8", "int8"])
@pytest.mark.parametrize("mode", ["eager", "compiled"])
def test_no_machine_is_busier_than_its_peak(dtype: str, mode: str) -> None:
    graph = il.workload("mlp8_1024", batch=8192, dtype=dtype)
    for machine in map(il.hardware, ("h200_sxm", "a100_80gb_sxm", "t4", "neoverse_n1_2core", "epyc_9654", "m3_max")):
        if dtype in machine.peaks:
            shares = [il.predict(graph, machine, il.Plan(mode, calibrated=calibrated, launch=0.0)).mfu for calibrated in (True, False)]
            assert all(0 < share <= 1 for share in shares), (machine.slug, shares)
