"""Traces: one that torch.profiler wrote on a CPU, one by hand with CUDA kernels in Kineto's format, and files that are none."""

import gzip
import json
from pathlib import Path

import pytest

from ironlaw.errors import BadValue
from ironlaw.report.kineto import parse, read

DATA = Path(__file__).parent / "data"


def test_a_cpu_trace_that_torch_wrote():
    trace = read(DATA / "cpu_three_runs.json.gz")
    assert not trace.kernels and not trace.steps
    names = [op.name for op in trace.ops if op.parent < 0]
    run = ["aten::conv2d", "aten::batch_norm", "aten::relu", "aten::flatten", "aten::linear", "aten::layer_norm", "aten::softmax"]
    assert names == run * 3
    convolution = next(i for i, op in enumerate(trace.ops) if op.name == "aten::mkldnn_convolution")
    assert [trace.ops[i].name for i in trace.chain(convolution)] == [
        "aten::conv2d", "aten::convolution", "aten::_convolution", "aten::mkldnn_convolution",
    ]  # fmt: skip
    assert all(trace.ops[i].start <= trace.ops[j].start for i in range(3) for j in range(3, 6))


def test_kernels_find_the_op_that_launched_them():
    trace = read(DATA / "cuda.json")
    assert trace.device == "NVIDIA H200"
    assert trace.steps == ((0.0, pytest.approx(200e-6)),)
    found = [
        (kernel.name.split("<")[0], kernel.seconds * 1e6, trace.ops[kernel.op].name if kernel.op >= 0 else None) for kernel in trace.kernels
    ]
    assert found == [
        ("Memcpy HtoD (Pinned -> Device)", pytest.approx(9.0), "aten::copy_"),
        ("void cudnn::ops::nchwToNhwcKernel", pytest.approx(3.0), "aten::cudnn_convolution"),
        ("sm90_xmma_fprop_implicit_gemm_tf32f32", pytest.approx(7.5), "aten::cudnn_convolution"),
        ("nvjet_tst_64x8_64x16_4x1_v_bz_TNT", pytest.approx(12.25), "aten::addmm"),  # its External id is its correlation
        ("void at::native::vectorized_elementwise_kernel", pytest.approx(1.5), "aten::clamp_min_"),
        ("someone_elses_kernel", pytest.approx(2.0), None),
    ]


def test_gzip_or_not_is_the_same(tmp_path: Path):
    packed = tmp_path / "cuda.json"  # the name says nothing, the first bytes do
    packed.write_bytes(gzip.compress((DATA / "cuda.json").read_bytes()))
    assert read(packed).kernels == read(DATA / "cuda.json").kernels


def test_threads_do_not_nest_into_each_other():
    def event(name: str, tid: int, ts: float, dur: float) -> dict:
        return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur, "args": {}}

    trace = parse([event("b", 2, 5, 2), event("a", 1, 0, 10), event("c", 1, 1, 3), event("d", 1, 4, 6), event("e", 1, 10, 1)])
    assert [(op.name, op.parent) for op in trace.ops] == [("a", -1), ("c", 0), ("d", 0), ("b", -1), ("e", -1)]
    assert [op.name for op in trace.ops if op.leaf] == ["c", "d", "b", "e"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"not json", "is not valid JSON"),
        (b"\x1f\x8bcut off", "is not valid JSON|can't be read"),
        (b"{}", "has no traceEvents"),
        (b"3", "has no traceEvents"),
        (json.dumps({"traceEvents": [{"ph": "X", "cat": "cpu_op"}, 3]}).encode(), "contains no PyTorch operators"),
    ],
)
def test_files_that_are_no_trace(tmp_path: Path, content: bytes, said: str):
    (tmp_path / "t.json").write_bytes(content)
    with pytest.raises(BadValue, match=said):
        read(tmp_path / "t.json")


def test_a_file_that_is_not_there(tmp_path: Path):
    with pytest.raises(BadValue, match="can't be read: No such file"):
        read(tmp_path / "none.json")
