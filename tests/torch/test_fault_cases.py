"""What an engineer who tried `ironlaw analyze` on models of others stumbled over, each case by name.

Small modules do what the libraries do, so that neither transformers nor torchvision is needed. Cases with a subject of their own are
where that is: exported programs, factories, caches and Triton kernels in test_capture_load.py, training steps in test_capture_training.py,
writes in test_capture_writes.py, batches and errors of the command line in tests/cli.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

import ironlaw as il  # noqa: E402
from ironlaw.backends.signatures import signature  # noqa: E402
from ironlaw.cli import main  # noqa: E402
from ironlaw.engine.device.work import STAND_IN  # noqa: E402

H200 = il.hardware("h200_sxm")
DOCS = Path(__file__).parents[2] / "docs" / "analyze.md"
FILE = """
import torch
from torch import nn


def huge():
    return nn.Linear(400_000, 200_000)


def conv():
    return nn.Conv2d(64, 64, 3)


def chain(x):
    for _ in range(10):
        x = x.exp()
    return x


def product(x):
    return x @ x
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "my.py").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "150")
    return "my.py"


def told(capsys: pytest.CaptureFixture[str], *args: str) -> dict[str, Any]:
    assert main(["analyze", *args, "--mode", "eager", "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def empty(*shape: int, dtype: Any = torch.float32) -> Any:
    return torch.empty(shape, dtype=dtype, device="meta")


# ---- what broke


def test_a_model_that_does_not_fit_still_has_figures(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = told(capsys, f"{file}:huge", "--input", "1x400000", "--on", "h200_sxm")
    (p,), (large,) = found["predictions"], found["too_large"]
    assert p["fits"] is False and p["seconds"] > 400_000 * 200_000 * 4 / H200.bandwidth
    assert large["hardware"] == "h200_sxm" and re.search(
        r"needs 320 GB, and there are 150 GB.*as if it fitted.*or a machine that holds it", large["reason"]
    )
    assert main(["analyze", f"{file}:huge", "--input", "1x400000", "--on", "h200_sxm", "--mode", "eager"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "does not fit into h200_sxm" in shown and "320 GB of 150 GB ✗" in shown


class Encoder(nn.Module):
    """Asks whether its mask is all ones, as encoders of transformers do, and whether FP16 overflowed, as BART does."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.linear = nn.Embedding(50, 16), nn.Linear(16, 16)

    def forward(self, ids: Any, mask: Any = None) -> Any:
        h = self.linear(self.table(ids))
        if mask is not None and not mask.all():
            h = h.masked_fill(mask[..., None] == 0, -1.0)
        if h.dtype == torch.float16 and (torch.isinf(h).any() or torch.isnan(h).any()):
            h = h.clamp(-6e4, 6e4)
        return h


def test_a_mask_given_as_an_input_is_all_ones() -> None:
    with torch.device("meta"):
        model = Encoder().eval()
    ids = empty(2, 6, dtype=torch.long)
    graph = il.capture(model, (ids, ids.clone()))
    assert "select" not in [op.kind for op in graph.ops] and graph.flops == il.capture(model, (ids,)).flops
    (note,) = graph.settings["notes"]
    assert "test_fault_cases.py" in note and "went on with True" in note and "mask (all ones)" in note


def test_code_that_looks_for_infinities_in_half_precision() -> None:
    with torch.device("meta"):
        model = Encoder().half().eval()
    graph = il.capture(model, (empty(2, 6, dtype=torch.long),))
    assert graph.dtype == "fp16" and "clamp" not in [op.kind for op in graph.ops]
    (note,) = graph.settings["notes"]
    assert "went on with False" in note and "weights as after initialisation" in note


@torch.library.custom_op("fault::suppress", mutates_args=())
def suppress(boxes: torch.Tensor) -> torch.Tensor:
    """As many as stay: what torchvision's nms gives."""
    return torch.nonzero(boxes[:, 0] > 0)[:, 0]


def test_a_detector_names_the_line_and_what_it_went_on_with() -> None:
    """Never a line of PyTorch's or of typing_extensions, and never "replace the branch"."""

    def detect(boxes: Any) -> Any:
        kept = suppress(boxes * 2)
        return boxes[kept[:10]].exp()

    graph = il.capture(detect, (empty(100, 4),))
    notes = [note for note in graph.settings["notes"] if "went on with" in note]
    assert notes and all(note.startswith("test_fault_cases.py:") for note in notes)
    assert graph.ops[-1].kind == "exp" and graph.ops[-1].outputs[0].shape == (10, 4)


# ---- wrong answers that looked sure


@pytest.mark.parametrize("machine", ["h200_sxm", "a100_80gb_sxm", "epyc_9654"])
@pytest.mark.parametrize(
    ("dtype", "part", "products"),
    [(torch.float64, "fp64", 1), (torch.complex64, "fp32", 4), (torch.complex128, "fp64", 4), (torch.int8, "int8", 1)],
    ids=str,
)
def test_no_format_costs_less_than_its_arithmetic(dtype: Any, part: str, products: int, machine: str) -> None:
    """FP64 and complex products took no time at all, and INT8 had an MFU over 1."""
    x, hardware = empty(2048, 2048, dtype=dtype), il.hardware(machine)
    graph = il.capture(torch._int_mm if dtype == torch.int8 else torch.mm, (x, x))
    assert graph.dtype == part and graph.flops == 2 * 2048**3 and graph.bytes >= 2 * 2048**2 * dtype.itemsize
    least = products * 2 * 2048**3 / hardware.peak(part)
    for plan in (il.Plan(), il.Plan(calibrated=False)):
        p = il.predict(graph, hardware, plan)
        assert p.busy_s >= least * (1 - 1e-9) and 0 < p.mfu <= 1


@pytest.mark.parametrize("name", ["ldl_factor_ex", "householder_product"])
def test_what_no_curve_covers_is_unknown_and_never_calibrated(name: str) -> None:
    matrices = (empty(4, 64, 64), empty(4, 64)) if name == "householder_product" else (empty(4, 64, 64),)
    p = il.predict(il.capture(getattr(torch.linalg, name), matrices), H200)
    unknown = [row for row in p.ops if row.kind == "unknown"]
    assert unknown and {row.place for row in unknown} == {"unknown"} and p.label == "partly calibrated"
    assert p.interval is not None and math.isinf(p.interval[1]) and math.isinf(p.device_interval[1])  # a lower bound, and open above
    assert any(name in row.origin for row in unknown) and p.beyond > 0.1


@pytest.mark.parametrize("name", ["eig", "eigvals"])
def test_what_stands_in_for_a_factorisation_says_so(name: str) -> None:
    p = il.predict(il.capture(getattr(torch.linalg, name), (empty(4, 64, 64),)), H200)
    assert any(STAND_IN in row.op.attrs for row in p.ops) and p.label == "partly calibrated", p.label


@pytest.mark.parametrize(
    ("call", "shape", "like", "name"),
    [
        (lambda x: F.conv3d(x, empty(8, 4, 3, 3, 3)), (1, 4, 8, 8, 8), lambda x: F.conv2d(x[:, :, 0], empty(8, 4, 3, 3)), "conv3d"),
        (lambda x: F.grid_sample(x, empty(1, 8, 8, 2), align_corners=False), (1, 4, 8, 8), lambda x: F.interpolate(x, 8), "grid_sample"),
        (lambda x: torch.multinomial(x, 2), (4, 100), lambda x: x.topk(2), "multinomial"),
    ],
)  # fmt: skip
def test_no_operator_borrows_another_s_curve_in_silence(call: Any, shape: tuple[int, ...], like: Any, name: str) -> None:
    """Each is compared with rows of its own, or says that it lies outside what was measured; and is named as itself."""
    p = il.predict(il.capture(call, (empty(*shape),)), H200)
    row = p.ops[-1]
    assert row.origin == name
    (other,) = il.capture(like, (empty(*shape),)).ops
    mine, theirs = signature(row.op), signature(other)
    assert row.place == "outside" or (mine is not None and (theirs is None or mine.family != theirs.family))


def test_convolutions_of_fp32_are_tf32_s_unless_asked(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """On a machine from its datasheet, too: 68.5 ms was called a bound where PyTorch takes 23."""
    args = (f"{file}:conv", "--input", "64x64x56x56", "--on", "a100_80gb_sxm")
    default, strict, narrow = (told(capsys, *args, *more)["predictions"][0] for more in ((), ("--strict-fp32",), ("--dtype", "tf32")))
    assert default["compute_s"] == narrow["compute_s"] < strict["compute_s"] / 2
    assert (default["fp32"], strict["fp32"]) == ({"asked": "default", "in_tf32": ["conv2d"]}, {"asked": "strict", "in_tf32": []})


def test_device_and_host_have_an_interval_each() -> None:
    """One constant for the wall time held 17 of 60: the host's doubt is not the device's."""
    p = il.predict(il.workload("resnet50", batch=1), H200)
    assert p.device_interval != p.host_interval != p.interval
    assert p.device_interval[0] <= p.busy_s <= p.device_interval[1] and p.host_interval[0] <= p.host_s <= p.host_interval[1]
    assert p.interval[1] / p.seconds > p.device_interval[1] / p.busy_s  # overhead binds, and the host is the less sure


# ---- in the way


def test_analyze_takes_a_host_and_a_launch(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    args = (f"{file}:chain", "--input", "8x8", "--on", "h200_sxm")
    hosts = ((), ("--host", "bare"), ("--host", "vm"), ("--launch", "5 us"))
    own, bare, vm, given = (told(capsys, *args, *more)["predictions"][0] for more in hosts)
    assert [one["host"]["slug"] for one in (own, bare, vm)] == ["typical", "dgx_h100", "xeon_vm"]
    assert bare["host_s"] < own["host_s"] < vm["host_s"]
    assert given["host"]["launch_is_given"] and given["host_s"] == pytest.approx(10 * 5e-6)
    assert own["busy_s"] == bare["busy_s"] == given["busy_s"]


def test_formats_may_be_written_as_pytorch_spells_them(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, f"{file}:conv", "--input", "1x64x8x8", "--dtype", "float64", "--on", "h200_sxm")["dtype"] == "fp64"
    for spelling, dtype in (("float64", "fp64"), ("torch.half", "fp16"), ("complex64", "complex64"), ("complex128", "complex128")):
        assert told(capsys, f"{file}:product", "--input", f"64x64:{spelling}", "--on", "h200_sxm")["dtype"] == dtype


def test_json_has_every_operator_and_errors_as_objects(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    args = (f"{file}:chain", "--input", "8x8", "--on", "h200_sxm")
    assert len(told(capsys, *args)["predictions"][0]["ops"]) == 10 and len(told(capsys, *args, "--ops", "3")["predictions"][0]["ops"]) == 3
    assert told(capsys, *args)["schema"] == "ironlaw-analyze/1"
    assert main(["analyze", f"{file}:chian", "--on", "h200_sxm", "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["kind"] == "UnknownName" and "did you mean chain" in error["message"]


def test_the_python_of_the_docs_runs() -> None:
    block = DOCS.read_text(encoding="utf-8").partition("## From Python")[2].partition("```python\n")[2].partition("```")[0]
    names: dict[str, Any] = {}
    exec(block, names)
    p = names["p"]
    assert "il.capture(" in block and p.graph.flops == 2 * 2 * 8 * 512 * 2048 and p.plan.mode == "compiled"
    assert names["rows"] == p.to_records() and len(names["rows"]) == len(p.to_dict()["ops"]) and len(repr(p)) < 200
    assert names["table"] == names["a"].to_records() and repr(names["a"]).startswith("<Analysis Sequential: 3 operators")
