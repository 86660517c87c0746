"""What a GPU's kernels are compared with: which ways there are, the arithmetic of a verdict, the table, and where it can't run."""

import sys
from collections import Counter
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton", reason="Triton has no wheel for this platform")

from ironlaw.errors import BadValue  # noqa: E402
from ironlaw.measure import kernels  # noqa: E402
from ironlaw.measure.kernels import kernel_comparison as comparison  # noqa: E402
from ironlaw.measure.rows import function_row  # noqa: E402


def test_every_way_of_every_shape_once_and_nothing_is_made_before_its_turn():
    listed = list(comparison.ways())  # on a machine without a GPU: no tensor yet
    assert Counter(name for name, *_ in listed) == {"layernorm_dropout_relu": 4 * 4, "softmax": 3 * 4, "attention": 2 * 5 * 3}
    assert len({(name, str(params), mode) for name, params, mode, _ in listed}) == len(listed)
    assert all("triton" in {mode for other, _, mode, _ in listed if other == name} for name, *_ in listed)


def test_inputs_are_made_once_and_compiled_outside_the_clock():
    made, calls = [], []
    call = comparison._bound(lambda *inputs: calls.append(inputs), lambda: made.append(1) or (1, 2))
    assert (made, calls) == ([1], [(1, 2)])
    call()
    assert (made, calls) == ([1], [(1, 2)] * 2)


def test_a_kernel_that_is_off_is_named_with_how_far():
    expected = torch.tensor([1.0, 100.0])
    assert comparison._near("softmax", expected.half() + torch.tensor([0, 0.5]), expected, 6e-3) == "softmax: off by at most 0.005"
    with pytest.raises(comparison.Wrong, match=r"softmax: off by 0\.05, 0\.006 is allowed"):
        comparison._near("softmax", torch.tensor([1.1, 100.0]), expected, 6e-3)
    with pytest.raises(comparison.Wrong):
        comparison._near("softmax", torch.tensor([float("nan"), 100.0]), expected, 6e-3)


def test_the_table_divides_by_the_first_way_of_the_same_shape():
    softmax, attention = {"shape": [7, 100]}, {"s": 512}
    rows = [
        function_row("softmax", softmax, "copy", {"busy_s": 2e-6}),
        function_row("softmax", softmax, "triton", {"busy_s": 3e-6}),
        function_row("softmax", softmax, "library", {"error": "out of memory"}),
        function_row("attention", attention, "naive", {"busy_s": 1e-6}),
    ]
    lines = [" ".join(line.split()) for line in comparison.table(rows).splitlines()]
    assert lines[:2] == ["softmax 7×100 copy 2.0 µs 1.00 × copy", "softmax 7×100 triton 3.0 µs 1.50 × copy"]
    assert lines[2:] == ["softmax 7×100 library out of memory", "attention 512 naive 1.0 µs 1.00 × naive"]


def test_where_there_is_no_gpu_or_no_triton_it_says_what_would_help(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(BadValue, match="need a CUDA device and PyTorch sees none; run them on a machine with an NVIDIA GPU"):
        comparison.main([])
    monkeypatch.setitem(sys.modules, "triton", None)
    with pytest.raises(BadValue, match="on a machine with an NVIDIA GPU: pip install torch triton"):
        kernels.need()


def test_what_was_measured_is_printed_and_written(monkeypatch, tmp_path, capsys):
    written = []
    row = function_row("softmax", {"shape": [7, 100]}, "copy", {"busy_s": 2e-6})
    monkeypatch.setattr(comparison, "need", lambda: None)
    monkeypatch.setattr(comparison, "check", lambda: ["softmax: off by at most 0"])
    monkeypatch.setattr(comparison, "rows", lambda: [row])
    monkeypatch.setattr(comparison, "Cuda", lambda: SimpleNamespace(machine=lambda: {"hardware": "a GPU"}))
    monkeypatch.setattr(comparison.evidence_file, "write", lambda out, **more: written.append((out, more["machine"], more["rows"])))
    assert comparison.main(["--out", str(tmp_path / "rows.json")]) == 0
    assert written == [(tmp_path / "rows.json", {"hardware": "a GPU"}, comparison.typed([row]))]
    said = capsys.readouterr().out
    assert said.startswith("softmax: off by at most 0\n") and "2.0 µs" in said and said.endswith("rows.json\n")
