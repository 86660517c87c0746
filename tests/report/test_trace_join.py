"""Predicted beside measured: which op is which, several runs, and nothing dropped."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from ironlaw.cli.show import trace_text as show_trace
from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.predict import predict
from ironlaw.registry.machines import hardware
from ironlaw.report.kineto import parse, read
from ironlaw.report.sections.trace_section import section
from ironlaw.report.trace_join import calls_predicted, family, join
from ironlaw.report.trace_reasons import reason

DATA = Path(__file__).parent / "data"
CPU = ("conv.convolution", "bn.native_batch_norm", "relu", "fc.addmm", "norm.native_layer_norm", "_softmax")


def joined(graph, file: str):
    return join(predict(graph, hardware("h200_sxm"), Plan()), read(DATA / file))


def test_three_runs_on_a_cpu(named):
    found = joined(named(*CPU), "cpu_three_runs.json.gz")
    assert (found.runs, found.on_device, found.missing) == (3, False, ())
    assert [(pair.name, pair.aten) for pair in found.pairs] == list(zip(CPU, (
        "aten::conv2d", "aten::batch_norm", "aten::relu", "aten::addmm", "aten::layer_norm", "aten::softmax"), strict=True))  # fmt: skip
    ops = read(DATA / "cpu_three_runs.json.gz").ops
    relu = sorted(op.seconds for op in ops if op.name == "aten::relu")
    assert found.pairs[2].measured == relu[1]  # the median of three
    # views and allocations around them are listed, per run, not dropped
    assert {left.name for left in found.extra} >= {"aten::as_strided", "aten::view"}
    of_runs = sum(op.seconds for op in ops if op.name == "aten::as_strided" and op.leaf and ops[op.parent].name != "aten::addmm")
    within = next(left for left in found.extra if left.name == "aten::as_strided")
    assert 0 < within.seconds <= of_runs / 3 + 1e-12


@pytest.mark.parametrize(
    ("device", "machine", "warned"),
    [
        ("NVIDIA H200", "h200_sxm", False), ("NVIDIA H200", "h20", True), ("NVIDIA A100-SXM4-80GB", "a100_80gb_sxm", False),
        ("NVIDIA A100-SXM4-80GB", "h100_sxm", True), ("NVIDIA GeForce RTX 4090", "rtx_4090", False), ("", "h200_sxm", False),
    ],
)  # fmt: skip
def test_a_trace_of_another_device_is_said(named, device, machine, warned):
    graph = named("x._to_copy", "conv.convolution", "fc.addmm", "gelu", "act.relu")
    found = join(predict(graph, hardware(machine), Plan()), replace(read(DATA / "cuda.json"), device=device))
    assert bool(found.elsewhere) is warned
    if warned:
        assert device in found.elsewhere and hardware(machine).name in found.elsewhere and "--on" in found.elsewhere


def test_a_processor_s_trace_beside_a_gpu_is_said(named):
    trace = read(DATA / "cpu_three_runs.json.gz")
    warning = join(predict(named(*CPU), hardware("h200_sxm"), Plan()), trace).elsewhere
    assert "of a processor" in warning and "say nothing about either" in warning and "--on" in warning
    assert join(predict(named(*CPU), hardware("neoverse_n1_2core"), Plan()), trace).elsewhere == ""


def test_cuda_kernels_by_hand(named):
    graph = named("x._to_copy", "conv.convolution", "fc.addmm", "gelu", "act.relu")
    found = joined(graph, "cuda.json")
    assert (found.runs, found.on_device) == (1, True)
    us = [(pair.name, pair.measured * 1e6, len(pair.kernels)) for pair in found.pairs]
    assert us == [
        ("x._to_copy", pytest.approx(9.0), 1),
        ("conv.convolution", pytest.approx(10.5), 2),
        ("fc.addmm", pytest.approx(12.25), 1),
        ("act.relu", pytest.approx(1.5), 1),
    ]
    assert [(left.name, left.count) for left in found.missing] == [("gelu", 1.0)]
    assert [(left.name, left.seconds) for left in found.extra] == [("someone_elses_kernel", pytest.approx(2e-6))]
    everything = sum(kernel.seconds for kernel in read(DATA / "cuda.json").kernels)
    assert found.measured == pytest.approx(everything)  # nothing is lost
    assert found.predicted == pytest.approx(sum(float(row.seconds) for row in found.prediction.ops))
    assert [pair.name for pair in found.widest(1)] == ["fc.addmm"]
    pair = found.pairs[1]
    assert pair.gap == pytest.approx(pair.measured - float(found.prediction.ops[1].seconds))


def test_what_the_prediction_does_not_have_is_listed(named):
    found = joined(named("conv.convolution"), "cuda.json")
    assert [pair.name for pair in found.pairs] == ["conv.convolution"]
    assert {left.name for left in found.extra} == {"aten::copy_", "aten::addmm", "aten::clamp_min_", "someone_elses_kernel"}


def test_rows_of_one_call_are_compared_together(named):
    graph = named("fc.addmm", "fc.addmm:1", "fc.addmm.2")
    found = joined(graph, "cuda.json")
    assert len(found.pairs) == 1
    assert found.pairs[0].predicted == pytest.approx(sum(float(row.seconds) for row in found.prediction.ops[:2]))
    assert [left.count for left in found.missing] == [1.0]


def test_steps_part_the_runs(named):
    def op(name: str, ts: float, dur: float, cat: str = "cpu_op") -> dict:
        return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur, "args": {}}

    events = [op("aten::relu", 0, 1)]  # a warm-up before the first step
    for k, times in enumerate([(10, 20), (30, 21), (50, 40)]):
        events += [
            op(f"ProfilerStep#{k}", times[0] - 1, 15, "user_annotation"),
            op("aten::relu", times[0], times[1] / 10),
            op("aten::mul", times[0] + 5, 1),
        ]
    found = join(predict(named("relu", "mul"), hardware("h200_sxm"), Plan()), parse(events))
    assert found.runs == 3
    assert [pair.measured for pair in found.pairs] == [pytest.approx(2.1e-6), pytest.approx(1e-6)]
    assert [(left.name, left.count) for left in found.extra] == [("aten::relu", pytest.approx(1 / 3))]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("aten::cudnn_convolution", "convolution"), ("aten::conv2d", "convolution"), ("aten::add_", "add"), ("aten::mm", "addmm"),
        ("aten::_scaled_dot_product_flash_attention", "attention"), ("aten::cudnn_batch_norm", "native_batch_norm"),
        ("aten::_fused_rms_norm", "rms_norm"), ("aten::convolution_backward", "convolution_backward"), ("aten::__and__", "__and__"),
    ],
)  # fmt: skip
def test_families_join_what_is_one(a: str, b: str):
    assert family(a) == family(b)


def test_families_keep_apart_what_is_not():
    for a, b in (("aten::convolution", "convolution_backward"), ("_softmax", "_log_softmax"), ("mul", "add"), ("max_pool2d", "avg_pool2d")):
        assert family(a) != family(b)


def test_calls_come_from_the_capture_and_not_from_names(named):
    """A module may be called anything, and a copy that a norm needs first belongs to the norm's call."""
    graph = named("addmm.2.relu", "norm:contiguous", "norm", "x:1")
    calls = (("relu", 7), ("native_layer_norm", 8), ("native_layer_norm", 8), ("add", 9))
    predicted = calls_predicted(predict(replace(graph, settings={"calls": calls}), hardware("h200_sxm"), Plan()))
    assert [(call.aten, [row.name for row in call.rows]) for call in predicted] == [
        ("relu", ["addmm.2.relu"]), ("native_layer_norm", ["norm:contiguous", "norm"]), ("add", ["x:1"]),
    ]  # fmt: skip


def test_without_a_capture_each_op_is_a_call_of_its_own(named):
    predicted = calls_predicted(predict(replace(named("a", "a:1"), settings={}), hardware("h200_sxm"), Plan()))
    assert [(call.aten, len(call.rows)) for call in predicted] == [("relu", 1), ("relu", 1)]


# ---- how it is told


@pytest.mark.parametrize(("factor", "sign"), [(0.5, "−"), (2.0, "+")])
def test_longer_and_shorter_than_predicted_are_told_apart(named, capsys, factor, sign):
    """ "A real run is slower" stood beside a measurement that was shorter: gap and ratio say which, and no words say otherwise."""
    found = joined(named("x._to_copy", "conv.convolution", "fc.addmm", "act.relu"), "cuda.json")
    found = replace(found, pairs=tuple(replace(pair, measured=factor * pair.predicted) for pair in found.pairs), missing=(), extra=())
    show_trace.report(found, 9)
    told = capsys.readouterr().out
    text, grid = section(found)
    assert f": {factor:.3g}×." in " ".join(told.split()) and f": {factor:.3g}×." in text
    lines = [line for line in told.splitlines() if re.search(r"_to_copy|convolution|addmm|relu", line)]
    assert len(lines) == 4 and all(sign in line and f" {factor:.3g}×" in line for line in lines)
    assert all((row[5] > 0) is (sign == "+") and row[6] == pytest.approx(factor) for row in grid["rows"])
    assert not re.search(r"slower|longer|faster|shorter", told + text)


def test_a_trace_from_elsewhere_is_marked_wherever_it_is_shown(named, capsys):
    for machine, marked in (("h200_sxm", True), ("neoverse_n1_2core", False)):
        found = join(predict(named(*CPU), hardware(machine), Plan()), read(DATA / "cpu_three_runs.json.gz"))
        show_trace.report(found, 3)
        assert ("! the trace is of a processor" in " ".join(capsys.readouterr().out.split())) is marked
        assert ("c-warn" in section(found)[0]) is marked


def test_a_compiled_run_is_compared_by_its_totals_and_has_its_reasons(named, capsys):
    kernels = (("triton_poi_fused_relu_0", 4.0), ("sm90_xmma_gemm", 12.0), ("triton_red_fused_1", 6.0))
    events = [
        {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 20.0 * i, "dur": dur, "args": {}}
        for i, (name, dur) in enumerate(kernels)
    ]
    prediction = predict(named("fc.addmm", "act.relu"), hardware("h200_sxm"), Plan("compiled"))
    found = join(prediction, parse(events), [parse(events)])
    assert [(left.name, left.count, round(left.seconds * 1e6)) for left in found.extra] == [
        ("generated kernels", 2, 10), ("library kernels", 1, 12)]  # fmt: skip
    assert found.predicted == pytest.approx(sum(row.seconds for row in prediction.ops))
    show_trace.report(found, 10)
    told = capsys.readouterr().out
    assert "rank 0" in told and "rank 1" in told and "the host launches too slowly" in told


def test_a_gap_has_a_reason_and_agreement_has_none(named):
    pair = joined(named("x._to_copy", "conv.convolution", "fc.addmm", "gelu", "act.relu"), "cuda.json").pairs[1]
    predicted = pair.predicted
    assert reason(replace(pair, measured=1.05 * predicted, kernels=("k",))) == ""
    assert reason(replace(pair, measured=3 * predicted, kernels=("k", "k"))) == "2 kernels instead of 1"
    assert "memory layout" in reason(replace(pair, measured=3 * predicted, kernels=("nchwToNhwcKernel", "k")))
